package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestOpen pins what opening is told, and what is made of it.
func TestOpen(t *testing.T) {
	var asked []sdk.Conversation
	model := looptest.NewModel(looptest.Say("ok"))
	closed := 0
	fail := true
	a := sdk.New(func(_ context.Context, c sdk.Conversation) (*sdk.Opened, error) {
		asked = append(asked, c)
		if fail {
			return nil, errBroken
		}
		return &sdk.Opened{Loop: &agentloop.Loop{Model: model, System: "be long", ID: "run-7",
			Store: forgets{}},
			Warnings: []string{"it was torn"}, Close: func() error { closed++; return nil }}, nil
	}, nil)
	defer a.Close()
	if _, err := a.Resume(t.Context(), "old"); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	fail = false
	id, err := a.Start(t.Context(), &sdk.StartOptions{Session: "new", System: "be brief"})
	if err != nil || id != "run-7" {
		t.Errorf("%q, %v", id, err)
	}
	if !slices.Equal(asked, []sdk.Conversation{{Session: "old", Resume: true}, {Session: "new"}}) {
		t.Errorf("asked for %+v", asked)
	}
	last := say(t, a, "go")
	if sent := model.Requests()[0].Messages[0]; sent.Text != "be brief" || last.Kind != message.Ended {
		t.Errorf("sent %+v, %+v", sent, last)
	}
	if first := until(t, a, 0, message.Warning); first[0].Text != "it was torn" {
		t.Errorf("the first event is %+v", first[0])
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil || closed != 1 {
		t.Errorf("closed %d times, %v", closed, err)
	}
}

// TestOpenedInVain closes what was opened and cannot be used.
func TestOpenedInVain(t *testing.T) {
	broken := 0
	a := sdk.New(func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
		return &sdk.Opened{Loop: &agentloop.Loop{}, Close: func() error {
			broken++
			return errBroken
		}}, nil
	}, nil)
	defer a.Close()
	_, err := a.Start(t.Context(), nil)
	if name(t, err) != agentloop.SdkInvalidArgument || !errors.Is(err, errBroken) || broken != 1 {
		t.Errorf("%v, closed %d times", err, broken)
	}
	if err := a.Close(); err != nil || broken != 1 {
		t.Errorf("%v, closed %d times", err, broken)
	}
}

// TestNotRecorded pins that a session which was asked for must be recorded, else there is none.
func TestNotRecorded(t *testing.T) {
	a := sdk.New(gives(&agentloop.Loop{Model: looptest.NewModel()}), nil)
	defer a.Close()
	_, started := a.Start(t.Context(), &sdk.StartOptions{Session: "new"})
	_, resumed := a.Resume(t.Context(), "nosuch")
	for _, err := range []error{started, resumed} {
		if name(t, err) != agentloop.SdkUnsupportedAction {
			t.Errorf("have %v", err)
		}
	}
	if id, err := a.Start(t.Context(), nil); err != nil || uuid.MustParse(id).Version() != 7 {
		t.Errorf("%q, %v", id, err)
	}
}

// TestOpening keeps everybody else from what is being opened; to close ends that, whether opening
// listens or not.
func TestOpening(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			closed, let := false, make(chan struct{})
			a := sdk.New(func(ctx context.Context, _ sdk.Conversation) (*sdk.Opened, error) {
				select {
				case <-let:
				case <-ctx.Done():
					if !stubborn {
						return nil, context.Cause(ctx)
					}
				}
				return &sdk.Opened{Loop: &agentloop.Loop{Model: &obeys{}},
					Close: func() error { closed = true; return nil }}, nil
			}, nil)
			done := make(chan error)
			go func() { _, err := a.Start(t.Context(), nil); done <- err }()
			synctest.Wait()
			if _, err := a.Start(t.Context(), nil); name(t, err) != agentloop.SdkBusy {
				t.Errorf("another start: %v", err)
			}
			if err := a.Input(t.Context(), user("go")); name(t, err) != agentloop.SdkNotFound {
				t.Errorf("input: %v", err)
			}
			go a.Close()
			if err := <-done; name(t, err) != agentloop.SdkClosed {
				t.Errorf("it was closed meanwhile: %v", err)
			}
			if closed != stubborn {
				t.Error("what was opened is left open")
			}
			if _, err := a.Start(t.Context(), nil); name(t, err) != agentloop.SdkClosed {
				t.Errorf("after it was closed: %v", err)
			}
		})
	}
}

