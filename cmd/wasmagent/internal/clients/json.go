package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// mergeJSON adds an entry to a file, or replaces the one of its name.
func (c *Client) mergeJSON(content string, e *Entry, replace bool) (
	edited string, did Did, snippet string, err error) {
	fail := func(err error) (string, Did, string, error) { return "", "", "", err }
	text, marked := strings.CutPrefix(content, "\ufeff")
	if strings.TrimSpace(text) == "" {
		return c.Snippet(e), Added, c.Snippet(e), nil
	}
	d, err := parseJSON(text)
	if err != nil {
		return fail(err)
	}
	if !c.comments && !d.root.IsStandard() {
		return fail(fmt.Errorf("it has comments or trailing commas, which %s does not read", c.Title))
	}
	path := append(d.serversPath(c), e.Name)
	at, there, err := d.find(path)
	if err != nil {
		return fail(err)
	}
	var have any
	if there {
		have = d.meaning(at)
	}
	own, kept := have.(map[string]any)
	e = e.keeping(own)
	want := meaning([]byte(encode(c.value(e), "", "", "\n")))
	did, result := Added, want
	if there {
		differs := e.differs(have, want)
		switch {
		case len(differs) == 0:
			return content, Unchanged, c.Snippet(e), nil
		case !replace:
			return fail(exists(e, have, want, differs))
		case !kept || !e.started(own):
			differs = [][]string{nil} // all of it
		default:
			result = merged(own, want.(map[string]any), differs)
		}
		did = Replaced
		edited, err = d.setAll(path, c.value(e), differs)
	} else {
		edited, err = d.set(path, c.value(e))
	}
	if err == nil {
		err = checkJSON(text, edited, path, result)
	}
	if err != nil {
		return fail(err)
	}
	if marked {
		edited = "\ufeff" + edited
	}
	return edited, did, encode(under(e.shown(result), path...), "", "  ", "\n") + "\n", nil
}

// document is JSON, perhaps with comments and trailing commas, and how it is laid out.
type document struct {
	text          string
	root          hujson.Value
	unit, newline string
}

func parseJSON(text string) (*document, error) {
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil, errors.New("it is not JSON: " + strings.TrimPrefix(err.Error(), "hujson: "))
	}
	d := &document{text: text, root: root, unit: "  ", newline: "\n"}
	if strings.Contains(text, "\r\n") {
		d.newline = "\r\n"
	}
	if o, ok := root.Value.(*hujson.Object); ok && len(o.Members) > 0 {
		if own, ok := ownLine(o.Members[0].Name.BeforeExtra); ok && own != "" {
			d.unit = own
		}
	}
	return d, nil
}

// serversPath is where the servers of this file are. The second version of OpenCode has them one
// object further in, and still reads the first one's files.
func (d *document) serversPath(c *Client) []string {
	if c.Name == "opencode" {
		if v := d.root.Find("/mcp/servers"); v != nil && v.Find("/type") == nil {
			return []string{"mcp", "servers"}
		}
	}
	return append([]string(nil), c.path...)
}

// find gives the value at path, if there is one. That no value can be there is an error.
func (d *document) find(path []string) (at hujson.Value, there bool, err error) {
	at, left, err := d.walk(path)
	return at, err == nil && len(left) == 0, err
}

// walk follows path as far as it goes, and gives the value there and what is left of the path. With
// something left the value is an object.
func (d *document) walk(path []string) (at hujson.Value, left []string, err error) {
	at = d.root
	for i, name := range path {
		where := strings.Join(path[:i], ".")
		if where == "" {
			where = "the file"
		}
		o, ok := at.Value.(*hujson.Object)
		if !ok {
			return at, nil, fmt.Errorf("%s is no object", where)
		}
		found, count := hujson.Value{}, 0
		for _, m := range o.Members {
			if m.Name.Value.(hujson.Literal).String() == name {
				found, count = m.Value, count+1
			}
		}
		switch count {
		case 0:
			return at, path[i:], nil
		case 1:
			at = found
		default:
			return at, nil, fmt.Errorf("%s has %q twice", where, name)
		}
	}
	return at, nil, nil
}

