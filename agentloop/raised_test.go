package agentloop_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/interchange"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// raised has the variants that come up now, each by what a user or a model would do, and gives the
// code of the error, or of the result that the model is told of.
var raised = map[string]func(t *testing.T) string{
	"Interchange": func(t *testing.T) string {
		_, err := interchange.Read(strings.NewReader(`{"type":"user","uuid":"a","message":7}`), "")
		return agentloop.Code(err)
	},
	"MissingApiKey": func(t *testing.T) string {
		t.Setenv(openai.KeyVariable, "")
		_, err := openai.New("m", nil)
		return agentloop.Code(err)
	},
	"Http": func(t *testing.T) (code string) {
		synctest.Test(t, func(t *testing.T) { // the waits between the tries
			cut := tripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
			code = ending(t, remote(t, "http://localhost:1", &http.Client{Transport: cut}))
		})
		return code
	},
	"Provider": func(t *testing.T) string {
		return answered(t, looptest.Answer{Status: 404, Text: "no such model"})
	},
	"Decode": func(t *testing.T) string {
		return answered(t, looptest.Answer{Body: `data: {"choices`})
	},
	"InvalidSession": func(t *testing.T) string {
		_, err := session.Read(strings.NewReader("{}\n"))
		return agentloop.Code(err)
	},
	"Sdk": func(t *testing.T) (code string) {
		loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Say("hm"))}
		for range loop.Run(t.Context(), user("go")) {
			_, err := drain(loop.Run(t.Context(), user("go, too")))
			code = agentloop.Code(err)
			break
		}
		return code
	},
	"UnknownTool":      func(t *testing.T) string { return fed(t, call("a", "nope", "{}")) },
	"InvalidArguments": func(t *testing.T) string { return fed(t, call("a", "f", `{"a":`)) },
	"Tool":             func(t *testing.T) string { return fed(t, call("a", "f", "{}")) },
	"MaxIterations": func(t *testing.T) string {
		return ending(t, &agentloop.Loop{MaxTurns: 1,
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")))})
	},
	"Io": func(t *testing.T) string {
		dir, err := session.OpenDir(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		_, err = dir.Resume("nobody")
		return agentloop.Code(err)
	},
	"ContextLimitExceeded": func(t *testing.T) string {
		return ending(t, &agentloop.Loop{ContextLimit: 1, Model: looptest.NewModel()})
	},
	"Other": func(t *testing.T) string {
		return ending(t, &agentloop.Loop{Model: looptest.NewModel(looptest.Fail(errors.New("out")))})
	},
}

// later names the variants whose behaviour does not exist yet.
var later = []string{"SubagentDepthExceeded", "SubagentConcurrencyExceeded",
	"SubagentBackgroundPolicyMissing", "SubagentDefinitionNotFound", "SubagentNotFound",
	"BackgroundJobConcurrencyExceeded", "BackgroundJobNotFound", "Reduction"}

// TestRaised raises every variant by real behaviour, and accounts for those that do not come up
// yet.
func TestRaised(t *testing.T) {
	done := map[string]bool{}
	for _, v := range variants {
		name, _, more := strings.Cut(v.name, ",")
		if more && done[name] {
			continue
		}
		done[name] = true
		if raise := raised[name]; raise != nil {
			t.Run(name, func(t *testing.T) {
				if code := raise(t); code != v.code {
					t.Errorf("have %q, want %s", code, v.code)
				}
			})
		} else if !slices.Contains(later, name) && name != "denied" && name != "cancelled" {
			t.Errorf("nothing raises %s", name)
		}
	}
	if n := len(raised) + len(later); n != 22 {
		t.Errorf("there are %d variants", n)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// remote is a loop whose model is at a URL.
func remote(t *testing.T, url string, client *http.Client) *agentloop.Loop {
	t.Helper()
	model, err := openai.New("m", &provider.Options{BaseURL: url, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return &agentloop.Loop{Model: model}
}

// answered is how a run ends whose model answers so.
func answered(t *testing.T, a looptest.Answer) string {
	server := looptest.NewServer(t, a)
	transport := &http.Transport{DisableKeepAlives: true} // which leaves nothing behind
	return ending(t, remote(t, server.URL+"/v1", &http.Client{Transport: transport}))
}

// ending is the code of the error that a run ends with.
func ending(t *testing.T, loop *agentloop.Loop) string {
	t.Helper()
	_, err := drain(loop.Run(t.Context(), user("go")))
	if agentloop.FeedsModel(err) {
		t.Errorf("a model would be told: %v", err)
	}
	return agentloop.Code(err)
}

// fed is the code of what a model is told of a call, when f fails; the run goes on.
func fed(t *testing.T, c message.Call) string {
	t.Helper()
	loop := &agentloop.Loop{Tools: registry(t, reads("f", fails(errors.New("broken")))),
		Model: looptest.NewModel(looptest.Call(c), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	r := results(loop.History())[0]
	if r.Outcome != message.Error || r.Text == "" {
		t.Errorf("%+v", r)
	}
	return r.Code
}
