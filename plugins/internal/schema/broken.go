package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileError says on one line why a schema's text cannot be used and, where that is known, at
// which place of it.
func compileError(text string, err error) error {
	if part, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](part.Err); ok {
			return newInvalid(problemsOf(invalid, strings.TrimPrefix(part.URL, schemaURL+"#")), 0)
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
