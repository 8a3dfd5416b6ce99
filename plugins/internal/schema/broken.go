package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileError says on one line why a schema's text cannot be used and, where that is known, at
// which place of it.
func compileError(text string, err error) error {
	if part, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](part.Err); ok {
			problems := problemsOf(invalid, strings.TrimPrefix(part.URL, schemaURL+"#"))
			looked := min(len(problems), maxLooked)
			return newInvalid(nameTypes(parse(text), problems[:looked]), len(problems)-looked)
		}
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return at(placeOfRef(text, load.URL), fmt.Errorf("%w: %s", errRemote, clip(load.URL, maxName)))
	}
	if lost, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return lostRef(text, lost.URL)
	}
	if lost, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return lostRef(text, lost.Reference)
	}
	reason := strings.ReplaceAll(err.Error(), schemaURL, "")
	return errors.New(clip(reason, maxReason))
}

// maxLooked is how many problems of a schema are looked at more closely. A wrong type has three.
const maxLooked = 3 * MaxProblems

// typeWords are sorted.
var typeWords = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// nameTypes has the problems of a word that is no type begin with that word. The library only says
// what there may be instead, and that a list may be, too.
func nameTypes(schema *value, problems []Problem) []Problem {
	want := "want one of " + compact(typeWords)
	named := map[string]string{} // by pointer
	for _, p := range problems {
		if v := schema.under(p.Pointer); p.Detail == want && v != nil && v.kind == '"' {
			word := unquote(v.text)
			named[p.Pointer] = quoted(word) + " is no type; " + declared(word, typeWords, "there are")
		}
	}
	var all []Problem
	for _, p := range problems {
		detail, is := named[p.Pointer]
		inside := func(other Problem) bool {
			return strings.HasPrefix(other.Pointer, p.Pointer+"/") && named[other.Pointer] != ""
		}
		switch {
		case is:
			all = append(all, Problem{p.Pointer, detail})
		case p.Detail != want || !slices.ContainsFunc(problems, inside):
			all = append(all, p)
		} // else it is a list, and its word is named
	}
	return slices.Compact(all)
}

// under is what lies at a pointer as problems have it, or nil.
func (v *value) under(pointer string) *value {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		var next *value
		for _, m := range v.fields {
			if escapePointer(m.name) == token {
				next = m.value
			}
		}
		for i, item := range v.items {
			if itoa(i) == token {
				next = item
			}
		}
		if v = next; v == nil {
			return nil
		}
	}
	return v
}

func patternError(text string, p *patterns) error {
	return at(find(text, func(name string, v *value) bool {
		return name == "pattern" && v.is(p.bad) || name == "patternProperties" && v.get(p.bad) != nil
	}), p.err)
}

func lostRef(text, url string) error {
	ref := strings.TrimPrefix(url, schemaURL)
	return at(placeOfRef(text, url), fmt.Errorf("it refers to %s, which is not there",
		clip(ref, maxName)))
}

// at says where an error lies, unless that is not known.
func at(pointer string, err error) error {
	if pointer == "" {
		return err
	}
	return fmt.Errorf("at %s: %w", pointer, err)
}

// placeOfRef is where text refers to a URL.
func placeOfRef(text, url string) string {
	return find(text, func(name string, v *value) bool {
		if !strings.HasPrefix(name, "$") || v.kind != '"' {
			return false
		}
		ref := unquote(v.text)
		doc, _, _ := strings.Cut(ref, "#")
		return ref == url || doc == url || schemaURL+ref == url || schemaBase+doc == url
	})
}

// find is the pointer to the first field that matches, or "".
func find(text string, match func(name string, v *value) bool) string {
	var look func(v *value, pointer string) string
	look = func(v *value, pointer string) string {
		for _, m := range v.fields {
			here := pointer + "/" + escapePointer(m.name)
			if match(m.name, m.value) {
				return here
			}
			if found := look(m.value, here); found != "" {
				return found
			}
		}
		for i, item := range v.items {
			if found := look(item, pointer+"/"+itoa(i)); found != "" {
				return found
			}
		}
		return ""
	}
	return look(parse(text), "")
}
