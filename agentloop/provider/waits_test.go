package provider_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
)

// TestCancel ends a request while it waits for an answer, and while it waits to ask again.
func TestCancel(t *testing.T) {
	gone := errors.New("the user left")
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		for name, answer := range map[string]roundTrip{
			"asking": func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
			"waiting": func(*http.Request) (*http.Response, error) { return nil, io.EOF },
			"reading": func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: &silent{ctx: r.Context()}}, nil
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(gone) })
				opts.Client = &http.Client{Transport: answer}
				m, err := wires[wire]("http://127.0.0.1", opts)
				if err != nil {
					t.Fatal(err)
				}
				_, err = m.Turn(ctx, hello)
				if _, ok := errors.AsType[*provider.HTTPError](err); ok || !errors.Is(err, gone) {
					t.Errorf("%s: have %v", name, err)
				}
			})
		}
	})
}

// silent is a body that has some bytes and then nothing more.
type silent struct {
	some string
	ctx  context.Context
}

func (s *silent) Read(p []byte) (int, error) {
	if s.some == "" {
		<-s.ctx.Done()
		return 0, s.ctx.Err()
	}
	n := copy(p, s.some[:1])
	s.some = s.some[1:]
	time.Sleep(time.Second)
	return n, nil
}
func (s *silent) Close() error { return nil }

// TestIdle ends a request to which nothing comes for too long, and only such a one.
func TestIdle(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		for name, tt := range map[string]struct {
			some string // of the answer, a byte each second
			tell time.Duration
		}{
			"no answer":      {"", 4*2*time.Second + 10500*time.Millisecond},
			"half an answer": {": a long comment\n", 0},
		} {
			synctest.Test(t, func(t *testing.T) {
				opts.Idle = 2 * time.Second
				answer := func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Body: &silent{tt.some, r.Context()}}, nil
				}
				opts.Client = &http.Client{Transport: roundTrip(answer)}
				m, err := wires[wire]("http://127.0.0.1", opts)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				_, err = m.Turn(t.Context(), hello)
				waited := time.Since(start)
				if _, ok := errors.AsType[*provider.HTTPError](err); !ok || waited < tt.tell+
					time.Duration(len(tt.some))*time.Second ||
					!strings.Contains(err.Error(), "nothing came for 2s (Options.Idle)") {
					t.Errorf("%s: have %v after %v", name, err, waited)
				}
			})
		}
	})
}

// eager is a body that gives a byte at a time, as long as its request goes on.
type eager struct {
	io.Reader
	ctx context.Context
}

func (e eager) Read(p []byte) (int, error) {
	if e.ctx.Err() != nil {
		return 0, e.ctx.Err()
	}
	return e.Reader.Read(p[:1])
}
func (eager) Close() error { return nil }

// TestSlowListener takes its time with each piece: that is not the provider's silence.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const body = `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
		answer := func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200,
				Body: eager{strings.NewReader(body + body + "data: [DONE]\n\n"), r.Context()}}, nil
		}
		m, err := openai.New("m", &provider.Options{BaseURL: "http://localhost",
			Idle: time.Second, Client: &http.Client{Transport: roundTrip(answer)}})
		if err != nil {
			t.Fatal(err)
		}
		req := hello
		req.Delta = func(message.Delta) { time.Sleep(time.Minute) }
		if got, err := m.Turn(t.Context(), req); err != nil || got.Text != "xx" {
			t.Errorf("have %q, %v", got.Text, err)
		}
	})
}

// TestLog tells what is logged of a request that is made again.
func TestLog(t *testing.T) {
	var log strings.Builder
	server := looptest.NewServer(t, looptest.Answer{Status: 500, Body: "bad key " + key}, fine)
	opts := provider.Options{APIKey: key, Client: client(),
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if _, _, err := ask(t, "openai", server.URL, opts); err != nil {
		t.Fatal(err)
	}
	if s := log.String(); strings.Count(s, "\n") != 1 || strings.Contains(s, key) ||
		!strings.Contains(s, "level=WARN") || !strings.Contains(s, "try=1") || !strings.Contains(s, "status 500") {
		t.Errorf("have %s", s)
	}
}
