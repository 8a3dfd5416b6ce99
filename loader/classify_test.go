package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// outcome is a row of the table: what a guest does, and what its caller is told.
type outcome struct {
	name  string
	call  hosttest.Body
	input string // {} when empty
	kind  error  // nil: a result
	cause string
	value string // of a result
	text  string // a part of the operator's text
	fault plugins.Fault
}

const (
	caller = plugins.FaultCaller
	world  = plugins.FaultWorld
	broken = plugins.FaultTool
)

// ok is a reply with bytes as its value.
func ok(value string) hosttest.Body {
	return hosttest.Reply(append([]byte("\x81\xa2ok"), value...))
}

func raw(b string) hosttest.Body { return hosttest.Reply([]byte(b)) }

func reply(r abi.Reply) hosttest.Body { return hosttest.Reply(abi.AppendReply(nil, &r)) }

// divide divides by zero.
var divide = hosttest.Instrs(asm.I32Const(1), asm.I32Const(0), asm.I32DivU, asm.Drop)

var outcomes = []outcome{
	{name: "echo", value: `{}`},
	{name: "content", call: reply(abi.Reply{Outcome: abi.OutcomeContent, Content: []abi.Block{
		{Type: abi.BlockText, Text: "hello"}, {Type: abi.BlockImage, Data: []byte{1}, MIME: "image/png"},
	}}), value: ``},

	{name: "not_json", input: `{"a":`, kind: plugins.ErrInvalidInput, cause: "carriage", fault: caller},
	{name: "duplicate_key", input: `{"a":1,"a":2}`, kind: plugins.ErrInvalidInput,
		cause: "carriage", fault: caller},
	{name: "lone_surrogate", input: `{"a":"\ud800"}`, kind: plugins.ErrInvalidInput,
		cause: "carriage", fault: caller},
	{name: "past_64_bits", input: `{"a":18446744073709551616}`, kind: plugins.ErrInvalidInput,
		cause: "carriage", fault: caller},
	{name: "overflow", input: `{"a":1e400}`, kind: plugins.ErrInvalidInput,
		cause: "carriage", fault: caller},
	{name: "too_deep", input: strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65),
		kind: plugins.ErrInvalidInput, cause: "carriage", fault: caller},
	{name: "not_an_object", input: `[1]`, kind: plugins.ErrInvalidInput, cause: "schema",
		fault: caller},
	{name: "guest_input", call: reply(abi.Reply{Outcome: abi.OutcomeInvalidInput,
		Failure: &abi.Failure{Message: "no such unit", Pointer: "/unit"}}),
		kind: plugins.ErrInvalidInput, cause: "guest_input", text: "no such unit", fault: caller},

	{name: "failed", call: hosttest.Fail(abi.Failure{Code: "not_found", Message: "no such city"}),
		kind: plugins.ErrHandler, cause: "failed", text: "not_found: no such city", fault: world},
	{name: "failed_not_utf8", call: hosttest.Fail(abi.Failure{Message: "no \xff"}),
		kind: plugins.ErrHandler, cause: "failed", text: "no \uFFFD", fault: world},
	{name: "failed_at_length", call: reply(failedWith(transcode.MaxSmallNodes - 3)),
		kind: plugins.ErrHandler, cause: "failed", fault: world},
	{name: "failed_too_long", call: reply(failedWith(transcode.MaxSmallNodes - 2)),
		kind: plugins.ErrMalformedResult, cause: "bad_msgpack", text: "more than 1000", fault: broken},
	{name: "time", call: hosttest.Loop, kind: plugins.ErrHandler, cause: "limit.time",
		text: "limits.time", fault: world},
	{name: "time_asleep", call: hosttest.Sleep(int64(time.Hour)), kind: plugins.ErrHandler,
		cause: "limit.time", fault: world},

	{name: "unreachable", call: hosttest.Trap, kind: plugins.ErrMalformedResult,
		cause: "trap.unreachable", fault: broken},
	{name: "trap_with_stderr", call: hosttest.Then(hosttest.Print(2, "panic: no\n"), hosttest.Trap),
		kind: plugins.ErrMalformedResult, cause: "trap.unreachable", text: "panic: no", fault: broken},
	{name: "out_of_bounds", call: hosttest.Instrs(asm.I32Const(-1), asm.I32Load(0), asm.Drop),
		kind: plugins.ErrMalformedResult, cause: "trap.out_of_bounds", fault: broken},
	{name: "div_by_zero", call: divide, kind: plugins.ErrMalformedResult,
		cause: "trap.div_by_zero", fault: broken},
	{name: "exit_0", call: hosttest.Exit(0), kind: plugins.ErrMalformedResult, cause: "exit",
		fault: broken},
	{name: "exit_3", call: hosttest.Exit(3), kind: plugins.ErrMalformedResult, cause: "exit",
		text: "code 3", fault: broken},
	{name: "memory", call: hosttest.Grow(30000), kind: plugins.ErrMalformedResult,
		cause: "limit.memory", text: "limits.memory", fault: broken},
	{name: "stack", call: hosttest.Recurse, kind: plugins.ErrMalformedResult,
		cause: "limit.stack", fault: broken},
	{name: "output", call: hosttest.ReplyRange(0, 60<<10), kind: plugins.ErrMalformedResult,
		cause: "limit.output", text: "limits.output", fault: broken},

	{name: "no_reply", call: hosttest.Silent, kind: plugins.ErrMalformedResult, cause: "no_reply",
		fault: broken},
	{name: "two_replies", call: hosttest.Then(hosttest.OK, hosttest.OK),
		kind: plugins.ErrMalformedResult, cause: "contract", fault: broken},
	{name: "outside_memory", call: hosttest.ReplyRange(65530, 100),
		kind: plugins.ErrMalformedResult, cause: "contract", fault: broken},
	{name: "past_32_bits", call: hosttest.ReplyRange(0xffff_ffff, 0xffff_ffff),
		kind: plugins.ErrMalformedResult, cause: "contract", fault: broken},
	{name: "reply_then_trap", call: hosttest.Then(hosttest.OK, hosttest.Trap),
		kind: plugins.ErrMalformedResult, cause: "trap.unreachable", fault: broken},
	{name: "reply_then_exit_3", call: hosttest.Then(hosttest.OK, hosttest.Exit(3)),
		kind: plugins.ErrMalformedResult, cause: "exit", fault: broken},
	{name: "reply_then_exit_0", call: hosttest.Then(hosttest.OK, hosttest.Exit(0)), value: `true`},
	{name: "reply_then_loop", call: hosttest.Then(hosttest.OK, hosttest.Loop),
		kind: plugins.ErrHandler, cause: "limit.time", fault: world},
	{name: "unserializable", call: reply(abi.Reply{Outcome: abi.OutcomeUnserializable,
		Failure: &abi.Failure{Message: "a channel"}}), kind: plugins.ErrOutputSerialization,
		cause: "guest_output", text: "a channel", fault: broken},

	{name: "ask", call: raw("\x81\xa3ask\x80"), kind: plugins.ErrMalformedResult,
		cause: "bad_envelope", fault: broken},
	{name: "no_outcome", call: raw("\x80"), kind: plugins.ErrMalformedResult,
		cause: "bad_envelope", fault: broken},
	{name: "two_outcomes", call: raw("\x82\xa2ok\xc0\xa6failed\x81\xa7message\xa1x"),
		kind: plugins.ErrMalformedResult, cause: "bad_envelope", fault: broken},
	{name: "no_map", call: raw("\x01"), kind: plugins.ErrMalformedResult,
		cause: "bad_envelope", fault: broken},
}

