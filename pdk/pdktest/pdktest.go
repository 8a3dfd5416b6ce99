// Package pdktest calls a plugin's tools without Wasm, in a test of the package that registers
// them:
//
//	func TestAdd(t *testing.T) {
//		got, err := pdktest.Call("add", `{"a": 1, "b": 2}`)
//		...
//	}
//
// Arguments and results go the whole way of a real call: they are held against the tool's schemas,
// carried as msgpack and turned into JSON again. What is missing is the sandbox: no limits, a panic
// ends the test, and package variables live on from call to call.
package pdktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/internal/guest"
)

// Host plays the host of a call. The zero Host is a plain first attempt.
type Host struct {
	Key       string         // the idempotency key
	Attempt   int            // 0 is 1
	Deadline  time.Duration  // what is left of the call's time; 0 is no deadline
	Cancelled bool           // what the plugin is told when it asks
	Config    map[string]any // the operator's values

	// Respond plays the servers; nil: all requests are denied.
	Respond func(*pdk.Request) (*pdk.Response, error)
	// Remembers is what the plugin's key-value space has in it, by key, before and after calls;
	// nil: the space is denied. Quotas are not played.
	Remembers map[string]pdk.Raw

	Logs     []string       // the lines that calls logged, each after its level: "warn: ..."
	Progress []abi.Progress // what calls told of their progress
}

// Error is a call that gave no result.
type Error struct {
	Kind string // as the real host names it: invalid_input, handler, malformed_result, ...
	Err  error  // a *pdk.Failure if the plugin said it
}

func (e *Error) Error() string {
	if f, ok := e.Err.(*abi.Failure); ok && f.Pointer != "" {
		return e.Kind + ": at " + f.Pointer + ": " + f.Error()
	}
	return e.Kind + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Call calls a tool with JSON arguments and gives its JSON result; content is an array of blocks.
// The error is an *Error.
func Call(tool, args string) (result string, err error) { return new(Host).Call(tool, args) }

// Manifest gives what the program tells of itself. It panics when that is an author's mistake.
func Manifest() abi.Manifest { return guest.Self.Manifest() }

// Call is like the function Call, with h as the host.
func (h *Host) Call(tool, args string) (result string, err error) {
	spec, err := find(tool)
	if err != nil {
		return "", &Error{"unknown_tool", err}
	}
	input, err := transcode.AppendMsgpack(nil, []byte(args))
	if err != nil {
		return "", &Error{"invalid_input", err}
	}
	schema := spec.InputSchema
	if schema == "" {
		schema = `{"type":"object"}`
	}
	if err := check(schema, args); err != nil {
		return "", &Error{"invalid_input", err}
	}
	q := abi.Request{Tool: tool, CallID: "test", Attempt: max(1, h.Attempt), IdempotencyKey: h.Key,
		DeadlineMS: h.Deadline.Milliseconds(), Input: input}
	p := &player{Host: h, start: time.Now(), space: maps.Clone(h.Remembers)}
	b := guest.Self.Serve(p, abi.AppendRequest(nil, &q), nil)
	reply, err := abi.ParseReply(b)
	if err != nil {
		return "", &Error{"malformed_result", err}
	}
	if reply.Outcome == abi.OutcomeOK || reply.Outcome == abi.OutcomeContent {
		h.Remembers = p.space
	}
	return finish(spec, &reply)
}

func find(tool string) (abi.ToolSpec, error) {
	var names []string
	for _, t := range Manifest().Tools {
		if t.Name == tool {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return abi.ToolSpec{}, fmt.Errorf("no tool %q; there are %s", tool, strings.Join(names, ", "))
}

func finish(spec abi.ToolSpec, r *abi.Reply) (string, error) {
	switch r.Outcome {
	case abi.OutcomeFailed:
		return "", &Error{"handler", r.Failure}
	case abi.OutcomeInvalidInput:
		return "", &Error{"invalid_input", r.Failure}
	case abi.OutcomeUnserializable:
		return "", &Error{"output_serialization", r.Failure}
	case abi.OutcomeContent:
		return contentJSON(r.Content)
	}
	text, err := transcode.AppendJSON(nil, r.Value)
	if err != nil {
		kind := "malformed_result"
		if noJSON := (*transcode.NoJSONError)(nil); errors.As(err, &noJSON) {
			kind = "output_serialization"
		}
		return "", &Error{kind, err}
	}
	if err := check(spec.OutputSchema, string(text)); err != nil {
		return "", &Error{"malformed_result", err}
	}
	return string(text), nil
}

func contentJSON(blocks []pdk.Block) (string, error) {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		Data []byte `json:"data,omitempty"`
		MIME string `json:"mime,omitempty"`
		Name string `json:"name,omitempty"`
	}
	list := make([]block, len(blocks))
	for i, b := range blocks {
		list[i] = block(b)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(list)
	return strings.TrimSpace(b.String()), err
}

// check holds a JSON text against a schema; "" takes everything.
func check(schema, text string) error {
	if schema == "" {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return fmt.Errorf("the tool's schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tool:schema", doc); err != nil {
		return err
	}
	s, err := c.Compile("tool:schema")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	err = s.Validate(value)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errors.New(strings.Join(problems(nil, invalid), "; "))
	}
	return err
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

var english = message.NewPrinter(language.English)

// problems appends what is wrong and where, the place first, as the host tells it.
func problems(dst []string, e *jsonschema.ValidationError) []string {
	for _, cause := range e.Causes {
		dst = problems(dst, cause)
	}
	if len(e.Causes) > 0 {
		return dst
	}
	pointer := ""
	for _, token := range e.InstanceLocation {
		pointer += "/" + pointerEscapes.Replace(token)
	}
	return append(dst, "at "+cmp.Or(pointer, "the top")+": "+e.ErrorKind.LocalizedString(english))
}

// player is the plugin's side of a Host.
type player struct {
	*Host
	start time.Time
	space map[string]pdk.Raw // as this call sees it
}

var levels = [...]string{"debug: ", "info: ", "warn: ", "error: "}

func (p *player) Log(level abi.Level, text string) { p.Logs = append(p.Logs, levels[level]+text) }

func (p *player) Progress(g abi.Progress) { p.Host.Progress = append(p.Host.Progress, g) }

func (p *player) Cancelled() bool { return p.Host.Cancelled }

func (p *player) Monotonic() int64 { return int64(time.Since(p.start)) }

func (p *player) Config(key string) abi.Raw {
	v, ok := p.Host.Config[key]
	if !ok {
		return nil
	}
	raw, err := pdk.Encode(v)
	if err != nil {
		panic("pdktest: config " + key + ": " + err.Error())
	}
	return raw
}
