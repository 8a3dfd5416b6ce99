package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/plugins"
)

// record is a store that fails when it is told to.
type record struct {
	messages []message.Message
	fail     func(n int) error // the n-th Append, from 1
	appends  int
}

func (r *record) Append(ctx context.Context, list ...message.Message) error {
	r.appends++
	if r.fail != nil {
		if err := r.fail(r.appends); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.messages = append(r.messages, list...)
	return nil
}

func texts(list []message.Message) string {
	b, _ := json.Marshal(list)
	return string(b)
}

// TestStore pins that what happens is recorded before the next thing does.
func TestStore(t *testing.T) {
	store := &record{}
	seen := 0
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		seen = len(store.messages)
		return plugins.Output{Value: []byte("1")}, nil
	})
	loop := &agentloop.Loop{Store: store, Tools: registry(t, f), Model: looptest.NewModel(
		looptest.Call(call("a", "f", ""), call("b", "f", "")), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	if texts(store.messages) != texts(loop.History()) {
		t.Errorf("stored  %s\nhistory %s", texts(store.messages), texts(loop.History()))
	}
	if seen != 3 {
		t.Errorf("the second call began when %d messages were stored", seen)
	}
}

// TestTimes pins that each message has the time at which it was said, or recorded.
func TestTimes(t *testing.T) {
	now, before := time.Unix(2000, 0), time.Unix(1000, 0).UTC()
	early := user("go")
	early.Time = before
	loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Say("ok")),
		Now: func() time.Time { return now }}
	end(t, loop.Run(t.Context(), early))
	for i, want := range []time.Time{before, now.UTC()} {
		if have := loop.History()[i].Time; have != want {
			t.Errorf("message %d: %v", i+1, have)
		}
	}
}

// TestStoreFails breaks the store at each Append: the run ends, what was said stays in the history,
// and the next run records it all.
func TestStoreFails(t *testing.T) {
	full := errors.New("the disk is full")
	for at := 1; at <= 5; at++ {
		tool := reads("f", nil)
		store := &record{fail: func(n int) error {
			if n == at {
				return full
			}
			return nil
		}}
		model := looptest.NewModel(looptest.Call(call("a", "f", ""), call("b", "f", "")),
			looptest.Say("ok"))
		loop := &agentloop.Loop{Store: store, Tools: registry(t, tool), Model: model}
		_, err := drain(loop.Run(t.Context(), user("go")))
		if agentloop.Code(err) != "io" || !errors.Is(err, full) || agentloop.FeedsModel(err) {
			t.Errorf("append %d: %v", at, err)
		}
		if at == 2 && len(tool.Calls()) != 0 {
			t.Error("calls ran that are not recorded")
		}
		history := loop.History()
		isValid(t, history)
		model.Add(looptest.Say("ok"))
		end(t, loop.Run(t.Context(), user("again")))
		if texts(store.messages) != texts(loop.History()) {
			t.Errorf("append %d: stored %s", at, texts(store.messages))
		}
	}
}

// TestStoreErrors pins what becomes of an error of the store's.
func TestStoreErrors(t *testing.T) {
	for want, err := range map[string]error{
		"io":              &fs.PathError{Op: "write", Path: "s.jsonl", Err: fs.ErrNotExist},
		"invalid_session": &session.InvalidError{Line: 3, Detail: "torn"},
	} {
		loop := &agentloop.Loop{Model: looptest.NewModel(),
			Store: &record{fail: func(int) error { return err }}}
		_, have := drain(loop.Run(t.Context(), user("go")))
		if agentloop.Code(have) != want || !errors.Is(have, err) ||
			errors.Is(have, fs.ErrNotExist) != (want == "io") {
			t.Errorf("%s: %v", want, have)
		}
	}
}

// TestRecordedWhenStopped pins that the end of ctx does not keep what happened from the store.
func TestRecordedWhenStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := reads("f", func(ctx context.Context, c plugins.Call) (plugins.Output, error) {
		cancel()
		return hangs(ctx, c)
	})
	store := &record{}
	loop := &agentloop.Loop{Store: store, Tools: registry(t, f),
		Model: looptest.NewModel(looptest.Call(call("a", "f", ""), call("b", "f", "")))}
	drain(loop.Run(ctx, user("go")))
	isValid(t, store.messages)
	if have := outcomes(store.messages); len(have) != 2 || have[0] != message.Unknown {
		t.Errorf("outcomes %v", have)
	}
}

// TestRestore goes on with an earlier conversation, which the store has already.
func TestRestore(t *testing.T) {
	earlier := []message.Message{
		{Role: message.System, Text: "Be verbose."}, user("a"),
		{Role: message.Assistant, Calls: []message.Call{call("x", "f", ""), call("y", "f", "")}},
		{Role: message.Tool, Result: &message.Result{CallID: "x", Outcome: message.OK, Text: "1"}},
		{Role: message.Tool, Result: &message.Result{CallID: "y", Outcome: message.Unknown}},
	}
	for system, want := range map[string]string{"": "Be verbose.", "Be brief.": "Be brief."} {
		model := looptest.NewModel(looptest.Call(call("", "f", "")), looptest.Say("ok"))
		store := &record{}
		loop := &agentloop.Loop{Model: model, Store: store, System: system,
			Tools: registry(t, reads("f", nil))}
		if err := loop.Restore(earlier); err != nil {
			t.Fatal(err)
		}
		end(t, loop.Run(t.Context()))
		sent := model.Requests()[0].Messages
		if len(sent) != len(earlier) || sent[0].Text != want {
			t.Errorf("sent %s", texts(sent))
		}
		if texts(store.messages) != texts(loop.History()[len(earlier):]) {
			t.Errorf("stored %s", texts(store.messages))
		}
		if have := results(store.messages)[0].CallID; have != "call-3" {
			t.Errorf("the third call of the conversation is %s", have)
		}
	}
}

// TestSession runs a loop on a real session, and another on what is left of it.
func TestSession(t *testing.T) {
	dir, err := session.OpenDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s, err := dir.Create("s", "", session.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	tools := registry(t, reads("f", gives(`"`+strings.Repeat("é", 30<<10)+`"`)))
	loop := &agentloop.Loop{Store: s, Tools: tools,
		Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = dir.Resume("s"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if texts(s.Messages()) != texts(loop.History()) {
		t.Errorf("stored %s", texts(s.Messages()))
	}
	again := &agentloop.Loop{Store: s, Tools: tools, Model: looptest.NewModel(looptest.Say("ok"))}
	if err := again.Restore(s.Messages()); err != nil {
		t.Fatal(err)
	}
	end(t, again.Run(t.Context(), user("and?")))
	roles := []message.Role{}
	for _, m := range s.Messages() {
		roles = append(roles, m.Role)
	}
	want := []message.Role{message.User, message.Assistant, message.Tool, message.Assistant,
		message.User, message.Assistant}
	if !slices.Equal(roles, want) {
		t.Errorf("roles %v", roles)
	}
}
