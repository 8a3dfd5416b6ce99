package hosttest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTiny(t *testing.T) {
	e := hosttest.Engine(t)
	m := hosttest.Compile(t, e, hosttest.Tiny("two", "a", "b"), host.Policy{})
	tools := m.Manifest().Tools
	if m.Manifest().Name != "two" || len(tools) != 2 || tools[0].Name != "a" || tools[1].Name != "b" {
		t.Errorf("%+v", m.Manifest())
	}
	for _, value := range []abi.Raw{
		abi.AppendNil(nil), abi.AppendString(nil, "input"), abi.AppendMapHeader(nil, 0),
		abi.AppendBin(nil, bytes.Repeat([]byte("\xa5input"), 20_000)),
	} {
		req := abi.Request{Tool: "a", CallID: "x", Attempt: 1, IdempotencyKey: "k", Input: value}
		b, _, err := m.Call(t.Context(), req, nil, nil)
		want := abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK, Value: value})
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("%.20q: %.20q, %v", value, b, err)
		}
	}
	if bytes.Equal(hosttest.Tiny("a"), hosttest.Tiny("b")) {
		t.Error("two names, one module")
	}
}

func TestPad(t *testing.T) {
	bare := len(hosttest.Plugin{Name: "p"}.Bytes())
	padded := hosttest.Plugin{Name: "p", Pad: 3 << 20, Stamp: true}.Bytes()
	if len(padded) < bare+3<<20 || len(padded) > bare+3<<20+200 {
		t.Errorf("%d bytes, %d without padding", len(padded), bare)
	}
	hosttest.Compile(t, hosttest.Engine(t), padded, host.Policy{})
}

// However many tests ask for a plugin, it is built and read once.
func TestGoPlugin(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/p\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() {}\n")
	wasm := hosttest.GoPlugin(t, dir)
	facts, err := host.Inspect(wasm)
	if err != nil || len(facts.Memories) != 1 {
		t.Errorf("%+v, %v", facts, err)
	}
	again := hosttest.GoPlugin(t, dir)
	if &again[0] != &wasm[0] {
		t.Error("built, or read, twice")
	}
}