// unreadable are the bytes that are no msgpack, each as a reply's value.
var unreadable = map[string]string{
	"never_used": "\xc1", "cut_string": "\xa5ab", "cut_array": "\x92\x01", "cut_map": "\x81\xa1a",
	"cut_integer": "\xcd\x01", "trailing": "\xc0\xc0", "past_the_end": "\xdb\xff\xff\xff\xff",
	"array_bomb": "\xdd\xff\xff\xff\xff", "map_bomb": "\xdf\xff\xff\xff\xff",
	"too_deep": strings.Repeat("\x91", 65) + "\xc0", "timestamp_length": "\xc7\x05\xff12345",
	"timestamp_nanoseconds": "\xd7\xff\xff\xff\xff\xff\x00\x00\x00\x00",
	"duplicate_keys":        "\x82\xa1a\x01\xa1a\x02",
}

// formless is msgpack without a JSON form, each as a reply's value, and the path that the text
// names.
var formless = map[string][2]string{
	"nan":           {"\x81\xa1a\x91\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "$.a[0]"},
	"inf":           {"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", "$"},
	"minus_inf_32":  {"\xca\xff\x80\x00\x00", "$"},
	"integer_key":   {"\x81\x01\x02", "$"},
	"nil_key":       {"\x81\xc0\x02", "$"},
	"bin_key":       {"\x81\xc4\x01a\x02", "$"},
	"array_key":     {"\x81\x90\x02", "$"},
	"not_utf8":      {"\xa1\xff", "$"},
	"surrogate":     {"\xa3\xed\xa0\x80", "$"},
	"key_not_utf8":  {"\x81\xa1\xff\x02", "$"},
	"extension":     {"\xd4\x05\x00", "$"},
	"year_too_late": {"\xc7\x0c\xff\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", "$"},
}

// exact are values that lose no digit on the way.
var exact = map[string][2]string{
	"minus_zero":  {"\xcb\x80\x00\x00\x00\x00\x00\x00\x00", "-0"},
	"uint64":      {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
	"int64":       {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808"},
	"past_2_53":   {"\xcf\x00\x20\x00\x00\x00\x00\x00\x01", "9007199254740993"},
	"not_minimal": {"\xcf\x00\x00\x00\x00\x00\x00\x00\x01", "1"},
	"float32":     {"\xca\x3d\xcc\xcc\xcd", "0.1"},
	"nul":         {"\xa1\x00", `"\u0000"`},
	"bin":         {"\xc4\x02hi", `"aGk="`},
	"timestamp":   {"\xd6\xff\x00\x00\x00\x00", `"1970-01-01T00:00:00Z"`},
}

// failedWith is a failure with n nils in its details.
func failedWith(n int) abi.Reply {
	details := abi.AppendArrayHeader(nil, n)
	return abi.Reply{Outcome: abi.OutcomeFailed, Failure: &abi.Failure{
		Message: "no", Details: append(details, strings.Repeat("\xc0", n)...),
	}}
}

// blocks are content blocks that are no JSON, each after a good one, and the path that the text
// names.
var blocks = map[string]abi.Block{
	"$.content[1].text": {Type: abi.BlockText, Text: "a\xffb"},
	"$.content[1].mime": {Type: abi.BlockImage, Data: []byte{1}, MIME: "image/\x80"},
	"$.content[1].name": {Type: abi.BlockFile, Data: []byte{1}, Name: "\xed\xa0\x80"},
}

func rows() []outcome {
	list := outcomes
	for path, b := range blocks {
		call := reply(abi.Reply{Outcome: abi.OutcomeContent, Content: []abi.Block{
			{Type: abi.BlockText, Text: "é"}, b}})
		list = append(list, outcome{name: "block_" + path[len("$.content[1]."):], call: call,
			text: path + ": a string is not UTF-8", kind: plugins.ErrOutputSerialization,
			cause: "no_json", fault: broken})
	}
	for name, b := range unreadable {
		list = append(list, outcome{name: "unreadable_" + name, call: ok(b), cause: "bad_msgpack",
			kind: plugins.ErrMalformedResult, fault: broken})
	}
	list = append(list, outcome{name: "unreadable_nothing", call: hosttest.ReplyRange(0, 0),
		kind: plugins.ErrMalformedResult, cause: "bad_msgpack", fault: broken})
	for name, c := range formless {
		list = append(list, outcome{name: "formless_" + name, call: ok(c[0]), cause: "no_json",
			text: c[1], kind: plugins.ErrOutputSerialization, fault: broken})
	}
	for name, c := range exact {
		list = append(list, outcome{name: "exact_" + name, call: ok(c[0]), value: c[1]})
	}
	return list
}

// TestOutcomes holds, through the real sandbox, what becomes of everything that a guest can do; and
// that whatever it did, the next call of the same tool finds nothing of it.
func TestOutcomes(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	opts.Limits = host.Limits{Output: 50 << 10}
	rows := rows()
	for _, row := range rows {
		p := hosttest.Plugin{Name: row.name, Call: row.call}
		write(t, dir, map[string][]byte{row.name + ".wasm": p.Bytes()})
	}
	long := open(t, dir, opts)
	brief := *opts
	brief.Limits.Time = 50 * time.Millisecond
	short := open(t, dir, &brief)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d := long
			if row.cause == "limit.time" {
				d = short
			}
			for range 2 {
				row.check(t, d)
			}
		})
	}
}

