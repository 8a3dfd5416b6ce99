package agentloop_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/plugins"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Classes of errors: what becomes of a run.
const (
	feed = "FEED" // the model is told
	ends = "END"  // the run ends
	op   = "OP"   // an operation outside a run has it; a run would end
)

// variants has every kind of error, the way that it comes up.
var variants = []struct {
	name  string
	code  string
	class string
	err   error
}{
	{"Interchange", "interchange", op,
		&agentloop.InterchangeError{Format: "codex", Line: 3, Detail: "no such role"}},
	{"MissingApiKey", "missing_api_key", ends,
		&agentloop.MissingAPIKeyError{Variable: "OPENAI_API_KEY"}},
	{"Http", "http", ends, &agentloop.HTTPError{Err: errors.New("connection refused")}},
	{"Provider", "provider", ends, &agentloop.StatusError{Status: 404, Body: "no such model"}},
	{"Decode", "decode", ends, &agentloop.DecodeError{Err: errors.New("unexpected EOF")}},
	{"InvalidSession", "invalid_session", op,
		&agentloop.InvalidSessionError{Line: 3, Detail: "no such role"}},
	{"Sdk", "sdk", op, agentloop.ErrBusy},
	{"UnknownTool", "unknown_tool", feed,
		&agentloop.UnknownToolError{Tool: "nope", Have: []string{"add"}}},
	{"InvalidArguments, not read", "invalid_arguments", feed,
		agentloop.NewInvalidArguments("add", "they are not a JSON object")},
	{"InvalidArguments, schema", "invalid_arguments", feed, &agentloop.ToolError{Tool: "add",
		Kind: plugins.ErrInvalidInput, Err: &plugins.SchemaError{
			Problems: []plugins.Problem{{Pointer: "/n", Detail: "want an integer, have a string"}}}}},
	{"InvalidArguments, no key", "invalid_arguments", feed, &agentloop.ToolError{Tool: "pay",
		Kind: plugins.ErrMissingIdempotencyKey,
		Err:  &plugins.KeyError{Path: "order.id", Detail: "order has no field id"}}},
	{"InvalidArguments, key used", "invalid_arguments", feed,
		&plugins.CollisionError{Tool: "pay", Key: "o-1", Holder: plugins.Place{Run: "r", Position: 1}}},
	{"Tool, failed", "tool", feed, agentloop.NewToolError("add", "no numbers left")},
	{"Tool, broken", "tool", feed, &agentloop.ToolError{Tool: "add",
		Kind: plugins.ErrMalformedResult, Plugin: "math", Effect: abi.EffectRead,
		Err: &plugins.MalformedError{Name: "no_reply", Detail: "no reply", Offset: -1}}},
	{"Tool, no JSON", "tool", feed, &agentloop.ToolError{Tool: "add",
		Kind: plugins.ErrOutputSerialization, Err: errors.New("NaN at $.sum")}},
	{"Tool, key held", "tool", feed,
		&plugins.InFlightError{Tool: "pay", Key: "o-1", Holder: plugins.Place{Run: "r", Position: 1}}},
	{"MaxIterations", "max_iterations", ends, &agentloop.MaxIterationsError{N: 50}},
	{"Io", "io", ends,
		&agentloop.IOError{Err: &fs.PathError{Op: "open", Path: "s.jsonl", Err: fs.ErrNotExist}}},
	{"ContextLimitExceeded", "context_limit_exceeded", ends, &agentloop.ContextLimitError{
		ProjectedTokens: 193_064, ReserveTokens: 16_384, ContextLimit: 200_000, Model: "m-1"}},
	{"SubagentDepthExceeded", "subagent_depth_exceeded", feed,
		&agentloop.SubagentDepthError{MaxDepth: 3, AttemptedDepth: 4}},
	{"SubagentConcurrencyExceeded", "subagent_concurrency_exceeded", feed,
		&agentloop.SubagentConcurrencyError{MaxConcurrent: 4}},
	{"SubagentBackgroundPolicyMissing", "subagent_background_policy_missing", feed,
		agentloop.ErrSubagentBackgroundPolicy},
	{"SubagentDefinitionNotFound", "subagent_definition_not_found", feed,
		&agentloop.SubagentDefinitionError{Name: "poet"}},
	{"SubagentNotFound", "subagent_not_found", feed, &agentloop.SubagentNotFoundError{ID: "s-9"}},
	{"BackgroundJobConcurrencyExceeded", "background_job_concurrency_exceeded", feed,
		&agentloop.BackgroundJobConcurrencyError{MaxConcurrent: 4}},
	{"BackgroundJobNotFound", "background_job_not_found", feed,
		&agentloop.BackgroundJobNotFoundError{ID: "bg-9"}},
	{"Reduction", "reduction", op,
		&agentloop.ReductionError{ID: "r0001-abcd", Fault: reduce.ErrMismatch}},
	{"Reduction, by its tool", "reduction", feed, &agentloop.ToolError{Tool: "expand_reduction",
		Kind: plugins.ErrHandler, Effect: abi.EffectRead,
		Err: &agentloop.ReductionError{ID: "r0001-abcd", Fault: reduce.ErrMissing}}},
	{"Other", "other", ends,
		&agentloop.OtherError{Where: "model", Err: errors.New("out of ideas")}},
	{"denied", "denied", feed, &agentloop.DeniedError{Tool: "rm", Reason: "a rule forbids it"}},
	{"cancelled", "cancelled", ends,
		fmt.Errorf("the run was stopped: %w", context.Canceled)},
}

