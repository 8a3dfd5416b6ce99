package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page has a row for every key of the file and every limit, and no other.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "docs", "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	var want, have []string
	keysOf(reflect.TypeFor[document](), "", &want)
	for _, l := range limits {
		want = append(want, l.name)
		text := l.text(l.usual)
		row := regexp.MustCompile("(?m)^\\| `" + l.name + "` \\| ([^|]*) \\|").FindStringSubmatch(page)
		if row == nil {
			continue
		}
		shown := strings.ReplaceAll(strings.ReplaceAll(row[1], ",", ""), " ", "")
		if l.usual > 0 && shown != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%s is %s by default, and the page says %s", l.name, text, row[1])
		}
	}
	for _, l := range limitsOfServers {
		row := "| `servers.SERVER.limits." + l.name + "` | " + usualText(&l) + " |"
		if !strings.Contains(page, row) {
			t.Errorf("docs/policy.md has no %s", row)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z][^`]*)` \\|")
	for _, row := range rows.FindAllStringSubmatch(page, -1) {
		have = append(have, row[1])
	}
	slices.Sort(want)
	slices.Sort(have)
	for _, key := range want {
		if !slices.Contains(have, key) {
			t.Errorf("docs/policy.md has no row for %s", key)
		}
	}
	for _, key := range have {
		if !slices.Contains(want, key) {
			t.Errorf("docs/policy.md has a row for %s, which there is not", key)
		}
	}
}

// usualText is a limit's default as the page has it.
func usualText(l *limit) string {
	if l.unit == inTime {
		return strings.Replace(l.text(l.usual), "s", " s", 1)
	}
	return l.text(l.usual)
}

// names are what the page calls the names that a file chooses.
var names = map[string]string{
	"plugins": "NAME", "tools": "TOOL", "functions": "TOOL", "env": "VARIABLE", "config": "KEY",
	"servers": "SERVER", "headers": "HEADER",
}

func keysOf(t reflect.Type, at string, all *[]string) {
	switch {
	case t == reflect.TypeFor[limitSet](), t == reflect.TypeFor[serverValue]():
		*all = append(*all, at)
	case t.Kind() == reflect.Pointer:
		keysOf(t.Elem(), at, all)
	case t.Kind() == reflect.Map:
		keysOf(t.Elem(), at+"."+names[at[strings.LastIndex(at, ".")+1:]], all)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		keysOf(t.Elem(), at+"[]", all)
	case t.Kind() == reflect.Struct:
		for i, name := range fieldsOf(t) {
			if name != "" {
				keysOf(t.Field(i).Type, strings.TrimPrefix(at+"."+name, "."), all)
			}
		}
	default:
		*all = append(*all, at)
	}
}
