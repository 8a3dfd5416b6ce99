package policy

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/wasmagent/wasmagent/internal/tomlfile"
)

// Additions are grants as a person types them.
type Additions struct {
	// HTTP are rules: a host, a URL, either with methods before it, as in "POST,GET example.org", or
	// an inline table as a file has it. So are the others with a brace.
	HTTP    []string
	KV      bool
	Mounts  []string // DIRECTORY:GUEST[:rw], scratch:GUEST, or a table
	Secrets []string // NAME=SOURCE@HOST, sent as bearer, or a table
	Env     []string // NAME=VALUE
	Config  []string // NAME=VALUE; the value is TOML's if it is one, else a text
}

// EditError is a file that cannot be added to without touching what is there.
type EditError struct {
	File, Section string
	Text          string // what would have to be in it
	Detail        string
}

func (e *EditError) Error() string {
	return fmt.Sprintf("%s: %s cannot be added to safely: %s; put this by hand into the tables "+
		"that are there:\n%s", e.File, e.Section, e.Detail, e.Text)
}

// FlagError is an addition that cannot be read.
type FlagError struct{ Flag, Value, Detail string }

func (e *FlagError) Error() string {
	return fmt.Sprintf("--%s %s: %s", e.Flag, show(e.Value), e.Detail)
}

// tables makes what a section would have of the additions.
func (a *Additions) tables() (map[string]any, error) {
	all := map[string]any{}
	if a.KV {
		all["kv"] = true
	}
	var errs []error
	for _, part := range []struct {
		flag, key string
		values    []string
		read      func(string) (map[string]any, error)
	}{
		{"http", "http", a.HTTP, readRule},
		{"mount", "files", a.Mounts, readMount},
		{"secret", "secrets", a.Secrets, readSecret},
	} {
		var list []any
		for _, v := range part.values {
			one, err := readTable(v)
			if one == nil && err == nil {
				one, err = part.read(v)
			}
			if err != nil {
				errs = append(errs, &FlagError{part.flag, v, err.Error()})
			}
			list = append(list, one)
		}
		if len(list) > 0 {
			all[part.key] = list
		}
	}
	env, err := readValues("env", a.Env, func(s string) any { return s })
	errs = append(errs, err)
	config, err := readValues("set", a.Config, readSetting)
	errs = append(errs, err)
	if len(env) > 0 {
		all["env"] = env
	}
	if len(config) > 0 {
		all["config"] = config
	}
	return all, errors.Join(errs...)
}

// readTable reads an inline table; nil: it is none.
func readTable(text string) (map[string]any, error) {
	if !strings.HasPrefix(text, "{") {
		return nil, nil
	}
	top, _, err := tomlfile.Parse("v = " + text)
	if err != nil {
		return nil, err
	}
	table, ok := top["v"].(map[string]any)
	if !ok || len(top) > 1 {
		return nil, errors.New("want one table")
	}
	return table, nil
}

// What stands in a command that is suggested for what only the operator knows.
const (
	placeHost      = "HOST"
	placeVariable  = "env:VARIABLE"
	placeDirectory = "DIRECTORY"
)

// readRule reads [METHODS ]HOST or [METHODS ]URL.
func readRule(text string) (map[string]any, error) {
	rule := map[string]any{}
	methods, where, some := strings.Cut(text, " ")
	if some {
		rule["methods"] = anyList(strings.Split(methods, ","))
	} else {
		where = text
	}
	if !strings.Contains(where, "://") {
		where = "https://" + where
	}
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("want a host or a URL, with methods before it, as in POST,GET example.org")
	}
	if rule["host"] = u.Hostname(); u.Hostname() == placeHost {
		return nil, errors.New("write the host that you mean in the place of HOST")
	}
	if u.Scheme != "https" {
		rule["scheme"] = u.Scheme
	}
	if u.Port() != "" {
		port, err := strconv.ParseInt(u.Port(), 10, 32)
		if err != nil {
			return nil, err
		}
		rule["port"] = port
	}
	if u.Path != "" && u.Path != "/" {
		rule["path"] = u.EscapedPath()
	}
	return rule, nil
}

func anyList(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

// readMount reads DIRECTORY:GUEST[:ro|:rw] or scratch:GUEST.
func readMount(text string) (map[string]any, error) {
	if guest, ok := strings.CutPrefix(text, "scratch:"); ok {
		return map[string]any{"guest": guest, "scratch": true}, nil
	}
	mode := "ro"
	for _, m := range []string{"ro", "rw"} {
		if rest, ok := strings.CutSuffix(text, ":"+m); ok {
			text, mode = rest, m
		}
	}
	i := strings.LastIndex(text, ":/")
	if i < 1 {
		return nil, errors.New("want DIRECTORY:GUEST, where GUEST is an absolute path, and then :rw " +
			"to let the plugin write")
	}
	if text[:i] == placeDirectory {
		return nil, errors.New("write the path that you mean in the place of DIRECTORY")
	}
	dir, err := filepath.Abs(text[:i])
	if err != nil {
		return nil, err
	}
	return map[string]any{"host": dir, "guest": text[i+1:], "mode": mode}, nil
}

// readSecret reads NAME=SOURCE@HOST. The source may have an @ of its own, and a host has none.
func readSecret(text string) (map[string]any, error) {
	name, rest, ok := strings.Cut(text, "=")
	i := strings.LastIndex(rest, "@")
	if !ok || i < 1 {
		return nil, errors.New("want NAME=SOURCE@HOST, as in token=env:TOKEN@api.example.org; how " +
			"else it is sent is said with a table")
	}
	if rest[:i] == placeVariable || rest[i+1:] == placeHost {
		return nil, errors.New("write the variable and the host that you mean in the place of VARIABLE " +
			"and HOST")
	}
	return map[string]any{
		"name": name, "from": rest[:i], "as": "bearer", "hosts": []any{rest[i+1:]},
	}, nil
}

func readValues(flag string, texts []string, read func(string) any) (map[string]any, error) {
	all := map[string]any{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, &FlagError{flag, name, "want NAME=VALUE"}
		}
		all[name] = read(value)
	}
	return all, nil
}

