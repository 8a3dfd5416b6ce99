package extism_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
)

// hider is a grant with a secret.
type hider struct{ secret string }

func (hider) Do(context.Context, *egress.Request) (*egress.Response, error) {
	return &egress.Response{Status: 200}, nil
}

func (h hider) Secrets() []string { return []string{h.secret} }

// Scrub takes the secret out of a text.
func (h hider) Scrub(s string) string { return strings.ReplaceAll(s, h.secret, "[hidden]") }

// What a guest wrote before it trapped is told without secrets, and without what moves a terminal.
func TestEnginesStderr(t *testing.T) {
	const says = "hush \x1b[31mred"
	g := newHandmade()
	write := g.ImportFunc("wasi_snapshot_preview1", "fd_write", "i32 i32 i32 i32 -> i32")
	g.Data(0, "\x08\x00\x00\x00"+string(rune(len(says)))+"\x00\x00\x00"+says)
	wasm := g.run(asm.I32Const(2), asm.I32Const(0), asm.I32Const(1), asm.I32Const(64), asm.Call(write),
		asm.Op(0x1a), asm.Unreachable)
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Grants.HTTP = hider{"hush"}
		_, err := ask(t.Context(), openIn(t, wasm, d, "run"), "run", "")
		if err == nil || !strings.Contains(err.Error(), "[hidden]") ||
			strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q", err)
		}
	})
}

// A secret that a guest has got hold of is in neither its answer nor its failure.
func TestEnginesAnswerWithoutSecrets(t *testing.T) {
	failing := newHandmade("alloc", "store_u8", "error_set")
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Grants.HTTP = hider{"hush"}
		out, err := ask(t.Context(), openIn(t, echo(), d, "run"), "run", "it is hush")
		if err != nil || out != `"it is [hidden]"` {
			t.Errorf("%s, %v", out, err)
		}
	})
	wasm := failing.run(failing.text(0, "no hush"), asm.LocalGet(0), failing.call("error_set"),
		asm.I32Const(1))
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Grants.HTTP = hider{"hush"}
		_, err := ask(t.Context(), openIn(t, wasm, d, "run"), "run", "")
		if err == nil || !strings.Contains(err.Error(), "no [hidden]") {
			t.Error(err)
		}
	})
}

// To exit with code 0 before there is an answer is none, and after it is a return.
func TestEnginesExit(t *testing.T) {
	for _, answers := range []bool{false, true} {
		g := newHandmade("output_set")
		exit := g.ImportFunc("wasi_snapshot_preview1", "proc_exit", "i32")
		code := asm.I32Const(0) + asm.Call(exit) + ok
		if answers {
			code = asm.I64Const(0) + asm.I64Const(0) + g.call("output_set") + code
		}
		wasm := g.run(code)
		each(t, func(t *testing.T, d loader.Decision) {
			out, err := ask(t.Context(), openIn(t, wasm, d, "run"), "run", "")
			if _, exited := errors.AsType[*host.ExitError](err); exited == answers ||
				answers && out != `""` {
				t.Errorf("answered %v: %s, %v", answers, out, err)
			}
		})
	}
}
