package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/anthropic"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
)

// tally counts what replaying the recordings of one wire gave.
type tally struct {
	interactions, streamed, calls, withReasoning, withUsage int
	refused                                                 int // recorded answers that are errors
	errors                                                  int // ours
}

func (t *tally) add(u tally) {
	t.interactions += u.interactions
	t.streamed += u.streamed
	t.calls += u.calls
	t.withReasoning += u.withReasoning
	t.withUsage += u.withUsage
	t.refused += u.refused
	t.errors += u.errors
}

// replayed is what the recordings hold, by wire. The versions of the modules are fixed, and so are
// the numbers.
var replayed = map[string]tally{
	"openai": {interactions: 392, streamed: 158, calls: 166, withReasoning: 91, withUsage: 391,
		refused: 1},
	"anthropic": {interactions: 91, streamed: 32, calls: 47, withReasoning: 4, withUsage: 89,
		refused: 2},
}

// TestRecordings has the clients talk to recorded servers. Each is made to say what the client that
// was recorded had said, and its own request must have the same messages, calls and tools.
func TestRecordings(t *testing.T) {
	ours := map[string]*tally{"openai": {}, "anthropic": {}}
	others := map[string]int{}
	for _, r := range recorded {
		for _, e := range exchanges(t, moduleDir(t, r.module)+"/"+r.folder) {
			wire := wireOf(&e)
			if ours[wire] == nil {
				others[wire]++
				continue
			}
			var got tally
			var err error
			synctest.Test(t, func(*testing.T) { got, err = replay(&e, wire) }) // no wait takes time
			if err != nil {
				t.Errorf("%s %s: %v", r.module, e.file, err)
				got.errors = 1
			}
			ours[wire].add(got)
		}
	}
	for name, want := range replayed {
		t.Logf("%-9s %+v", name, *ours[name])
		if *ours[name] != want {
			t.Errorf("%s: have %+v, want %+v", name, *ours[name], want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		t.Logf("not a wire of ours: %3d × %s", others[name], name)
	}
}

// wireOf tells which API an exchange speaks.
func wireOf(e *exchange) string {
	u, err := url.Parse(e.url)
	if err != nil {
		return "unreadable"
	}
	is := func(parts ...string) bool {
		for _, p := range parts {
			if !strings.Contains(u.Host+u.Path, p) {
				return false
			}
		}
		return true
	}
	switch {
	case bytes.Contains(e.sent, []byte(`"functions":`)):
		return "openai functions, which tools have replaced"
	case is("/chat/completions"):
		return "openai"
	case is("/v1/messages"), is("publishers/anthropic"):
		return "anthropic"
	case is("bedrock", "anthropic.claude", "invoke-with-response-stream"):
		return "bedrock event stream"
	case is("bedrock", "anthropic.claude"):
		return "anthropic"
	case is("/responses"):
		return "openai responses"
	case is("enerateContent"):
		return "gemini"
	}
	return "no model API: " + u.Host + u.Path
}

// player answers each request with one recorded answer, a few bytes at a time.
type player struct {
	e    *exchange
	sent []byte
}

func (p *player) RoundTrip(req *http.Request) (*http.Response, error) {
	var err error
	if p.sent, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: p.e.status, Header: p.e.header,
		Body: io.NopCloser(iotest.HalfReader(bytes.NewReader(p.e.answer)))}, nil
}

type model interface {
	Turn(context.Context, message.Request) (message.Message, error)
}

func replay(e *exchange, wire string) (tally, error) {
	p := &player{e: e}
	var sent struct{ Stream bool }
	if err := json.Unmarshal(e.sent, &sent); err != nil {
		return tally{}, fmt.Errorf("the recorded request: %w", err)
	}
	got := tally{interactions: 1}
	if sent.Stream = sent.Stream || strings.Contains(e.url, "streamRawPredict"); sent.Stream {
		got.streamed = 1
	}
	opts := &provider.Options{BaseURL: baseOf(e.url), NoStream: !sent.Stream,
		Client: &http.Client{Transport: p}}
	var m model
	var req message.Request
	var shape func([]byte) (string, error)
	var err error
	if wire == "openai" {
		req, err = requestOpenAI(e.sent)
		m, _ = openai.New("m", opts)
		shape = shapeOpenAI
	} else {
		req, err = requestAnthropic(e.sent)
		m, _ = anthropic.New("m", opts)
		shape = shapeAnthropic
	}
	if err != nil {
		return got, fmt.Errorf("the recorded request: %w", err)
	}
	var said message.Delta
	req.Delta = func(d message.Delta) { said.Text += d.Text; said.Reasoning += d.Reasoning }
	answer, err := m.Turn(context.Background(), req)
	if refused, ok := errors.AsType[*provider.StatusError](err); ok && refused.Status == e.status {
		got.refused = 1
		return got, nil
	}
	if err != nil {
		return got, err
	}
	if err := sameShape(shape, e.sent, p.sent); err != nil {
		return got, err
	}
	return count(got, e, &answer, said)
}

func sameShape(shape func([]byte) (string, error), recorded, sent []byte) error {
	want, err := shape(recorded)
	if err != nil {
		return err
	}
	have, err := shape(sent)
	if err == nil && have != want {
		return fmt.Errorf("the request:\nhave %s\nwant %s", have, want)
	}
	return err
}

// baseOf is the URL of an exchange without the part that the wires add.
func baseOf(u string) string {
	u, _, _ = strings.Cut(u, "?")
	u, _ = strings.CutSuffix(u, "/chat/completions")
	u, _ = strings.CutSuffix(u, "/v1/messages")
	return u
}

// count checks an answer against the recorded bytes.
func count(got tally, e *exchange, m *message.Message, said message.Delta) (tally, error) {
	got.calls = len(m.Calls)
	if want := callsIn(e.answer); got.calls != want {
		return got, fmt.Errorf("%d tool calls, want %d", got.calls, want)
	}
	for _, c := range m.Calls {
		var object map[string]any
		err := json.Unmarshal([]byte(c.Arguments), &object)
		if err != nil || c.ID == "" || c.Name == "" {
			return got, fmt.Errorf("call %+v: %v", c, err)
		}
	}
	if (len(m.Calls) > 0) != (m.Finish == message.FinishCalls) {
		return got, fmt.Errorf("%d calls and the finish %q", len(m.Calls), m.Finish)
	}
	thought := ""
	for _, r := range m.Reasoning {
		thought += r.Text
	}
	if said.Text != m.Text || said.Reasoning != thought {
		return got, fmt.Errorf("the deltas are %q, the message is %q", said, m.Text+thought)
	}
	if m.Text == "" && len(m.Calls) == 0 && m.Finish != message.FinishLength {
		return got, fmt.Errorf("nothing was said: %+v", m)
	}
	if thought != "" {
		got.withReasoning = 1
	}
	if m.Usage != nil && m.Usage.Input > 0 && m.Usage.Output > 0 {
		got.withUsage = 1
	}
	return got, nil
}
