package config

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxWord  = 200 // characters of a name that a file chooses, or of a model's
	maxList  = 1000
	maxShown = 60   // characters of a string in an error
	maxTold  = 1000 // characters of one in Effective

	maxDetail = 2000 // characters of what is wrong with a value
)

// parser makes a key's value of what a file has: a string, int64, float64, bool, time.Time, []any
// or map[string]any. Its error says what is wanted.
type parser func(raw any) (any, error)

// byteSize is a number of bytes. It is written with its unit: B, KiB, MiB or GiB.
type byteSize int64

var units = []struct {
	name  string
	bytes byteSize
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func (s byteSize) String() string {
	for _, u := range units {
		if s%u.bytes == 0 {
			return fmt.Sprintf("%d %s", int64(s/u.bytes), u.name)
		}
	}
	return ""
}

// webAddress is an address. What comes after a ? may be a key, and is not shown.
type webAddress string

func (u webAddress) String() string {
	if where, _, cut := strings.Cut(string(u), "?"); cut {
		return where + "?(hidden)"
	}
	return string(u)
}

func want(what string, raw any) error { return fmt.Errorf("want %s, have %s", what, show(raw)) }

func boolean(raw any) (any, error) {
	if b, ok := raw.(bool); ok {
		return b, nil
	}
	return nil, want("true or false", raw)
}

func count64(least, most int64) parser {
	return func(raw any) (any, error) {
		if n, ok := raw.(int64); ok && n >= least && n <= most {
			return n, nil
		}
		return nil, want(fmt.Sprintf("a whole number from %d to %d", least, most), raw)
	}
}

func count(least, most int) parser {
	parse := count64(int64(least), int64(most))
	return func(raw any) (any, error) {
		n, err := parse(raw)
		if err != nil {
			return nil, err
		}
		return int(n.(int64)), nil
	}
}

func dollars(raw any) (any, error) {
	d, ok := raw.(float64)
	if n, whole := raw.(int64); whole {
		d, ok = float64(n), true
	}
	if !ok || !(d > 0 && d <= 1e6) || math.IsNaN(d) {
		return nil, want("dollars, more than 0 and at most 1000000", raw)
	}
	return d, nil
}

func duration(least, most time.Duration) parser {
	return func(raw any) (any, error) {
		if s, ok := raw.(string); ok {
			if d, err := time.ParseDuration(s); err == nil && d >= least && d <= most {
				return d, nil
			}
		}
		return nil, want(fmt.Sprintf(`a time such as "30s" or "1h30m", from %v to %v`, least, most), raw)
	}
}

func size(least, most byteSize) parser {
	return func(raw any) (any, error) {
		s, _ := raw.(string)
		for _, u := range units {
			digits, ok := strings.CutSuffix(s, u.name)
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSuffix(digits, " "), 10, 32)
			if v := byteSize(n) * u.bytes; err == nil && v >= least && v <= most {
				return v, nil
			}
			break
		}
		return nil, want(fmt.Sprintf(`a size such as "64 KiB", from %v to %v`, least, most), raw)
	}
}

func anyText(most int) parser {
	return func(raw any) (any, error) {
		if s, ok := raw.(string); ok && len(s) <= most {
			return s, nil
		}
		return nil, want(fmt.Sprintf("a string of at most %d bytes", most), raw)
	}
}

// secretText does not show what it gets.
func secretText(most int) parser {
	return func(raw any) (any, error) {
		if s, ok := raw.(string); ok && len(s) <= most {
			return s, nil
		}
		return nil, fmt.Errorf("want a string of at most %d bytes", most)
	}
}

// word is a string on one line, of printable characters.
func word(most int) parser {
	return func(raw any) (any, error) {
		if s, ok := raw.(string); ok && isWord(s, most) {
			return s, nil
		}
		return nil, want(fmt.Sprintf("a string of 1 to %d printable characters", most), raw)
	}
}

func isWord(s string, most int) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= most
}

func oneOf(words ...string) parser {
	return func(raw any) (any, error) {
		if s, ok := raw.(string); ok && slices.Contains(words, s) {
			return s, nil
		}
		last := len(words) - 1
		return nil, want(strings.Join(words[:last], ", ")+" or "+words[last], raw)
	}
}

// list gives a list that is never nil: an empty one says something.
func list(item parser) parser {
	return func(raw any) (any, error) {
		all, ok := raw.([]any)
		if !ok || len(all) > maxList {
			return nil, want(fmt.Sprintf("a list of at most %d strings", maxList), raw)
		}
		words := make([]string, 0, len(all))
		for _, one := range all {
			v, err := item(one)
			if err != nil {
				return nil, err
			}
			words = append(words, v.(string))
		}
		return words, nil
	}
}

var (
	toolName     = regexp.MustCompile(`^([a-z][a-z0-9_]{0,63}|[a-z][a-z0-9_]{0,62}\*|\*)$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,199}$`)
)

func toolPattern(raw any) (any, error) {
	if s, ok := raw.(string); ok && toolName.MatchString(s) {
		return s, nil
	}
	return nil, want("the name of a tool, or its beginning and a *", raw)
}

// variable does not show what it gets, since that may be the key itself.
func variable(raw any) (any, error) {
	if s, ok := raw.(string); ok && variableName.MatchString(s) {
		return s, nil
	}
	return nil, fmt.Errorf("want the name of an environment variable; a key itself is kept in no file")
}

// address does not show what it gets either.
func address(raw any) (any, error) {
	s, _ := raw.(string)
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "":
		return nil, fmt.Errorf("want a URL that begins with http:// or https://")
	case u.User != nil:
		return nil, fmt.Errorf("want a URL without a user name: a key is named by provider.key_env")
	}
	return webAddress(s), nil
}

// path is one that is relative to its file's directory until it is resolved.
func path(raw any) (any, error) {
	if s, ok := raw.(string); ok && s != "" && !strings.ContainsRune(s, 0) {
		if s == "~" || strings.HasPrefix(s, "~/") {
			return nil, fmt.Errorf("want a path without ~: it is not expanded")
		}
		return s, nil
	}
	return nil, want("a path", raw)
}

// show is a value as a file would have it, on one line and for an error.
func show(v any) string { return showMost(v, maxShown) }

func showMost(v any, most int) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return quote(v, most)
	case byteSize, webAddress, time.Duration:
		return quote(fmt.Sprint(v), most)
	case []string:
		words := make([]string, len(v))
		for i, s := range v {
			words[i] = quote(s, most)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case map[string]any:
		return "a table"
	case []any, []map[string]any:
		return "a list"
	case time.Time:
		return "a date"
	}
	return fmt.Sprint(v)
}

// visible cuts what has more characters than most, and shows those that a terminal would act on, or
// that reorder what is around them.
func visible(s string, most int) string {
	var b strings.Builder
	for _, r := range s {
		if most--; most < 0 {
			b.WriteString("…")
			break
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// quote cuts what has more characters than most.
func quote(s string, most int) string {
	if cut := []rune(s); len(cut) > most {
		return strconv.Quote(string(cut[:most])) + "…"
	}
	return strconv.Quote(s)
}

// compare puts values of a key in order, as far as its type has one.
func compare(a, b any) int {
	switch a := a.(type) {
	case int:
		return cmp.Compare(a, b.(int))
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case time.Duration:
		return cmp.Compare(a, b.(time.Duration))
	case byteSize:
		return cmp.Compare(a, b.(byteSize))
	}
	panic(fmt.Sprintf("values of type %T have no order", a))
}
