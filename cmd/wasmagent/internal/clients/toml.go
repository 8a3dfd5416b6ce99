package clients

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// mergeTOML adds an entry behind a file, or replaces the one of its name.
func (c *Client) mergeTOML(content string, e *Entry, replace bool) (string, Did, error) {
	section := c.path[0]
	entry := tomlEntry(section, e)
	was, err := decodeTOML(content)
	if err != nil {
		return "", "", fmt.Errorf("it is not TOML: %w", err)
	}
	alone, err := decodeTOML(entry)
	if err != nil {
		return "", "", err
	}
	wanted := alone[section].(map[string]any)[e.Name]
	servers, _ := was[section].(map[string]any)
	have, there := servers[e.Name]
	switch {
	case there && reflect.DeepEqual(have, wanted):
		return content, Unchanged, nil
	case closed(section).MatchString(content): // which the library that is used here lets pass
		return "", "", fmt.Errorf("%s is written in braces, and no table can be added to those", section)
	case there && !replace:
		return "", "", &ExistsError{Name: e.Name}
	}
	newline := "\n"
	if strings.Contains(content, "\r\n") {
		newline = "\r\n"
	}
	entry = strings.ReplaceAll(entry, "\n", newline)
	edited, did := appended(content, entry, newline), Added
	if there {
		edited, did = replacedTable(content, section+"."+e.Name, entry, newline), Replaced
	}
	if servers == nil {
		servers = map[string]any{}
		was[section] = servers
	}
	servers[e.Name] = wanted
	if is, err := decodeTOML(edited); err != nil || !reflect.DeepEqual(is, was) {
		return "", "", errors.New("it cannot be added to without changing something else in it")
	}
	return edited, did, nil
}

// closed finds a section that is an inline table.
func closed(section string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*["']?` + section + `["']?[ \t]*=`)
}

func decodeTOML(text string) (map[string]any, error) {
	m := map[string]any{}
	_, err := toml.Decode(text, &m)
	return m, err
}

// appended puts a table behind what is there, with an empty line between.
func appended(content, table, newline string) string {
	switch {
	case strings.TrimSpace(content) == "":
		return content + table
	case !strings.HasSuffix(content, "\n"):
		content += newline
	}
	return content + newline + table
}

var tableLine = regexp.MustCompile(`^[ \t]*\[+[ \t]*([^\]#]*?)[ \t]*\]`)

// replacedTable puts a table in the place of the one of its name and of those within it. What looks
// like a table's line inside a text is for the caller to find out.
func replacedTable(content, name, table, newline string) string {
	var b strings.Builder
	ours, done, gap := false, false, ""
	for line := range strings.Lines(content) {
		if m := tableLine.FindStringSubmatch(line); m != nil {
			ours = m[1] == name || strings.HasPrefix(m[1], name+".")
			if ours && !done {
				b.WriteString(table)
				done = true
			} else if !ours {
				b.WriteString(gap)
			}
			gap = ""
		}
		switch {
		case !ours:
			b.WriteString(line)
		case strings.TrimSpace(line) == "" || strings.HasPrefix(strings.TrimSpace(line), "#"):
			gap += line // it belongs to what comes next, if that stays
		default:
			gap = ""
		}
	}
	return b.String() + gap
}
