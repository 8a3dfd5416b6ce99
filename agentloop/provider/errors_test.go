package provider_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/anthropic"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the key of all tests. It must not show anywhere.
const key = "key-ABCDEFGHIJKLMNOP"

// wires makes a model of each wire. base is a server's URL.
var wires = map[string]func(base string, opts provider.Options) (model, error){
	"openai": func(base string, opts provider.Options) (model, error) {
		opts.BaseURL = base + "/v1"
		return openai.New("m", &opts)
	},
	"anthropic": func(base string, opts provider.Options) (model, error) {
		opts.BaseURL = base
		return anthropic.New("m", &opts)
	},
}

// client is an HTTP client that leaves nothing behind.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// eachWire runs a test for both wires, streamed and not.
func eachWire(t *testing.T, test func(t *testing.T, wire string, opts provider.Options)) {
	for wire := range wires {
		for name, noStream := range map[string]bool{"streamed": false, "whole": true} {
			t.Run(wire+"/"+name, func(t *testing.T) {
				test(t, wire, provider.Options{APIKey: key, NoStream: noStream, Client: client()})
			})
		}
	}
}

var hello = message.Request{Messages: []message.Message{{Role: message.User, Text: "Hello"}}}

// ask asks a server once. The waits of the client take no time; how long they were is told.
func ask(t *testing.T, wire, base string, opts provider.Options) (
	m message.Message, waited time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var model model
		if model, err = wires[wire](base, opts); err == nil {
			m, err = model.Turn(t.Context(), hello)
		}
		waited = time.Since(start)
	})
	if err != nil && strings.Contains(err.Error(), key) {
		t.Errorf("the key is in the text %v", err)
	}
	return m, waited, err
}

func status(code int, header ...string) looptest.Answer {
	a := looptest.Answer{Status: code, Text: "no"}
	if len(header) > 0 {
		a.Header = map[string]string{header[0]: header[1]}
	}
	return a
}

var fine = looptest.Answer{Text: "Hello yourself"}

// TestStatuses tells what is tried again, how often, and how long the waits are.
func TestStatuses(t *testing.T) {
	type answers = []looptest.Answer
	s, ms := time.Second, time.Millisecond
	for name, tt := range map[string]struct {
		answers  answers
		status   int // 0: it ends well
		asked    int
		min, max time.Duration
	}{
		"at once":     {answers{fine}, 0, 1, 0, 0},
		"not found":   {answers{status(404)}, 404, 1, 0, 0},
		"not allowed": {answers{status(401)}, 401, 1, 0, 0},
		"twice broken": {answers{status(500), status(500), fine}, 0, 3,
			4500 * ms, 7500 * ms},
		"overloaded": {answers{status(529), fine}, 0, 2, 1500 * ms, 2500 * ms},
		"always broken": {answers{status(503), status(503), status(503), status(503), fine},
			503, 4, 10500 * ms, 17500 * ms},
		"too many": {answers{status(429, "Retry-After", "7"), fine}, 0, 2, 7 * s, 7 * s},
		"too many, exact": {answers{status(429, "Retry-After-Ms", "250"), fine}, 0, 2,
			s / 4, s / 4},
		"too many, late": {answers{status(429, "Retry-After", "3600"), fine}, 0, 2,
			60 * s, 60 * s},
		"too many, a date": {answers{status(429, "Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT"),
			fine}, 0, 2, 60 * s, 60 * s},
		"passing, then no": {answers{status(408), status(400)}, 400, 2, 1500 * ms, 2500 * ms},
		"a redirect": {answers{status(307, "Location", "http://127.0.0.1:1/")},
			307, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
				server := looptest.NewServer(t, tt.answers...)
				m, waited, err := ask(t, wire, server.URL, opts)
				if tt.status == 0 && (err != nil || m.Text != fine.Text) {
					t.Errorf("have %q, %v", m.Text, err)
				}
				if tt.status != 0 {
					refused, ok := errors.AsType[*provider.StatusError](err)
					if !ok || refused.Status != tt.status || !strings.Contains(refused.Body, "no") {
						t.Errorf("have %v, want the status %d", err, tt.status)
					}
				}
				if have := len(server.Asked()); have != tt.asked {
					t.Errorf("asked %d times, want %d", have, tt.asked)
				}
				if waited < tt.min || waited > tt.max {
					t.Errorf("waited %v, want %v to %v", waited, tt.min, tt.max)
				}
			})
		})
	}
}

// TestBrokenAnswers tells what becomes of answers that begin well.
func TestBrokenAnswers(t *testing.T) {
	long := looptest.Answer{Text: strings.Repeat("word ", 100), Cut: 700}
	cases := map[string]struct {
		answer  looptest.Answer
		network bool   // an HTTPError; else a DecodeError
		once    string // where it is not tried again: streamed, whole, both
	}{
		"cut JSON":     {looptest.Answer{Body: `{"choices":[`}, false, "both"},
		"no JSON":      {looptest.Answer{Body: "<html>"}, false, "both"},
		"nothing":      {looptest.Answer{Body: "\n"}, false, "both"},
		"another JSON": {looptest.Answer{Body: `{"answer":42}`}, false, "both"},
		"a broken event": {looptest.Answer{Body: "data: {\"type\":\"message_start\",\n\n"}, false,
			"both"},
		"an end too soon": {looptest.Answer{Body: `data: {"type":"message_start","message":{},` +
			`"choices":[{"delta":{"content":"x"}}]}` + "\n\n"}, false, "both"},
		"broken off":         {long, true, "streamed"},
		"closed at once":     {looptest.Answer{Close: true}, true, ""},
		"broken off at once": {looptest.Answer{Text: "Hello", Cut: 1}, true, ""},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
				server := looptest.NewServer(t, tt.answer, tt.answer, tt.answer, tt.answer, fine)
				_, _, err := ask(t, wire, server.URL, opts)
				_, network := errors.AsType[*provider.HTTPError](err)
				_, decode := errors.AsType[*provider.DecodeError](err)
				if network != tt.network || decode == tt.network {
					t.Errorf("have %v", err)
				}
				want := 1 + provider.Retries
				if tt.once == "both" || tt.once == "streamed" && !opts.NoStream {
					want = 1
				}
				if have := len(server.Asked()); have != want {
					t.Errorf("asked %d times, want %d: %v", have, want, err)
				}
			})
		})
	}
}

