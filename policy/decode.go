package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
)

// How much a file may say.
const (
	MaxFile    = config.MaxUserFile // bytes
	maxText    = 4096               // bytes of a string
	maxList    = 256                // values of a list, and tables of one
	maxPlugins = 1000               // sections of plugins, and names of any table
	maxShown   = 60                 // characters of a string in an error
)

// decoder puts the tables of a file into structs. A field's name is its toml tag, as it is: what is
// no field is a mistake, and so is a value of another type.
type decoder struct {
	file     string
	lines    tomlfile.Lines
	most     int      // elements of a list; 0 is maxList
	kinds    []string // that are known besides this project's own; nil: whichever
	problems []*config.Error
}

func (d *decoder) add(at, format string, args ...any) {
	d.problems = append(d.problems, d.problem(at, format, args...))
}

func (d *decoder) problem(at, format string, args ...any) *config.Error {
	return &config.Error{File: d.file, Line: d.lines.Of(at), Key: at,
		Detail: fmt.Sprintf(format, args...)}
}

// err joins the mistakes by their lines, as many as config tells of its own.
func (d *decoder) err() error {
	slices.SortStableFunc(d.problems, func(a, b *config.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	var all []error
	for _, e := range d.problems[:min(len(d.problems), config.MaxProblems)] {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// rawValue is a type that takes its value as it is.
type rawValue interface {
	decode(d *decoder, at string, raw any)
}

func (d *decoder) value(at string, raw any, into reflect.Value) {
	if own, ok := into.Addr().Interface().(rawValue); ok {
		own.decode(d, at, raw)
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		d.table(at, raw, into)
	case reflect.Map:
		d.names(at, raw, into)
	case reflect.Slice:
		d.list(at, raw, into)
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(at, raw, into.Elem())
	case reflect.Interface:
		into.Set(reflect.ValueOf(raw))
	default:
		d.leaf(at, raw, into)
	}
}

// table fills a struct.
func (d *decoder) table(at string, raw any, into reflect.Value) {
	table, ok := raw.(map[string]any)
	if !ok {
		d.add(at, "want a table, have %s", show(raw))
		return
	}
	fields := fieldsOf(into.Type())
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if i := slices.Index(fields, name); i >= 0 {
			d.value(tomlfile.Join(at, name), table[name], into.Field(i))
			continue
		}
		d.add(tomlfile.Join(at, name), "there is no such key%s", meant(name, fields))
	}
}

// fieldsOf lists the names of a struct's fields; "" for one that no file has.
func fieldsOf(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("toml"), ",")
		names = append(names, name)
	}
	return names
}

// names fills a map, whose names the file chooses.
func (d *decoder) names(at string, raw any, into reflect.Value) {
	table, ok := raw.(map[string]any)
	if !ok {
		d.add(at, "want a table, have %s", show(raw))
		return
	}
	if len(table) > maxPlugins {
		d.add(at, "more than %d names", maxPlugins)
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		v := reflect.New(into.Type().Elem()).Elem()
		d.value(tomlfile.Join(at, name), table[name], v)
		into.SetMapIndex(reflect.ValueOf(name), v)
	}
}

func (d *decoder) list(at string, raw any, into reflect.Value) {
	items, ok := listOf(raw)
	if !ok {
		d.add(at, "want a list, have %s", show(raw))
		return
	}
	if most := cmp.Or(d.most, maxList); len(items) > most {
		d.add(at, "more than %d values", most)
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		d.value(tomlfile.Index(at, i), item, into.Index(i))
	}
}

// listOf gives the elements of a list, in whichever of its forms it was written.
func listOf(raw any) ([]any, bool) {
	switch raw := raw.(type) {
	case []any:
		return raw, true
	case []map[string]any:
		items := make([]any, len(raw))
		for i, item := range raw {
			items[i] = item
		}
		return items, true
	}
	return nil, false
}

func (d *decoder) leaf(at string, raw any, into reflect.Value) {
	switch into.Kind() {
	case reflect.Bool:
		if b, ok := raw.(bool); ok {
			into.SetBool(b)
			return
		}
		d.add(at, "want true or false, have %s", show(raw))
	case reflect.Int:
		if n, ok := raw.(int64); ok && n > 0 && n <= 1<<31-1 {
			into.SetInt(n)
			return
		}
		d.add(at, "want a whole number above 0, have %s", show(raw))
	case reflect.String:
		if s, ok := raw.(string); ok && isText(s) {
			into.SetString(s)
			return
		}
		d.add(at, "want a text of 1 to %d bytes on one line, have %s", maxText, show(raw))
	default:
		panic(fmt.Sprintf("no field can be of type %v", into.Type()))
	}
}

func isText(s string) bool {
	return s != "" && len(s) <= maxText && !strings.ContainsFunc(s, unicode.IsControl)
}

// show is a value for an error, on one line.
func show(v any) string {
	switch v := v.(type) {
	case string:
		if utf8.RuneCountInString(v) > maxShown {
			return strconv.Quote(string([]rune(v)[:maxShown])) + "…"
		}
		return strconv.Quote(v)
	case map[string]any:
		return "a table"
	case []any, []map[string]any:
		return "a list"
	case bool, int64, float64:
		return fmt.Sprint(v)
	}
	return "a date"
}

// meant lists what could be there instead of a name.
func meant(name string, fields []string) string {
	known := slices.DeleteFunc(slices.Clone(fields), func(s string) bool { return s == "" })
	slices.Sort(known)
	for _, k := range known {
		if strings.EqualFold(k, name) || k == name+"s" || k+"s" == name {
			return fmt.Sprintf(", perhaps %s is meant", k)
		}
	}
	return ": there are " + strings.Join(known, ", ")
}
