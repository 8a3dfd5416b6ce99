package pdk

import (
	"reflect"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/codec"
	"github.com/wasmagent/wasmagent/pdk/internal/field"
	"github.com/wasmagent/wasmagent/pdk/internal/guest"
	"github.com/wasmagent/wasmagent/pdk/internal/schema"
)

// Effect says what repeating a call of a tool may do to the world. It is the author's word: a host
// takes a tool that is linked to nothing that can change the world for one that reads.
type Effect = abi.Effect

const (
	Write      = abi.EffectWrite      // changes the world: never repeated. The zero value
	Read       = abi.EffectRead       // changes nothing: may be repeated
	Idempotent = abi.EffectIdempotent // safe to repeat under the same key
)

// Tool is what a caller is told of a tool.
type Tool struct {
	Name        string // ^[a-z][a-z0-9_]{0,63}$; up to 40 bytes suit every client
	Description string // when to use it and what it gives, for a model; at most 1,024 characters
	Effect      Effect

	// JSON Schema text to tell in place of what the handler's types say; "" infers it.
	InputSchema, OutputSchema string
}

// Raw is one value in its msgpack form. As a type of arguments or results it stands for any value,
// which is not decoded. Encode and Decode make and read one.
type Raw = abi.Raw

// Plugin names the plugin. A program calls it once, in an init function. Hosts go by the file's
// name; this one is shown beside it.
func Plugin(name, version string) {
	switch {
	case name == "":
		panic("pdk: a plugin needs a name")
	case guest.Self.Name != "":
		panic("pdk: Plugin was called twice")
	}
	guest.Self.Name, guest.Self.Version = name, version
}

// Needs says what the plugin asks its operator for: HTTP, KV, Files, Env, Config, Secrets. The last
// call counts. A plugin is not loaded before all of it is granted, but for what is Optional or has a
// default. A secret is never given to the plugin: the host puts it into requests.
func Needs(n abi.Needs) { guest.Self.Needs = n }

// Register adds a tool and its handler, in an init function. In is a struct (or a map, Raw or any,
// for arguments of any shape), Out anything that has a JSON form, or Content. What the schema of
// the tool says is inferred from both; see the package's text for the tags. It panics on what is
// its author's mistake: a bad or double name, a type that has no schema.
//
// The handler's error ends the call as a failure. A nil slice or map in Out is an empty one, and a
// nil pointer in a struct is left out.
func Register[In, Out any](t Tool, fn func(*Call, In) (Out, error)) {
	guest.Self.Add(bind(t, fn))
}

func bind[In, Out any](t Tool, fn func(*Call, In) (Out, error)) guest.Tool {
	return guest.Tool{
		Spec: specOf(t, reflect.TypeFor[In](), reflect.TypeFor[Out]()),
		Zero: func() abi.Raw {
			var in In
			raw, _ := codec.Append(nil, in) // what cannot be coded needs no warming
			return raw
		},
		Call: func(h guest.Host, q *abi.Request, dry bool) abi.Reply {
			var in In
			if err := codec.Decode(q.Input, &in); err != nil {
				return invalid(err.Pointer, err.Detail)
			}
			var out Out
			var err error
			if c := newCall(h, q); !dry {
				out, err = fn(c, in)
			}
			if err != nil {
				return failure(err)
			}
			return success(out)
		},
	}
}

func specOf(t Tool, in, out reflect.Type) abi.ToolSpec {
	spec := abi.ToolSpec{Name: t.Name, Description: t.Description, Effect: t.Effect,
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema}
	if spec.InputSchema == "" && !open(in) {
		if !object(in) {
			panic("pdk: tool " + t.Name + ": arguments are an object: take a struct or a map, not a " +
				in.String())
		}
		spec.InputSchema = infer(t.Name, in)
	}
	if spec.OutputSchema == "" && !open(out) && out != reflect.TypeFor[Content]() {
		spec.OutputSchema = infer(t.Name, out)
	}
	return spec
}

// open reports whether t says nothing of its values.
func open(t reflect.Type) bool {
	return t == reflect.TypeFor[Raw]() || t.Kind() == reflect.Interface && t.NumMethod() == 0
}

func object(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return (t.Kind() == reflect.Struct || t.Kind() == reflect.Map) && field.FormOf(t) == field.Plain
}

func infer(tool string, t reflect.Type) string {
	s, err := schema.Of(t)
	if err != nil {
		panic("pdk: tool " + tool + ": " + err.Error())
	}
	return s
}

// Encode gives v's msgpack form.
func Encode(v any) (Raw, error) { return codec.Append(nil, v) }

// Decode reads raw into the value that to points to.
func Decode(raw Raw, to any) error {
	if err := codec.Decode(raw, to); err != nil {
		return err
	}
	return nil // and not a nil *InputError
}