// TestErrorsInStreams tells of errors that come in an answer that began with the status 200.
func TestErrorsInStreams(t *testing.T) {
	first := map[string]string{
		"openai": `data: {"error":{"code":503,"message":"busy"}}` + "\n\n",
		"anthropic": "event: error\ndata: " +
			`{"type":"error","error":{"type":"overloaded_error"}}` + "\n\n",
	}
	for wire, body := range first {
		server := looptest.NewServer(t, looptest.Answer{Body: body}, fine)
		m, waited, err := ask(t, wire, server.URL, provider.Options{Client: client()})
		if err != nil || m.Text != fine.Text || waited == 0 {
			t.Errorf("%s: have %q, %v after %v", wire, m.Text, err, waited)
		}
	}
	for wire, want := range map[string]int{"openai": 0, "anthropic": 500} {
		server := looptest.NewServer(t, looptest.Answer{Text: "Hel", Break: "busy"}, fine)
		_, _, err := ask(t, wire, server.URL, provider.Options{Client: client()})
		refused, ok := errors.AsType[*provider.StatusError](err)
		if !ok || refused.Status != want || !strings.Contains(refused.Body, "busy") {
			t.Errorf("%s: have %v", wire, err)
		}
		if have := len(server.Asked()); have != 1 {
			t.Errorf("%s: asked %d times, though it had begun to answer", wire, have)
		}
	}
}

func TestNoKey(t *testing.T) {
	for name, variable := range map[string]string{
		"openai": openai.KeyVariable, "anthropic": anthropic.KeyVariable} {
		t.Setenv(variable, "")
		asked := 0
		opts := &provider.Options{Client: &http.Client{Transport: roundTrip(
			func(*http.Request) (*http.Response, error) { asked++; return nil, io.EOF })}}
		var err error
		if name == "openai" {
			_, err = openai.New("m", opts)
		} else {
			_, err = anthropic.New("m", opts)
		}
		missing, ok := errors.AsType[*provider.MissingAPIKeyError](err)
		if !ok || missing.Variable != variable || asked != 0 {
			t.Errorf("%s: have %v after %d requests", name, err, asked)
		}
	}
}

func TestClosedSocket(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		_, waited, err := ask(t, wire, "http://"+address, opts)
		if _, ok := errors.AsType[*provider.HTTPError](err); !ok ||
			!errors.Is(err, syscall.ECONNREFUSED) || waited < 10*time.Second {
			t.Errorf("have %v after %v", err, waited)
		}
		if !strings.HasPrefix(err.Error(), wire+" at "+address+", asked 4 times: ") ||
			strings.Count(err.Error(), "refused") != 1 || strings.Contains(err.Error(), "/v1/") {
			t.Errorf("the text is %v", err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestErrorBodies pins how much of an error's body is kept, and that no key is in it.
func TestErrorBodies(t *testing.T) {
	const mark = provider.CutMark
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, tt := range map[string]struct{ body, want string }{
		"at the limit":        {x(2048), x(2048)},
		"past it":             {x(2049), x(2048) + mark},
		"ten megabytes":       {x(10 << 20), x(2048) + mark},
		"a cut character":     {x(2047) + "é", x(2047) + mark},
		"not UTF-8":           {"a\xff", "a\uFFFD"},
		"the key":             {"bad key " + key + "!", "bad key [key]!"},
		"the key at the cut":  {x(2040) + key, x(2040) + "[key]"},
		"a header":            {"bad secret-in-header", "bad [key]"},
		"the key, then a lot": {x(2040) + key + x(5000), x(2040) + "[key]" + "xxx" + mark},
	} {
		eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
			server := looptest.NewServer(t, looptest.Answer{Status: 400, Body: tt.body})
			opts.Headers = map[string]string{"X-More": "Token secret-in-header"}
			_, _, err := ask(t, wire, server.URL, opts)
			refused, ok := errors.AsType[*provider.StatusError](err)
			if !ok || refused.Body != tt.want {
				t.Errorf("%s: have %v", name, err)
			}
		})
	}
}

func TestStatusErrorText(t *testing.T) {
	for want, err := range map[string]provider.StatusError{
		"the provider answered with an error, status 404 (Not Found): a b": {Status: 404,
			Body: "a\x1b\nb\u202e\n"},
		"the provider answered with an error, status 529: busy": {Status: 529,
			Body: "busy"},
		"the provider answered with an error": {},
	} {
		if have := strings.Join(strings.Fields(err.Error()), " "); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}