// TestPanics ends a run whose model or hook has a mistake in it, says where, and goes on. A panic
// of what opens a conversation is its caller's.
func TestPanics(t *testing.T) {
	loop := &agentloop.Loop{Tools: tools(t),
		Model: looptest.NewModel(looptest.Call(call("a", "look", "")))}
	loop.Hooks.BeforeTool = func(context.Context, *message.Call) error { panic("a mistake") }
	a := started(t, loop, nil)
	last := say(t, a, "go")
	p, ok := errors.AsType[*plugins.PanicError](last.Err)
	if !ok || p.Value != "a mistake" || !bytes.Contains(p.Stack, []byte("open_test.go")) {
		t.Errorf("%+v", last)
	}
	if err := message.Check(loop.History()); err != nil {
		t.Error(err)
	}
	loop.Hooks, loop.Model = agentloop.Hooks{}, looptest.NewModel(looptest.Say("ok"))
	if err := a.Input(t.Context(), user("again")); err != nil {
		t.Fatal(err)
	}
	_ = until(t, a, last.Seq, message.Ended)

	mistaken := true
	b := sdk.New(func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
		if mistaken {
			panic("a mistake")
		}
		return &sdk.Opened{Loop: &agentloop.Loop{Model: &obeys{}}}, nil
	}, nil)
	defer b.Close()
	func() {
		defer func() {
			if recover() != "a mistake" {
				t.Error("the panic is lost")
			}
		}()
		_, _ = b.Start(t.Context(), nil)
	}()
	mistaken = false
	if _, err := b.Start(t.Context(), nil); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// TestRecord goes on with a session: what was said is there, and a call without a result is made
// again, at its place.
func TestRecord(t *testing.T) {
	dir, err := session.OpenDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	placed := placedTools{Registry: tools(t)}
	open := func(model agentloop.Model, s *session.Session, err error) *sdk.Local {
		return sdk.New(func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
			if err != nil {
				return nil, err
			}
			loop := &agentloop.Loop{Model: model, Tools: &placed}
			warnings, err := sdk.Record(loop, s)
			return &sdk.Opened{Loop: loop, Warnings: warnings, Close: s.Close}, err
		}, nil)
	}
	s, err := dir.Create("trip", "", session.Meta{})
	if err == nil { // as a process leaves it that died
		err = s.Append(t.Context(), user("go"), message.Message{Role: message.Assistant,
			Calls: []message.Call{call("a", "look", "{}")}})
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	s, err = dir.Resume("trip")
	model := looptest.NewModel(looptest.Say("ok"))
	a := open(model, s, err)
	defer a.Close()
	id, err := a.Resume(t.Context(), "trip")
	if err != nil || id != s.Header().ID {
		t.Fatal(id, err)
	}
	if err := a.Input(t.Context()); err != nil { // nothing more needs to be said
		t.Fatal(err)
	}
	have := kinds(until(t, a, 0, message.Ended))
	if have[0] != message.ToolStarted || !slices.Equal(placed.at, []string{id + "#1"}) {
		t.Errorf("heard %v, called at %q", have, placed.at)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	stored, err := dir.Read("trip")
	if err != nil || len(stored.Messages) != 4 || len(stored.Warnings) != 0 {
		t.Errorf("%v, %+v", err, stored)
	}
}

// placedTools note the places of calls, as a ledger does.
type placedTools struct {
	*plugins.Registry
	at []string
}

func (p *placedTools) Call(ctx context.Context, c plugins.Call) (plugins.Result, error) {
	p.at = append(p.at, fmt.Sprintf("%s#%d", c.Run, c.Position))
	c.Run, c.Position = "", 0
	return p.Registry.Call(ctx, c)
}

// TestRecordLeftCalls tells of calls that another program went on after without making them.
func TestRecordLeftCalls(t *testing.T) {
	dir, err := session.OpenDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s, err := dir.Create("trip", "", session.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Append(t.Context(), user("go"), message.Message{Role: message.Assistant,
		Calls: []message.Call{call("a", "look", "{}"), call("b", "look", "{}")}},
		message.Message{Role: message.Tool, Result: &message.Result{CallID: "b", Outcome: message.OK}})
	if err != nil {
		t.Fatal(err)
	}
	loop := &agentloop.Loop{}
	warnings, err := sdk.Record(loop, s)
	if err != nil || len(loop.History()) != 4 || len(warnings) != 1 ||
		!strings.Contains(warnings[0], "nobody knows what became: 1") {
		t.Errorf("%q, %v", warnings, err)
	}
}

// TestExport writes a conversation down, also while a run is at work.
func TestExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told struct {
			id string
			n  int
		}
		a := playing(t, &sdk.Options{Ask: true, Exporters: map[string]sdk.Exporter{
			"count": func(_ io.Writer, id string, list []message.Message) error {
				told.id, told.n = id, len(list)
				return nil
			}}}, looptest.Call(call("a", "pay", "{}")), looptest.Say("ok"))
		defer a.Close()
		if err := a.Input(t.Context(), user("go")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var text bytes.Buffer
		if err := errors.Join(a.Export(&text, ""), a.Export(&text, "count")); err != nil {
			t.Fatal(err)
		}
		read, err := session.Read(&text)
		if err != nil || len(read.Messages) != 3 || read.Messages[2].Result.Outcome != message.Unknown {
			t.Errorf("%v, %+v", err, read)
		}
		if read.Header.ID != told.id || told.n != 2 {
			t.Errorf("%+v, %+v", read.Header, told)
		}
		err = a.Export(io.Discard, "runes")
		if want := `nobody writes the format "runes"; known are count, wasmagent`; err.Error() != want {
			t.Errorf("%v", err)
		}
		pipe, end := io.Pipe()
		_ = pipe.CloseWithError(errBroken)
		err = a.Export(end, sdk.Native)
		if name(t, err) != agentloop.SdkExecution || !errors.Is(err, errBroken) {
			t.Errorf("a writer that fails: %v", err)
		}
	})
}