func readSetting(text string) any {
	top, _, err := tomlfile.Parse("v = " + text)
	if err != nil || len(top) != 1 {
		return text
	}
	if _, err := appendValue(nil, top["v"]); err != nil {
		return text
	}
	return top["v"]
}

// add writes a plugin's additions behind a file, every byte of which stays. It gives the text that
// it added; "" when the file says all of it already.
func add(file, content, plugin string, a *Additions) (text string, err error) {
	wanted, err := a.tables()
	if err != nil {
		return "", err
	}
	before, _, err := tomlfile.Parse(content)
	if err != nil {
		return "", err
	}
	section := tomlfile.Join("plugins", plugin)
	have := tableAt(before, "plugins", plugin)
	fresh := without(wanted, have)
	if len(fresh) == 0 {
		return "", nil
	}
	if text, err = sectionText(section, fresh, have != nil); err != nil {
		return "", err
	}
	if content != "" {
		text = "\n" + text
		if !strings.HasSuffix(content, "\n") {
			text = "\n" + text
		}
	}
	after, _, err := tomlfile.Parse(content + text)
	want := merged(before, map[string]any{"plugins": map[string]any{plugin: fresh}})
	if err == nil && reflect.DeepEqual(plain(after), want) {
		return text, nil
	}
	detail := "it would not say what it has to"
	if e, ok := errors.AsType[*tomlfile.Error](err); ok {
		detail = strings.TrimSuffix(e.Detail, ".") // its line is one of a file that is not written
	}
	return "", &EditError{File: file, Section: "[" + section + "]", Detail: detail,
		Text: strings.TrimLeft(text, "\n")}
}

func tableAt(top map[string]any, names ...string) map[string]any {
	for _, name := range names {
		top, _ = top[name].(map[string]any)
	}
	return top
}

// without leaves out what is there already.
func without(wanted, have map[string]any) map[string]any {
	fresh := map[string]any{}
	for name, v := range wanted {
		switch v := v.(type) {
		case []any:
			var list []any
			old, _ := listOf(plain(have[name]))
			for _, item := range v {
				if !slices.ContainsFunc(old, func(o any) bool { return reflect.DeepEqual(o, item) }) {
					list = append(list, item)
				}
			}
			if len(list) > 0 {
				fresh[name] = list
			}
		case map[string]any:
			old, _ := have[name].(map[string]any)
			if inner := without(v, old); len(inner) > 0 {
				fresh[name] = inner
			}
		default:
			if !reflect.DeepEqual(plain(have[name]), v) {
				fresh[name] = v
			}
		}
	}
	return fresh
}

// merged is what a document says when another was added to it.
func merged(a, b any) any {
	x, isTable := plain(a).(map[string]any)
	y, both := plain(b).(map[string]any)
	if isTable && both {
		for name, v := range y {
			if old, ok := x[name]; ok {
				v = merged(old, v)
			}
			x[name] = v
		}
		return x
	}
	list, isList := listOf(plain(a))
	more, both := listOf(plain(b))
	if isList && both {
		return append(slices.Clone(list), more...)
	}
	return plain(b)
}

// plain gives a document whose lists all have one form.
func plain(v any) any {
	if table, ok := v.(map[string]any); ok {
		out := map[string]any{}
		for name, v := range table {
			out[name] = plain(v)
		}
		return out
	}
	items, ok := listOf(v)
	if !ok {
		return v
	}
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = plain(item)
	}
	return out
}

// sectionText writes tables with headers of their own, so that they can stand at the end of a file
// that has the section already.
func sectionText(section string, fresh map[string]any, exists bool) (string, error) {
	w := &writer{}
	if kv, ok := fresh["kv"]; ok {
		w.table("["+section+"]", map[string]any{"kv": kv})
	} else if !exists {
		w.table("["+section+"]", nil)
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		path := section + "." + name
		switch v := fresh[name].(type) {
		case []any:
			for _, item := range v {
				w.table("[["+path+"]]", item.(map[string]any))
			}
		case map[string]any:
			w.table("["+path+"]", v)
		}
	}
	return w.text.String(), errors.Join(w.errs...)
}

type writer struct {
	text strings.Builder
	errs []error
}

func (w *writer) table(header string, table map[string]any) {
	if w.text.Len() > 0 {
		w.text.WriteString("\n")
	}
	fmt.Fprintln(&w.text, header)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&w.text, "%s = %s\n", toml.Key{name}, w.value(table[name]))
	}
}

// value writes a value on one line. A table within a table would get a header of its own from the
// encoder.
func (w *writer) value(v any) string {
	table, ok := v.(map[string]any)
	if !ok {
		var b strings.Builder
		w.errs = append(w.errs, toml.NewEncoder(&b).Encode(map[string]any{"v": v}))
		return strings.TrimSpace(strings.TrimPrefix(b.String(), "v = "))
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(table)) {
		parts = append(parts, fmt.Sprintf("%s = %s", toml.Key{name}, w.value(table[name])))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}
