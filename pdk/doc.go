// Package pdk is what the author of a Go plugin writes against: a typed function and its
// description become a tool that a model can call.
//
// A plugin is a main package. It names itself and registers its tools in an init function; main is
// empty and is not run:
//
//	func init() {
//		pdk.Plugin("weather", "1.0.0")
//		pdk.Register(pdk.Tool{Name: "forecast", Description: "...", Effect: pdk.Read}, forecast)
//	}
//
//	func main() {}
//
//	func forecast(c *pdk.Call, in Input) (Output, error) { ... }
//
// "wasmagent build DIR" compiles it, or, without the description in a section of its own,
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -buildmode=c-shared -ldflags=-w
//
// # Types and tags
//
// The schemas that callers see come from the handler's types, and arguments and results are coded
// by the same types. Members are named by their json tags. A field that is a pointer, has
// omitempty, omitzero or a default may be left out of the arguments; all others are required, and a
// member that no field takes is refused.
//
//	doc:"text"      what the member means, for a model
//	enum:"a,b"      the values it may have, or each element of a slice
//	min:"0"         the least value, or the least length of a string, slice or map
//	max:"10"        the greatest value or length
//	default:"5"     the value when it is left out, of a string, number or bool
//
// Structs, slices, arrays, maps with string keys, pointers, strings, bools and numbers travel as
// encoding/json has them, []byte as base64, and types with MarshalText and UnmarshalText, such as
// time.Time, as that text. Integers keep every digit and are checked against the size of the field.
// A float field takes integers, and an integer field a float such as 1.0. An any takes int64,
// uint64 for what is larger, float64, string, bool, nil, []any and map[string]any. A type with a
// MarshalJSON is refused, since a plugin has no JSON: give its field another type. A nil slice or
// map in a result is empty, and a nil pointer in a struct is left out.
//
// # How a call ends
//
// A handler that returns a value has succeeded. With an error it has failed: the caller is told the
// text, and of a [Failure] more. Return [InvalidInput] for arguments that no schema can find wrong.
// A value that cannot be encoded, such as a channel or a cycle, ends the call as an error of the
// plugin's. So does what JSON cannot say, which the host finds: NaN, infinities, text that is not
// UTF-8. A panic is printed to stderr with its stack, and the call ends as a trap; nothing recovers
// it, and other calls do not suffer.
//
// What a handler prints to stdout or stderr is shown when the call breaks, as stderr, or else in a
// host's log at debug level only. [Call.Debug] and its sisters write to that log with a level of
// their own.
//
// # What can be granted
//
// A plugin has no network, files, environment or memory of earlier calls before its operator grants
// them. [Needs] says what it asks for; without it the plugin is not loaded, unless the need is
// optional, when calls are answered by a [HostError] of the kind [Denied].
//
//	HTTP(c).Get(url)         requests, held against the operator's rules
//	KV(c).Get(key, &v)       what the plugin remembers, in one transaction a call
//	c.Config(key, &v)        values that the operator sets
//	os.ReadFile, os.Getenv   directories and variables, the first within a call and not in init
//
// Secrets are the host's to send: the plugin names them in its needs and never sees one.
//
// # What lasts
//
// What a call keeps with [KV], and nothing else. The host runs the init functions and a warm-up,
// which codes each tool's zero input and output without its handler, and may then keep an image of
// the plugin's memory; every call starts from that same state. So tables that are costly to make
// belong in init functions, and package variables are no place to remember calls. It also means
// that what was drawn at random before the image is the same in all calls: the seeds of math/rand
// and of maps. Use crypto/rand for what must differ, and ask for the time inside the call.
//
// Goroutines run while a handler runs, one at a time, and go on while it waits in Go. A call to the
// host stops them all. When the handler returns the call is over: what other goroutines had still
// to do is not done, so wait for them.
//
// # Tests
//
// A plugin compiles for the author's own machine too. Package pdktest calls its tools in a plain go
// test, with schemas and coding as in a real call.
//
// # Size
//
// The least plugin has 2.8 MB, of which Go's runtime is 1.8. The kit uses neither fmt,
// encoding/json nor package time; importing them adds about 0.4, 0.8 and 0.3.
package pdk
