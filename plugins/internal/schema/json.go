package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// value is JSON as it was written: what nobody changes keeps its text.
type value struct {
	kind   byte     // { [ " 0 t n: an object, array, string, number, boolean or null
	text   string   // of what holds no others
	fields []member // of an object, in their order
	items  []*value // of an array
}

type member struct {
	name  string
	value *value
}

// parse reads text that the transcoder has found to be JSON and not too deep.
func parse(text string) *value {
	p := parser{text}
	return p.value()
}

type parser struct{ rest string }

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *parser) value() *value {
	p.space()
	switch c := p.rest[0]; c {
	case '{', '[':
		return p.open(c)
	case '"':
		return &value{kind: c, text: p.quoted()}
	case 'n':
		return &value{kind: c, text: p.word()}
	case 't', 'f':
		return &value{kind: 't', text: p.word()}
	}
	return &value{kind: '0', text: p.word()}
}

// open reads an array or object.
func (p *parser) open(kind byte) *value {
	v := &value{kind: kind}
	for {
		p.rest = p.rest[1:] // what opens it, or a comma
		p.space()
		if c := p.rest[0]; c == '}' || c == ']' {
			break
		}
		if kind == '[' {
			v.items = append(v.items, p.value())
		} else {
			name := unquote(p.quoted())
			p.space()
			p.rest = p.rest[1:] // the colon
			v.fields = append(v.fields, member{name, p.value()})
		}
		p.space()
		if p.rest[0] != ',' {
			break
		}
	}
	p.rest = p.rest[1:]
	return v
}

func (p *parser) quoted() string {
	end := 1
	for p.rest[end] != '"' {
		if p.rest[end] == '\\' {
			end++
		}
		end++
	}
	text := p.rest[:end+1]
	p.rest = p.rest[end+1:]
	return text
}

func (p *parser) word() string {
	end := strings.IndexAny(p.rest, ",]} \t\r\n")
	if end < 0 {
		end = len(p.rest)
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	return text
}

func unquote(text string) string {
	if !strings.Contains(text, `\`) {
		return text[1 : len(text)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(text), &s) // it is JSON
	return s
}

func enquote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always has a form
	return strings.TrimSuffix(b.String(), "\n")
}

func str(s string) *value { return &value{kind: '"', text: enquote(s)} }

func list(items ...*value) *value { return &value{kind: '[', items: items} }

func object(fields ...member) *value { return &value{kind: '{', fields: fields} }

// is reports whether v is the string s.
func (v *value) is(s string) bool { return v.kind == '"' && unquote(v.text) == s }

// at is the place of a field, or -1; of what is no object too.
func (v *value) at(name string) int {
	return slices.IndexFunc(v.fields, func(m member) bool { return m.name == name })
}

// get is a field's value, or nil.
func (v *value) get(name string) *value {
	if i := v.at(name); i >= 0 {
		return v.fields[i].value
	}
	return nil
}

// set gives a field a value, in its place if it has one, else at the end.
func (v *value) set(name string, to *value) {
	if i := v.at(name); i >= 0 {
		v.fields[i].value = to
		return
	}
	v.fields = append(v.fields, member{name, to})
}

func (v *value) drop(name string) {
	if i := v.at(name); i >= 0 {
		v.fields = slices.Delete(v.fields, i, i+1)
	}
}

// String is v as JSON text without white space.
func (v *value) String() string { return string(v.append(nil)) }

func (v *value) append(dst []byte) []byte {
	switch v.kind {
	case '{':
		dst = append(dst, '{')
		for i, m := range v.fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, enquote(m.name)...), ':')
			dst = m.value.append(dst)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, v.text...)
}