// TestVariants pins code, class and text of every variant. The text of what is fed is the model's.
func TestVariants(t *testing.T) {
	const golden = "testdata/errors.golden"
	var b strings.Builder
	for _, v := range variants {
		feeds := v.class == feed
		if code := agentloop.Code(v.err); code != v.code || agentloop.FeedsModel(v.err) != feeds {
			t.Errorf("%s: %s, feeds %v; want %s, %v", v.name, code, !feeds, v.code, feeds)
		}
		if code := agentloop.Code(fmt.Errorf("somewhere: %w", v.err)); code != v.code {
			t.Errorf("%s: wrapped, its code is %s", v.name, code)
		}
		fmt.Fprintf(&b, "%s\n  %s %s\n  %s\n", v.name, v.class, v.code, v.err)
		if feeds {
			if text := told(t, v.err); text != v.err.Error() {
				fmt.Fprintf(&b, "  the model is told: %s\n", text)
			}
		}
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

// TestCodeOf pins what is not a variant as it is, and what looks like another one.
func TestCodeOf(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		code  string
		feeds bool
	}{
		"none":           {nil, "", false},
		"unknown":        {errors.New("x"), "other", false},
		"a path":         {&fs.PathError{Op: "open", Path: "x", Err: fs.ErrExist}, "io", false},
		"a host's fault": {plugins.HostFault(errors.New("x")), "other", false},
		"a host's fault around a tool's": {
			plugins.HostFault(agentloop.NewToolError("f", "x")), "tool", false},
		"a hook that fails as a tool does": {&agentloop.OtherError{Where: "hook before a tool",
			Err: agentloop.NewToolError("f", "x")}, "other", false},
		"a hook's own refusal": {&agentloop.OtherError{Where: "approval",
			Err: &agentloop.DeniedError{Tool: "f"}}, "other", false},
		"a tool with a hook that failed": {&agentloop.ToolError{Tool: "f", Kind: plugins.ErrHandler,
			Err: &agentloop.OtherError{Where: "hook", Err: errors.New("x")}}, "tool", true},
		"a tool whose own run ended": {&agentloop.ToolError{Tool: "f", Kind: plugins.ErrHandler,
			Err: &agentloop.MaxIterationsError{N: 2}}, "tool", true},
		"a tool that was refused a subagent": {&agentloop.ToolError{Tool: "f",
			Kind: plugins.ErrHandler, Err: &agentloop.SubagentDepthError{}},
			"subagent_depth_exceeded", true},
		"a tool past its time": {&agentloop.ToolError{Tool: "f", Kind: plugins.ErrHandler,
			Err: context.DeadlineExceeded}, "tool", true},
		"a run that ended": {&agentloop.SdkError{Name: agentloop.SdkExecution,
			Err: &agentloop.MaxIterationsError{N: 2}}, "sdk", false},
		"a run that a hook ended": {&agentloop.SdkError{Name: agentloop.SdkExecution,
			Err: &agentloop.OtherError{Where: "hook", Err: errors.New("x")}}, "sdk", false},
		"a run that a tool ended": {&agentloop.SdkError{Name: agentloop.SdkExecution,
			Err: plugins.HostFault(agentloop.NewToolError("f", "x"))}, "sdk", false},
		"a hook with a loop of its own": {&agentloop.OtherError{Where: "hook",
			Err: agentloop.ErrBusy}, "other", false},
		"a tool with a loop of its own": {&agentloop.ToolError{Tool: "f", Kind: plugins.ErrHandler,
			Err: agentloop.ErrBusy}, "tool", true},
		"a stopped request": {&agentloop.HTTPError{Err: context.Canceled}, "http", false},
		"a deadline":        {context.DeadlineExceeded, "cancelled", false},
		"a kind of no name": {&agentloop.ToolError{Tool: "f"}, "tool", false},
	} {
		if code := agentloop.Code(tt.err); code != tt.code || agentloop.FeedsModel(tt.err) != tt.feeds {
			t.Errorf("%s: %q, feeds %v", name, code, !tt.feeds)
		}
	}
	if e := (&agentloop.IOError{Err: fs.ErrNotExist}); !errors.Is(e, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if code := agentloop.SdkCode(errors.New("x")); code != "" {
		t.Errorf("an error of no call of the API has the SDK code %q", code)
	}
}
