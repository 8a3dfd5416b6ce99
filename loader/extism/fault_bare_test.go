package extism_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	gosdk "github.com/extism/go-sdk"
)

// bareVerb makes the test program run something that may hang in the SDK as it is.
const bareVerb = "__bare"

// hangs are what hangs in the SDK as it is, however short its time-out and the caller's deadline.
var hangs = map[string]func(ctx context.Context){
	"deadline": func(ctx context.Context) { // no time-out of its own
		p := mustBare(ctx, spin(), gosdk.Manifest{})
		started()
		p.CallWithContext(ctx, "run", nil)
	},
	"recursion": func(ctx context.Context) {
		p := mustBare(ctx, recurse(), gosdk.Manifest{Timeout: 50})
		started()
		p.CallWithContext(ctx, "run", nil)
	},
	"start": func(ctx context.Context) {
		started()
		mustBare(context.WithoutCancel(ctx), startSpin(), gosdk.Manifest{Timeout: 50})
	},
	"heap": func(ctx context.Context) {
		p := mustBare(ctx, corrupt(), gosdk.Manifest{Timeout: 50, Config: map[string]string{"key": "x"}})
		started()
		p.CallWithContext(ctx, "run", []byte("input"))
	},
}

func started() { fmt.Println("started") }

// bare is the test program with bareVerb.
func bare(name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	hangs[name](ctx)
	fmt.Println("ended")
	return 0
}

func newBare(ctx context.Context, wasm []byte, m gosdk.Manifest, functions ...gosdk.HostFunction) (
	*gosdk.Plugin, error) {
	m.Wasm = []gosdk.Wasm{gosdk.WasmData{Data: wasm}}
	return gosdk.NewPlugin(ctx, m, gosdk.PluginConfig{EnableWasi: true}, functions)
}

// mustBare is for a process of its own, too.
func mustBare(ctx context.Context, wasm []byte, m gosdk.Manifest) *gosdk.Plugin {
	p, err := newBare(ctx, wasm, m)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return p
}

// patience is how long the bare SDK's calls are waited for, beyond their 50 ms.
const patience = 500 * time.Millisecond

// hangsBare asserts that the SDK as it is hangs.
func hangsBare(t *testing.T, name string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], bareVerb, name)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "started" {
		t.Fatalf("the SDK as it is did not get so far: %q", said.Text())
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	for said.Scan() {
		if said.Text() == "ended" {
			mended(t, "the call ended")
		}
	}
	timer.Stop()
	cmd.Wait()
}

// mended is what a test says of a fault that the SDK no longer has.
func mended(t *testing.T, got ...any) {
	t.Helper()
	t.Errorf("the SDK as it is has no such fault any more, so what is done about it can go: %s",
		fmt.Sprintln(got...))
}
