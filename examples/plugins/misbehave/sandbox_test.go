//go:build !wasip1

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
)

// Every tool, through the real sandbox: what kind of error it is, and what caused it. A cause that
// is not listed is none. The limits are small to be reached soon.
func TestInTheSandbox(t *testing.T) {
	box := open(t, host.Limits{Time: 10 * time.Second, Memory: 32 << 20})
	for _, c := range []struct {
		tool, args string
		kind       error
		cause      string
	}{
		{"echo", `{"value":[1,18446744073709551615,0.5,"é"]}`, nil, ""},
		{"slow", `{"ms":1}`, nil, ""},
		{"log_lines", `{"count":9}`, nil, ""},
		{"progress", `{"count":9}`, nil, ""},
		{"read_stdin", `{}`, nil, ""},
		{"flood", `{"bytes":100000}`, nil, ""},
		{"sleep", `{"seconds":0}`, nil, ""},
		{"flaky", `{"succeed_at":1}`, nil, ""},
		{"echo", `{}`, plugins.ErrInvalidInput, "schema"},
		{"bad_input", `{"value":1}`, plugins.ErrInvalidInput, "guest_input"},
		{"fail", `{}`, plugins.ErrHandler, "failed"},
		{"fail_permanently", `{}`, plugins.ErrHandler, "failed"},
		{"flaky", `{}`, nil, ""}, // at the third attempt
		{"flaky", `{"succeed_at":4}`, plugins.ErrHandler, "failed"},
		{"panic", `{}`, plugins.ErrMalformedResult, "trap.unreachable"},
		{"deadlock", `{}`, plugins.ErrMalformedResult, "trap.unreachable"},
		{"trap", `{}`, plugins.ErrMalformedResult, "trap.out_of_bounds"},
		{"divide_by_zero", `{}`, plugins.ErrMalformedResult, "trap.div_by_zero"},
		{"exit", `{}`, plugins.ErrMalformedResult, "exit"},
		{"exit", `{"code":0}`, plugins.ErrMalformedResult, "exit"},
		{"no_reply", `{}`, plugins.ErrMalformedResult, "exit"},
		{"reply_then_trap", `{}`, plugins.ErrMalformedResult, "trap.out_of_bounds"},
		{"reply_then_exit", `{}`, plugins.ErrMalformedResult, "exit"},
		{"recurse", `{}`, plugins.ErrMalformedResult, "limit.memory"},
		{"allocate", `{}`, plugins.ErrMalformedResult, "limit.memory"},
		{"huge_output", `{"bytes":17000000}`, plugins.ErrMalformedResult, "limit.memory"},
		{"not_msgpack", `{}`, plugins.ErrMalformedResult, "bad_msgpack"},
		{"cut_off", `{}`, plugins.ErrMalformedResult, "bad_msgpack"},
		{"too_deep", `{}`, plugins.ErrMalformedResult, "bad_msgpack"},
		{"duplicate_keys", `{}`, plugins.ErrMalformedResult, "bad_msgpack"},
		{"empty_reply", `{}`, plugins.ErrMalformedResult, "bad_msgpack"},
		{"trailing_bytes", `{}`, plugins.ErrMalformedResult, "bad_msgpack"},
		{"no_outcome", `{}`, plugins.ErrMalformedResult, "bad_envelope"},
		{"two_outcomes", `{}`, plugins.ErrMalformedResult, "bad_envelope"},
		{"no_such_block", `{}`, plugins.ErrMalformedResult, "bad_envelope"},
		{"two_replies", `{}`, plugins.ErrMalformedResult, "contract"},
		{"wrong_output", `{}`, plugins.ErrMalformedResult, "output_schema"},
		{"not_a_number", `{}`, plugins.ErrOutputSerialization, "no_json"},
		{"non_string_key", `{}`, plugins.ErrOutputSerialization, "no_json"},
		{"not_utf8", `{}`, plugins.ErrOutputSerialization, "no_json"},
		{"cannot_encode", `{}`, plugins.ErrOutputSerialization, "guest_output"},
		{"echo", `{"value":"still here"}`, nil, ""},
	} {
		r, err := box.Call(context.Background(), c.tool, json.RawMessage(c.args))
		if !errors.Is(err, c.kind) || err != nil && plugins.CauseOf(err) != c.cause {
			t.Errorf("%s %s: %s, %v\nwant %v, %s", c.tool, c.args, r.Value, err, c.kind, c.cause)
		}
	}
}

func TestTimeLimit(t *testing.T) {
	box := open(t, host.Limits{Time: 50 * time.Millisecond})
	for _, tool := range []string{"loop", "sleep", "slow"} {
		_, err := box.Call(context.Background(), tool, json.RawMessage(`{}`))
		if !errors.Is(err, plugins.ErrHandler) || plugins.CauseOf(err) != "limit.time" ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestOutputLimit(t *testing.T) {
	box := open(t, host.Limits{Output: 1 << 20})
	const frame = len("\x81\xa2ok\xdb....") // the reply around the string
	for n, want := range map[int]string{1<<20 - frame: "", 1<<20 - frame + 1: "limit.output"} {
		args, _ := json.Marshal(bytesInput{n})
		_, err := box.Call(context.Background(), "huge_output", args)
		if (err == nil) != (want == "") || err != nil && plugins.CauseOf(err) != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// Arguments larger than the buffer that the kit guesses come whole.
func TestLargeArguments(t *testing.T) {
	box := open(t, host.Limits{})
	for _, n := range []int{1, 4000, 4096, 4097, 15_000, 1 << 20, 8 << 20} {
		args, _ := json.Marshal(map[string]any{"value": make([]byte, n)})
		r, err := box.Call(context.Background(), "echo", args)
		if err != nil || len(r.Value) != len(args)-len(`{"value":}`) {
			t.Errorf("%d bytes: %d come back, %v", n, len(r.Value), err)
		}
	}
}

func TestNothingIsRemembered(t *testing.T) {
	box := open(t, host.Limits{})
	for _, c := range [][2]string{{"remember", `{"secret":"s"}`}, {"recall", `{}`},
		{"remember", `{"secret":"t"}`}} {
		r, err := box.Call(context.Background(), c[0], json.RawMessage(c[1]))
		if err != nil || string(r.Value) != `{"secret":""}` {
			t.Errorf("%s: %s, %v", c[0], r.Value, err)
		}
	}
}

// open gives the tools of this plugin, compiled as users compile it. The code that the engine makes
// of it is kept between the tests.
func open(t *testing.T, limits host.Limits) *wasmagent.Toolbox {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "misbehave.wasm")
	if err := os.WriteFile(file, hosttest.GoPlugin(t, "."), 0o600); err != nil {
		t.Fatal(err)
	}
	box, err := wasmagent.Open(context.Background(), dir, &wasmagent.Options{Limits: limits,
		CacheDir: filepath.Join(shared, "cache"), StateDir: filepath.Join(shared, "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(box.Problems()...); err != nil {
		t.Fatal(err)
	}
	return box
}

var shared string // a directory for all tests

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if shared, err = os.MkdirTemp("", "misbehave"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(shared)
		return m.Run()
	}())
}