// set gives the text with value at path.
func (d *document) set(path []string, value any) (string, error) {
	at, left, err := d.walk(path)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		return d.insert(at, at.Value.(*hujson.Object), left[0], under(value, left[1:]...)), nil
	}
	return d.text[:at.StartOffset] + encode(value, d.indentOf(at), d.unit, d.newline) +
		d.text[at.EndOffset:], nil
}

// setAll gives the text in which the members at path that differ are those of value.
func (d *document) setAll(path []string, value any, differs [][]string) (string, error) {
	text := d.text
	for _, member := range differs {
		now, err := parseJSON(text)
		if err != nil {
			return "", err
		}
		now.unit = d.unit
		part := meaning([]byte(encode(value, "", "", "\n")))
		if len(member) == 0 {
			part = value // in its own order
		}
		for _, name := range member {
			part = part.(map[string]any)[name]
		}
		if text, err = now.set(append(slices.Clone(path), member...), part); err != nil {
			return "", err
		}
	}
	return text, nil
}

// meaning decodes a value of the document.
func (d *document) meaning(v hujson.Value) any {
	v = v.Clone()
	v.Standardize()
	return meaning(v.Pack())
}

// insert gives the text with a new last member of an object.
func (d *document) insert(at hujson.Value, o *hujson.Object, name string, value any) string {
	body := d.text[:at.EndOffset-1] // up to the brace
	head := strings.TrimRight(body, " \t\r\n")
	gap, tail := body[len(head):], d.text[at.EndOffset-1:]
	before, after := "", ""
	if n := len(o.Members); n > 0 {
		last := o.Members[n-1].Value
		if last.AfterExtra != nil { // a comma is behind the last member
			after = ","
		} else {
			head = head[:last.EndOffset] + "," + head[last.EndOffset:]
		}
		if !strings.Contains(d.text[at.StartOffset:at.EndOffset], "\n") {
			var flat bytes.Buffer
			_ = json.Compact(&flat, []byte(encode(value, "", "", "\n"))) // it is JSON
			return head + " " + encode(name, "", "", "") + ": " + flat.String() + after + gap + tail
		}
	}
	outer := d.indentOf(at)
	inner := outer + d.unit
	if len(o.Members) > 0 {
		if own, ok := ownLine(o.Members[0].Name.BeforeExtra); ok {
			inner = own
		}
	}
	before = d.newline + inner + encode(name, "", "", "") + ": "
	if !strings.Contains(gap, "\n") {
		gap = d.newline + outer
	}
	return head + before + encode(value, inner, d.unit, d.newline) + after + gap + tail
}

// indentOf is the white space with which the line begins that a value begins on.
func (d *document) indentOf(v hujson.Value) string {
	line := d.text[strings.LastIndexByte(d.text[:v.StartOffset], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// ownLine gives the white space before something that begins a line.
func ownLine(extra hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 || len(bytes.Trim(extra[i+1:], " \t")) > 0 {
		return "", false
	}
	return string(extra[i+1:]), true
}

// checkJSON tells why edited does not mean what text means with something that means value at path.
func checkJSON(text, edited string, path []string, value any) error {
	want, errWas := standard(text)
	have, errIs := standard(edited)
	if err := errors.Join(errWas, errIs); err != nil {
		return err
	}
	o, _ := want.(map[string]any)
	for _, name := range path[:len(path)-1] {
		next, ok := o[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			o[name] = next
		}
		o = next
	}
	o[path[len(path)-1]] = value
	if !reflect.DeepEqual(want, have) {
		return errors.New("it cannot be added to without changing something else in it")
	}
	return nil
}

func standard(text string) (any, error) {
	b, err := hujson.Standardize([]byte(text))
	if err != nil {
		return nil, err
	}
	return meaning(b), nil
}

// meaning decodes JSON that is known to be some, with numbers as they are written.
func meaning(b []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err
	}
	return v
}