func (row outcome) check(t *testing.T, d *loader.Dir) {
	t.Helper()
	input := row.input
	if input == "" {
		input = "{}"
	}
	result, err := call(t, d, row.name, input)
	if row.kind == nil {
		if err != nil || string(result.Value) != row.value {
			t.Errorf("%s, %v, want %s", result.Value, err, row.value)
		}
		return
	}
	if !errors.Is(err, row.kind) || plugins.CauseOf(err) != row.cause {
		t.Fatalf("%v (cause %q), want %v (%s)", err, plugins.CauseOf(err), row.kind, row.cause)
	}
	if !strings.Contains(err.Error(), row.text) {
		t.Errorf("%q does not say %q", err, row.text)
	}
	if got := plugins.FaultOf(err); got != row.fault {
		t.Errorf("fault %v, want %v", got, row.fault)
	}
	if row.cause == "limit.time" != errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v: matches context.DeadlineExceeded wrongly", err)
	}
}

// What a guest says about a failure is bounded, whoever prints it.
func TestFailureIsCut(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"fits": 0, "long": 1} {
		f := abi.Failure{
			Code: strings.Repeat("c", 256+n), Pointer: "/" + strings.Repeat("p", 255+n),
			Message: strings.Repeat("é", 4096+n),
		}
		write(t, dir, map[string][]byte{
			name + ".wasm": hosttest.Plugin{Name: name, Call: hosttest.Fail(f)}.Bytes(),
		})
	}
	d := open(t, dir, options(t))
	for name, cut := range map[string]bool{"fits": false, "long": true} {
		_, err := call(t, d, name, `{}`)
		f, ok := errors.AsType[*abi.Failure](err)
		if !ok {
			t.Fatalf("%s: %v, want a Failure", name, err)
		}
		for _, text := range []string{f.Code, f.Message} {
			if strings.HasSuffix(text, "…") != cut {
				t.Errorf("%s: cut %v, want %v: %.20q…", name, !cut, cut, text)
			}
		}
		if n := utf8.RuneCountInString(f.Code + f.Message); n != 256+4096 {
			t.Errorf("%s: %d characters", name, n)
		}
	}
}

