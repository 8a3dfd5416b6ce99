package clients

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// mergeTOML adds an entry behind a file, or replaces the one of its name.
func (c *Client) mergeTOML(content string, e *Entry, replace bool) (
	edited string, did Did, snippet string, err error) {
	fail := func(err error) (string, Did, string, error) { return "", "", "", err }
	section := c.path[0]
	was, err := decodeTOML(content)
	if err != nil {
		return fail(fmt.Errorf("it is not TOML: %w", err))
	}
	servers, _ := was[section].(map[string]any)
	have, there := servers[e.Name]
	own, isTable := have.(map[string]any)
	if isTable {
		e = e.keeping(own).withoutSet(own)
	}
	entry := tomlEntry(section, e)
	alone, err := decodeTOML(entry)
	if err != nil {
		return fail(err)
	}
	want := alone[section].(map[string]any)[e.Name].(map[string]any)
	differs := e.differs(have, want)
	switch {
	case there && len(differs) == 0:
		return content, Unchanged, entry, nil
	case closed(section).MatchString(content): // which the library that is used here lets pass
		return fail(fmt.Errorf("%s is written in braces, and no table can be added to those", section))
	case there && !replace:
		return fail(exists(e, have, want, differs))
	}
	newline := "\n"
	if strings.Contains(content, "\r\n") {
		newline = "\r\n"
	}
	did = Replaced
	entry = strings.ReplaceAll(entry, "\n", newline)
	switch {
	case !there:
		edited, did = appended(content, entry, newline), Added
	case isTable && e.started(own):
		want = merged(own, want, differs)
		edited = editedTable(content, section+"."+e.Name, want, differs, newline)
	default:
		edited = replacedTable(content, section+"."+e.Name, entry, newline)
	}
	if servers == nil {
		servers = map[string]any{}
		was[section] = servers
	}
	servers[e.Name] = want
	if is, err := decodeTOML(edited); err != nil || !reflect.DeepEqual(is, was) {
		return fail(errors.New("it cannot be added to without changing something else in it"))
	}
	shown, err := toml.Marshal(under(e.shown(want), section, e.Name))
	return edited, did, string(shown), err
}

// withoutSet is e as it is to be in a table that is there: the variables that the table sets itself
// need not be passed on, and those that it passes on besides are. A list of more than names is its
// owner's to change.
func (e *Entry) withoutSet(have map[string]any) *Entry {
	set, _ := have["env"].(map[string]any)
	list, _ := have["env_vars"].([]any)
	now := *e
	if now.Variables = texts(list); len(now.Variables) < len(list) {
		now.Variables = nil
		return &now
	}
	for _, name := range e.Variables {
		if _, ok := set[name]; !ok && !slices.Contains(now.Variables, name) {
			now.Variables = append(now.Variables, name)
		}
	}
	return &now
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

// editedTable gives members of a table the values that they have in want. The table's other lines
// stay. What cannot be edited so is for the caller to find out.
func editedTable(content, name string, want map[string]any, members [][]string,
	newline string) string {
	for _, path := range members {
		table, value := name, want[path[0]]
		if len(path) == 2 {
			if strings.Contains(content, "["+name+"."+path[0]+"]") {
				table, value = name+"."+path[0], value.(map[string]any)[path[1]]
			} else {
				path = path[:1]
			}
		}
		key := path[len(path)-1]
		content = editedKey(content, table, key, key+" = "+tomlValue(value)+newline)
	}
	return content
}

// editedKey puts a line in the place of a key's statement, or behind its table's first line.
func editedKey(content, table, key, line string) string {
	statement := regexp.MustCompile(`^[ \t]*["']?` + regexp.QuoteMeta(key) + `["']?[ \t]*=`)
	head, begin, end, inside := 0, 0, 0, false
	lines := slices.Collect(strings.Lines(content))
	for i := 0; i < len(lines) && end == 0; i++ {
		if m := tableLine.FindStringSubmatch(lines[i]); m != nil {
			if inside = m[1] == table; inside {
				head = i + 1
			}
		} else if inside && statement.MatchString(lines[i]) {
			for begin, end = i, i+1; end < len(lines); end++ {
				if _, err := decodeTOML(strings.Join(lines[begin:end], "")); err == nil {
					break
				}
			}
		}
	}
	if head == 0 {
		return content
	}
	if end == 0 {
		if !strings.HasSuffix(lines[head-1], "\n") {
			lines[head-1] += "\n"
		}
		begin, end = head, head
	}
	return strings.Join(slices.Replace(lines, begin, end, line), "")
}

// tomlValue is a text, texts, or a table of texts.
func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlText(v)
	case map[string]any:
		table := map[string]string{}
		for name, value := range v {
			table[name], _ = value.(string)
		}
		return tomlTable(table)
	}
	return tomlList(texts(v))
}
