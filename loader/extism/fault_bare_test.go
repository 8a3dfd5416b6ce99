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

// timeout is what the SDK's time-out and its caller's deadline are below, in milliseconds.
const timeout = 300

// hangs are what hangs in the SDK as it is, whatever its time-out and the caller's deadline.
var hangs = map[string]func(){
	"deadline":  func() { callBare(mustBare(context.Background(), spin(), gosdk.Manifest{})) },
	"recursion": func() { callBare(mustBare(context.Background(), recurse(), timed)) },
	"start": func() {
		fmt.Println("started")
		mustBare(context.Background(), startSpin(), timed)
	},
	"heap": func() { callBare(mustBare(context.Background(), corrupt(), timed)) },
}

var timed = gosdk.Manifest{Timeout: timeout, Config: map[string]string{"key": "value"}}

// callBare calls run with a deadline.
func callBare(p *gosdk.Plugin) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout*time.Millisecond)
	defer cancel()
	fmt.Println("started")
	fmt.Println(p.CallWithContext(ctx, "run", []byte("input")))
}

// bare is the test program with bareVerb.
func bare(name string) int {
	hangs[name]()
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

// patience is how long what hangs is waited for.
const patience = 3 * timeout * time.Millisecond

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