// The caller's end is not the tool's, whichever comes first is told apart.
func TestCallersEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		"loop.wasm": hosttest.Plugin{Name: "loop", Call: hosttest.Loop}.Bytes(),
	})
	reg := plugins.NewRegistry(nil)
	if err := reg.Add(open(t, dir, options(t)).Tools()...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := reg.Call(ctx, plugins.Call{Tool: "loop"})
	if _, tool := errors.AsType[*plugins.ToolError](err); tool ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the caller's deadline", err)
	}
}

// An input schema, an output schema and a declared key hold for guests as for native tools, and a
// refused call starts no guest: this one would loop for ever.
func TestGates(t *testing.T) {
	spec := abi.ToolSpec{
		Name: "pay", Description: "Pays.",
		InputSchema: `{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`,
	}
	out := abi.ToolSpec{Name: "out", Description: "Breaks its word.",
		OutputSchema: `{"type":"object","required":["id"]}`}
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		"pay.wasm": hosttest.Plugin{Name: "pay", Tools: []abi.ToolSpec{spec},
			Call: hosttest.Loop}.Bytes(),
		"out.wasm": hosttest.Plugin{Name: "out", Tools: []abi.ToolSpec{out}}.Bytes(),
	})
	reg := plugins.NewRegistry(&plugins.Options{
		Rules: map[string]plugins.Rule{"pay": {Key: "order.id"}}, Ledger: &ledger.Memory{},
	})
	if err := reg.Add(open(t, dir, options(t)).Tools()...); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		`{"sum":"ten"}`:               "invalid_input schema /sum",
		`{}`:                          "invalid_input schema sum",
		`{"sum":1}`:                   "missing_idempotency_key key order",
		`{"sum":1,"order":{"id":""}}`: "missing_idempotency_key key order.id",
	} {
		_, err := reg.Call(t.Context(), plugins.Call{Tool: "pay", Input: json.RawMessage(input)})
		check(t, input, err, want)
	}
	_, err := reg.Call(t.Context(), plugins.Call{Tool: "out"})
	check(t, "out", err, "malformed_result output_schema id")
}

// check holds an error against its kind, its cause and a word of its text.
func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	te, ok := errors.AsType[*plugins.ToolError](err)
	if !ok {
		t.Errorf("%s: %v, want a ToolError", name, err)
		return
	}
	var kind, cause, word string
	fmt.Sscan(want, &kind, &cause, &word)
	if te.Kind.Error() != kind || plugins.CauseOf(err) != cause ||
		!strings.Contains(err.Error(), word) {
		t.Errorf("%s: %v %s: %v, want %s", name, te.Kind, plugins.CauseOf(err), err, want)
	}
}
