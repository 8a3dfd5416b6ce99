package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/plugins"
)

// outcome is how a run fails.
func outcome(t *testing.T, loop *agentloop.Loop) error {
	t.Helper()
	last := say(t, started(t, loop, nil), "go")
	if last.Kind != sdk.Failed {
		t.Fatalf("it ended with %+v", last)
	}
	if last.Name != agentloop.SdkCode(last.Err) || last.Code != agentloop.Code(last.Err.Err) ||
		last.Text != last.Err.Error() {
		t.Errorf("the event is not its error's: %+v", last)
	}
	return last.Err
}

// answered is how a run fails whose provider answers with a status.
func answered(t *testing.T, status int) error {
	t.Helper()
	server := looptest.NewServer(t, looptest.Answer{Status: status, Text: "no"})
	transport := &http.Transport{DisableKeepAlives: true} // which leaves nothing behind
	model, err := openai.New("m", &provider.Options{BaseURL: server.URL + "/v1",
		Client: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return outcome(t, &agentloop.Loop{Model: model})
}

// opened is how Start fails when opening does.
func opened(t *testing.T, err error) error {
	t.Helper()
	a := sdk.New(func(context.Context, sdk.Conversation) (*sdk.Opened, error) { return nil, err }, nil)
	defer a.Close()
	_, err = a.Start(t.Context(), nil)
	return err
}

// sessions is how Start or Resume fails by what a folder of sessions says.
func sessions(t *testing.T, open func(*session.Dir) (*session.Session, error)) error {
	t.Helper()
	dir, err := session.OpenDir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	held, err := dir.Create("held", "", session.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	_, err = open(dir)
	return opened(t, err)
}

// TestNames raises each stable name in every way that it comes up. What is behind it is found.
func TestNames(t *testing.T) {
	has := func(target error) func(error) bool {
		return func(err error) bool { return errors.Is(err, target) }
	}
	const execution = agentloop.SdkExecution
	for _, tt := range []struct {
		why, want string
		raise     func(t *testing.T) error
		code      string // of what is behind it
		is        func(error) bool
	}{
		{"no key", agentloop.SdkUnauthorized, func(t *testing.T) error {
			t.Setenv(openai.KeyVariable, "")
			_, err := openai.New("m", nil)
			return opened(t, err)
		}, "missing_api_key", is[*agentloop.MissingAPIKeyError]},
		{"a key that is not accepted", agentloop.SdkUnauthorized,
			func(t *testing.T) error { return answered(t, 401) }, "provider", is[*agentloop.StatusError]},
		{"a key that may not", agentloop.SdkUnauthorized,
			func(t *testing.T) error { return answered(t, 403) }, "provider", is[*agentloop.StatusError]},
		{"another status", execution,
			func(t *testing.T) error { return answered(t, 404) }, "provider", is[*agentloop.StatusError]},

		{"a loop that cannot run", agentloop.SdkInvalidArgument, func(t *testing.T) error {
			a := sdk.New(gives(&agentloop.Loop{}), nil)
			defer a.Close()
			_, err := a.Start(t.Context(), nil)
			return err
		}, "other", nil},
		{"nothing said", agentloop.SdkInvalidArgument, func(t *testing.T) error {
			return playing(t, nil).Input(t.Context())
		}, "other", nil},
		{"a message of the model's", agentloop.SdkInvalidArgument, func(t *testing.T) error {
			return playing(t, nil).Input(t.Context(), message.Message{Role: message.Assistant})
		}, "other", nil},
		{"no answer", agentloop.SdkInvalidArgument, func(t *testing.T) error {
			return playing(t, nil).Respond("q-1", 9)
		}, "other", nil},
		{"no session's name", agentloop.SdkInvalidArgument, func(t *testing.T) error {
			_, err := sdk.New(gives(nil), nil).Resume(t.Context(), "")
			return err
		}, "other", nil},
		{"a bad name for a session", agentloop.SdkInvalidArgument, func(t *testing.T) error {
			return sessions(t, func(d *session.Dir) (*session.Session, error) { return d.Resume("../x") })
		}, "other", is[*session.NameError]},
		{"a session's name that is taken", agentloop.SdkInvalidArgument, func(t *testing.T) error {
			return opened(t, &fs.PathError{Op: "create session", Path: "s", Err: fs.ErrExist})
		}, "io", has(fs.ErrExist)},

		{"no such session", agentloop.SdkNotFound, func(t *testing.T) error {
			return sessions(t, func(d *session.Dir) (*session.Session, error) { return d.Resume("nobody") })
		}, "io", has(fs.ErrNotExist)},
		{"no such question", agentloop.SdkNotFound, func(t *testing.T) error {
			return playing(t, nil).Respond("q-1", agentloop.AnswerDeny)
		}, "other", nil},

		{"a session that is in use", agentloop.SdkBusy, func(t *testing.T) error {
			return sessions(t, func(d *session.Dir) (*session.Session, error) { return d.Resume("held") })
		}, "other", is[*session.BusyError]},
		{"another loop at work", agentloop.SdkBusy, func(t *testing.T) error {
			return opened(t, fmt.Errorf("its parent: %w", agentloop.ErrBusy))
		}, "sdk", has(agentloop.ErrBusy)},
		{"a run at work", agentloop.SdkBusy, func(t *testing.T) error {
			a := playing(t, nil, looptest.Turn{Wait: make(chan struct{})})
			if err := a.Input(t.Context(), user("go")); err != nil {
				t.Fatal(err)
			}
			return a.Input(t.Context(), user("go"))
		}, "other", has(agentloop.ErrBusy)},

		{"a format that nobody writes", agentloop.SdkUnsupportedAction, func(t *testing.T) error {
			return playing(t, nil).Export(io.Discard, "runes")
		}, "other", nil},
		{"an agent without sessions", agentloop.SdkUnsupportedAction, func(t *testing.T) error {
			return opened(t, fmt.Errorf("resume: %w", errors.ErrUnsupported))
		}, "other", has(errors.ErrUnsupported)},

		{"a run that used up its round trips", execution, func(t *testing.T) error {
			return outcome(t, &agentloop.Loop{MaxTurns: 1, Tools: tools(t),
				Model: looptest.NewModel(looptest.Call(call("a", "look", "")))})
		}, "max_iterations", is[*agentloop.MaxIterationsError]},
		{"a model that fails", execution, func(t *testing.T) error {
			return outcome(t, &agentloop.Loop{Model: looptest.NewModel(looptest.Fail(errBroken))})
		}, "other", has(errBroken)},
		{"a model that panics", execution, func(t *testing.T) error {
			return outcome(t, &agentloop.Loop{Model: panics{}})
		}, "other", is[*plugins.PanicError]},
		{"a model whose own agent is closed", execution, func(t *testing.T) error {
			inner := playing(t, nil)
			_ = inner.Close()
			return outcome(t, &agentloop.Loop{Model: looptest.NewModel(looptest.Fail(
				inner.Interrupt(nil)))})
		}, "other", nil},
		{"an exporter that fails", execution, func(t *testing.T) error {
			a := playing(t, &sdk.Options{Exporters: map[string]sdk.Exporter{
				"x": func(io.Writer, string, []message.Message) error {
					return &agentloop.InterchangeError{Line: 2, Detail: "broken"}
				}}})
			return a.Export(io.Discard, "x")
		}, "interchange", is[*agentloop.InterchangeError]},
		{"what was opened does not close", execution, func(t *testing.T) error {
			a := sdk.New(func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
				return &sdk.Opened{Loop: &agentloop.Loop{Model: &obeys{}},
					Close: func() error { return errBroken }}, nil
			}, nil)
			start(t, a)
			return a.Close()
		}, "other", has(errBroken)},
		{"an opening that fails", execution,
			func(t *testing.T) error { return opened(t, errBroken) }, "other", has(errBroken)},

		{"closed", agentloop.SdkClosed, func(t *testing.T) error {
			a := playing(t, nil)
			_ = a.Close()
			return a.Input(t.Context(), user("go"))
		}, "other", nil},
	} {
		t.Run(tt.why, func(t *testing.T) {
			err := tt.raise(t)
			if have := name(t, err); have != tt.want {
				t.Fatalf("%s, want %s: %v", have, tt.want, err)
			}
			behind := errors.Unwrap(err)
			if code := agentloop.Code(behind); code != tt.code {
				t.Errorf("behind it is %s, want %s: %v", code, tt.code, behind)
			}
			if tt.is != nil && !tt.is(err) {
				t.Errorf("the cause is lost: %v", err)
			}
			if agentloop.FeedsModel(err) {
				t.Error("a model would be told")
			}
		})
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// panics is a model with a mistake in it.
type panics struct{}

func (panics) Turn(context.Context, message.Request) (message.Message, error) {
	panic("a mistake")
}
