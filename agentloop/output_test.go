package agentloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestOutputs pins how a tool's output reads.
func TestOutputs(t *testing.T) {
	for name, tt := range map[string]struct {
		out  plugins.Output
		want string
	}{
		"an object": {plugins.Output{Value: json.RawMessage(`{"a":"<\n>"}`)}, `{"a":"<\n>"}`},
		"a string":  {plugins.Output{Value: json.RawMessage(`"a\nb"`)}, "a\nb"},
		"null":      {plugins.Output{Value: json.RawMessage(`null`)}, "null"},
		"content": {plugins.Output{Content: []abi.Block{
			{Type: "text", Text: "here:"},
			{Type: "image", MIME: "image/png", Name: "a\x1b[2Jb", Data: []byte("12345")},
			{Type: "text", Text: "\xff!"},
		}}, "here:\n[image, image/png, \"ab\", 5 bytes, which are not shown]\n\uFFFD!"},
		"no content": {plugins.Output{Content: []abi.Block{}}, ""},
	} {
		spy := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
			return tt.out, nil
		})
		loop := &agentloop.Loop{Tools: registry(t, spy),
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
		end(t, loop.Run(t.Context(), user("go")))
		if have := results(loop.History())[0]; have.Text != tt.want || have.Outcome != message.OK {
			t.Errorf("%s: %q\nwant %q", name, have.Text, tt.want)
		}
	}
}

// TestLongOutput cuts an output and reads on in it, until its end.
func TestLongOutput(t *testing.T) {
	whole := strings.Repeat("0123456789", 1000)
	long := reads("long", gives(`"`+whole+`"`))
	model := looptest.NewModel(looptest.Call(call("a", "long", "")))
	loop := &agentloop.Loop{Model: model, Tools: registry(t, long), OutputCap: 4096,
		Approval: agentloop.Approval{Mode: agentloop.Untrusted,
			Ask: func(_ context.Context, q agentloop.Question) (agentloop.Answer, error) {
				if q.Call.Name != "long" { // what it gave was allowed to be seen then
					t.Errorf("asked about %s", q.Call.Name)
				}
				return agentloop.AnswerAllow, nil
			}}}
	drain(loop.Run(t.Context(), user("go"))) // the script ends
	cut := results(loop.History())[0]
	if len(cut.Text) > 4096 || cut.Bytes != len(whole) || cut.Handle == "" {
		t.Fatalf("%d bytes, %d before, handle %q", len(cut.Text), cut.Bytes, cut.Handle)
	}
	if n := len(model.Requests()[0].Tools); n != 1 {
		t.Errorf("%d tools before anything was cut", n)
	}
	read, _, _ := strings.Cut(cut.Text, "\n[…")
	for len(read) < len(whole) {
		model.Add(looptest.Call(call("", "read_more",
			fmt.Sprintf(`{"handle":%q,"offset":%d}`, cut.Handle, len(read)))))
		drain(loop.Run(t.Context()))
		all := results(loop.History())
		page := all[len(all)-1]
		text, where, ok := strings.Cut(page.Text, "\n[bytes ")
		if page.Outcome != message.OK || !ok || page.Handle != "" || len(page.Text) > 4096 {
			t.Fatalf("page %+v (%s)", page, where)
		}
		read += text
	}
	if read != whole {
		t.Error("what was read is not the whole")
	}
	requests := model.Requests()
	if tools := requests[len(requests)-1].Tools; len(tools) != 2 || tools[1].Name != "read_more" {
		t.Errorf("tools %+v", tools)
	}
}

// TestHandleOfAnotherProcess pins that a model which reads on in an output of before a restart is
// told what to do instead.
func TestHandleOfAnotherProcess(t *testing.T) {
	loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Call(
		call("b", "read_more", `{"handle":"out-1","offset":0}`)), looptest.Say("ok"))}
	if err := loop.Restore([]message.Message{user("go"),
		{Role: message.Assistant, Calls: []message.Call{call("a", "f", "")}},
		{Role: message.Tool, Result: &message.Result{CallID: "a", Outcome: message.OK,
			Handle: "out-1"}}}); err != nil {
		t.Fatal(err)
	}
	end(t, loop.Run(t.Context()))
	if r := results(loop.History())[1]; !strings.Contains(r.Text, "call the tool that gave it again") {
		t.Errorf("%+v", r)
	}
}

// TestOutputCap pins the edge of the cap, and that of all outputs where there is none or a larger
// one.
func TestOutputCap(t *testing.T) {
	const most = agentloop.MaxOutput
	for _, tt := range []struct {
		cap, size int
		reduced   bool
		cut       bool
	}{
		{cap: 0, size: 48 << 10}, {cap: 0, size: 48<<10 + 1, cut: true},
		{cap: 2000, size: 2000}, {cap: 2000, size: 2001, cut: true},
		{cap: -1, size: most}, {cap: -1, size: most + 1, cut: true},
		{cap: most + 9, size: most}, {cap: most + 9, size: most + 1, cut: true},
		{cap: 2000, reduced: true, size: most}, {cap: 2000, reduced: true, size: most + 1, cut: true},
	} {
		f := reads("f", gives(`"`+strings.Repeat("a", tt.size)+`"`))
		loop := &agentloop.Loop{Tools: registry(t, f), OutputCap: tt.cap,
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
		if tt.reduced {
			loop.Reduction = &agentloop.Reduction{}
		}
		end(t, loop.Run(t.Context(), user("go")))
		if have := results(loop.History())[0]; (have.Handle != "") != tt.cut {
			t.Errorf("cap %d, %d bytes, reduced %v: handle %q", tt.cap, tt.size, tt.reduced, have.Handle)
		}
	}
}

// TestWorstOutput pins that what a tool says can always be recorded: an output whose every byte takes
// six in a session would else end this run and each later one.
func TestWorstOutput(t *testing.T) {
	dir, err := session.OpenDir(t.TempDir(), &session.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s, err := dir.Create("worst", "", session.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		worst := strings.Repeat("\x01", 2*agentloop.MaxOutput)
		return plugins.Output{Content: []abi.Block{{Type: "text", Text: worst}}}, nil
	})
	loop := &agentloop.Loop{Tools: registry(t, f), Store: s, Reduction: &agentloop.Reduction{},
		Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	if kept := s.Messages(); len(kept) != 4 {
		t.Errorf("%d messages are stored", len(kept))
	}
}
