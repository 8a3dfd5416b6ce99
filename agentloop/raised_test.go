package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/interchange"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

// came is what came of raising an error: its class, its code, and the text that whoever has it reads,
// in the class FEED the model.
type came struct{ class, code, text string }

// raised has each of the 22 variants, raised by what a user, a model or a program does. Those that
// come up in two classes are there twice.
var raised = []struct {
	variant string
	raise   func(t *testing.T) came
}{
	{"Interchange", func(t *testing.T) came {
		_, err := interchange.Read(strings.NewReader(`{"type":"user","uuid":"a","message":7}`), "")
		return refused(t, err)
	}},
	{"MissingApiKey", func(t *testing.T) came {
		t.Setenv(openai.KeyVariable, "")
		agent := sdk.New(func(context.Context, sdk.Conversation) (*sdk.Opened, error) {
			model, err := openai.New("m", nil)
			return &sdk.Opened{Loop: &agentloop.Loop{Model: model}}, err
		}, nil)
		defer agent.Close()
		_, err := agent.Start(t.Context(), nil)
		return came{ends, agentloop.Code(errors.Unwrap(err)), err.Error()} // before there is a run
	}},
	{"Http", func(t *testing.T) (c came) {
		synctest.Test(t, func(t *testing.T) { // the waits between the tries
			cut := tripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
			c = ending(t, remote(t, "http://localhost:1", &http.Client{Transport: cut}))
		})
		return c
	}},
	{"Provider", func(t *testing.T) came {
		return answered(t, looptest.Answer{Status: 404, Text: "no such model"})
	}},
	{"Decode", func(t *testing.T) came {
		return answered(t, looptest.Answer{Body: `data: {"choices`})
	}},
	{"InvalidSession", func(t *testing.T) came {
		_, err := session.Read(strings.NewReader("{}\n"))
		return refused(t, err)
	}},
	{"Sdk", func(t *testing.T) (c came) {
		loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Say("hm"))}
		for range loop.Run(t.Context(), user("go")) {
			_, err := drain(loop.Run(t.Context(), user("go, too")))
			c = refused(t, err)
			break
		}
		return c
	}},
	{"UnknownTool", func(t *testing.T) came { return fed(t, call("a", "nope", "{}")) }},
	{"InvalidArguments", func(t *testing.T) came { return fed(t, call("a", "f", `{"a":`)) }},
	{"InvalidArguments", func(t *testing.T) came { // of a tool of the loop's own
		return spawned(t, agentloop.Subagents{}, spawn("a", " "))
	}},
	{"Tool", func(t *testing.T) came { return fed(t, call("a", "f", "{}")) }},
	{"MaxIterations", func(t *testing.T) came {
		return ending(t, &agentloop.Loop{MaxTurns: 1,
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")))})
	}},
	{"Io", func(t *testing.T) came {
		dir, err := session.OpenDir(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		_, err = dir.Resume("nobody")
		return refused(t, err)
	}},
	{"Io", func(t *testing.T) came {
		full := &record{fail: func(int) error { return os.ErrClosed }}
		return ending(t, &agentloop.Loop{Model: looptest.NewModel(), Store: full})
	}},
	{"ContextLimitExceeded", func(t *testing.T) came {
		return ending(t, &agentloop.Loop{ContextLimit: 1, ModelName: "m", Model: looptest.NewModel()})
	}},
	{"SubagentDepthExceeded", func(t *testing.T) came {
		return spawned(t, agentloop.Subagents{MaxDepth: -1}, spawn("a", "t"))
	}},
	{"SubagentConcurrencyExceeded", func(t *testing.T) came {
		return spawned(t, agentloop.Subagents{MaxConcurrent: 1, Background: subagents.Parent},
			background("b", "hang"), spawn("a", "t"))
	}},
	{"SubagentBackgroundPolicyMissing", func(t *testing.T) came {
		return spawned(t, agentloop.Subagents{}, background("a", "t"))
	}},
	{"SubagentDefinitionNotFound", func(t *testing.T) came {
		return spawned(t, agentloop.Subagents{}, call("a", agentloop.SpawnSubagent,
			`{"task":"t","agent_type":"poet"}`))
	}},
	{"SubagentNotFound", func(t *testing.T) came {
		return spawned(t, agentloop.Subagents{}, status("a", "s9"))
	}},
	{"BackgroundJobConcurrencyExceeded", func(t *testing.T) came {
		loop := withJobs(t, &agentloop.Loop{Tools: registry(t, reads("slow", untilLeft)),
			Jobs: &jobs.Options{MaxConcurrent: 1}})
		begins(t, loop, "slow", "{}")
		return whatWasTold(t, does(t, loop, "background_exec", `{"tool":"slow"}`))
	}},
	{"BackgroundJobNotFound", func(t *testing.T) came {
		return whatWasTold(t, does(t, withJobs(t, &agentloop.Loop{}), "background_kill", `{"id":"bg-0-0"}`))
	}},
	{"Reduction", func(t *testing.T) came {
		loop, _ := reducedLoop(t)
		log := loop.Reductions()
		other := &agentloop.Loop{Model: looptest.NewModel()}
		if err := other.Restore([]message.Message{user("another conversation")}); err != nil {
			t.Fatal(err)
		}
		return refused(t, other.RestoreReductions(log))
	}},
	{"Reduction", func(t *testing.T) came {
		loop, model := reducedLoop(t)
		model.Add(looptest.Call(call("x", "expand_reduction", `{"id":"r9999-0000"}`)), looptest.Say("ok"))
		end(t, loop.Run(t.Context(), user("go on")))
		all := results(loop.History())
		return whatWasTold(t, all[len(all)-1])
	}},
	{"Other", func(t *testing.T) came {
		return ending(t, &agentloop.Loop{Model: looptest.NewModel(looptest.Fail(errors.New("out")))})
	}},
}

// passing is what differs from run to run in a text.
var passing = regexp.MustCompile(`127\.0\.0\.1:\d+|/[^ :]*/001|r\d{4}-[0-9a-f]{4}`)

// TestRaised raises every variant by real behaviour, in each class that it comes up in, and pins its
// code and its text.
func TestRaised(t *testing.T) {
	const golden = "testdata/raised.golden"
	classes := map[string]string{} // by name, and by name and class
	for _, v := range variants {
		name, _, _ := strings.Cut(v.name, ",")
		if name != "denied" && name != "cancelled" { // no variants of the contract's
			classes[name], classes[name+v.class] = v.code, v.code
		}
	}
	var b strings.Builder
	come := map[string]bool{}
	for _, r := range raised {
		t.Run(r.variant, func(t *testing.T) {
			c := r.raise(t)
			if c.code != classes[r.variant] || c.text == "" {
				t.Errorf("have %+v, want the code %s", c, classes[r.variant])
			}
			fmt.Fprintf(&b, "%s\n  %s %s\n  %s\n", r.variant, c.class, c.code,
				passing.ReplaceAllString(c.text, "…"))
		})
		come[r.variant] = true
	}
	for _, v := range variants {
		if name, _, _ := strings.Cut(v.name, ","); classes[name] != "" && !come[name] {
			t.Errorf("nothing raises %s", name)
		}
	}
	if len(come) != 22 {
		t.Errorf("there are %d variants", len(come))
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("have\n%s\nwant\n%s", b.String(), want)
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
func answered(t *testing.T, a looptest.Answer) came {
	server := looptest.NewServer(t, a)
	transport := &http.Transport{DisableKeepAlives: true} // which leaves nothing behind
	return ending(t, remote(t, server.URL+"/v1", &http.Client{Transport: transport}))
}

// refused is an error of an operation outside a run.
func refused(t *testing.T, err error) came {
	t.Helper()
	if err == nil || agentloop.FeedsModel(err) {
		t.Fatalf("it is no error, or a model would be told: %v", err)
	}
	return came{op, agentloop.Code(err), err.Error()}
}

// ending is the error that a run ends with.
func ending(t *testing.T, loop *agentloop.Loop) came {
	t.Helper()
	_, err := drain(loop.Run(t.Context(), user("go")))
	if err == nil || agentloop.FeedsModel(err) {
		t.Fatalf("the run has no error, or a model would be told: %v", err)
	}
	return came{ends, agentloop.Code(err), err.Error()}
}

// whatWasTold is what a model was told.
func whatWasTold(t *testing.T, r message.Result) came {
	t.Helper()
	if r.Outcome != message.Error {
		t.Errorf("%+v", r)
	}
	return came{feed, r.Code, r.Text}
}

// fed is what a model is told of a call, when f fails; the run goes on.
func fed(t *testing.T, c message.Call) came {
	t.Helper()
	loop := &agentloop.Loop{Tools: registry(t, reads("f", fails(errors.New("broken")))),
		Model: looptest.NewModel(looptest.Call(c), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	return whatWasTold(t, results(loop.History())[0])
}

// spawned is what a model is told of its last call, where it may have subagents.
func spawned(t *testing.T, s agentloop.Subagents, calls ...message.Call) came {
	t.Helper()
	hang := looptest.Say("late")
	hang.Wait = make(chan struct{})
	loop := &agentloop.Loop{Subagents: &s, Model: cast{"hang": looptest.NewModel(hang),
		"go": looptest.NewModel(looptest.Call(calls...), looptest.Say("ok"))}}
	end(t, loop.Run(t.Context(), user("go")))
	closed(t, loop)
	list := results(loop.History())
	return whatWasTold(t, list[len(list)-1])
}

// reducedLoop is one that has shown its model less than there was.
func reducedLoop(t *testing.T) (*agentloop.Loop, *looptest.Model) {
	t.Helper()
	tool, _ := numbered("long", 10_000)
	model := asks("long", 3)
	loop := &agentloop.Loop{Model: model, Tools: registry(t, tool), Reduction: &agentloop.Reduction{}}
	end(t, loop.Run(t.Context(), user("go")))
	return loop, model
}
