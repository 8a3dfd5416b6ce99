package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/build"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// The guests. The small one is assembled here and is what a C compiler would make of a few lines;
// the Go ones are compiled by the local tool chain.
const (
	smallGuest = "small guest"
	goGuest    = "Go guest"
)

// guestBytes makes a guest: its module for wasmagent and bare engines, and the one for extism.
func guestBytes(guest string) (own, extism []byte, err error) {
	if guest == smallGuest {
		return smallPlugin("bench"), extismSmall(), nil
	}
	if own, err = pdkGuest(); err != nil {
		return nil, nil, err
	}
	extism, err = extismGuest()
	return own, extism, err
}

// The guests that are compiled, each once a run.
var (
	pdkGuest    = sync.OnceValues(func() ([]byte, error) { return compileGo("pdk") })
	extismGuest = sync.OnceValues(func() ([]byte, error) { return compileGo("extism") })
	nativeChild = sync.OnceValues(func() (string, error) { return compileNative("native") })
)

// compileGo compiles the plugin in guests/name into the user's cache.
func compileGo(name string) ([]byte, error) {
	out, err := cacheFile(name + ".wasm")
	if err != nil {
		return nil, err
	}
	target := build.Target{Dir: filepath.Join("guests", name), Out: out}
	if err := build.Compile(context.Background(), target, nil); err != nil {
		return nil, fmt.Errorf("guest %s (run this in bench/): %w", name, err)
	}
	return os.ReadFile(out)
}

// compileNative compiles the program in guests/name for this machine, and tells where it lies.
func compileNative(name string) (string, error) {
	out, err := cacheFile(name)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", out, "./"+filepath.Join("guests", name))
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("program %s (run this in bench/): %w\n%s", name, err, said)
	}
	return out, nil
}

func cacheFile(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "wasmagent-bench")
	return filepath.Join(dir, name), os.MkdirAll(dir, 0o700)
}

// smallPlugin has both tools, in about 1 KB.
func smallPlugin(name string) []byte {
	p := hosttest.Plugin{Name: name, Call: serve, Pages: guestPages}
	for _, t := range tools {
		p.Tools = append(p.Tools, abi.ToolSpec{Name: t, Description: "A tool of the benchmark."})
	}
	return p.Bytes()
}

const (
	guestPages  = 2 // of 64 KiB
	requestAt   = 4 << 10
	requestRoom = 64 << 10
	toolAt      = 10 // where a request has the first letter of its tool
	keyBytes    = 6  // of the key "input"
	headBytes   = 4  // of a reply's {"ok":
)

// serve answers a request whose last key is input, {"text": …}: it writes the reply's head before
// the value, and for upper it goes over the text first.
func serve(k *hosttest.Kit) asm.Instr {
	const size, at = 0, 1
	return asm.Seq(
		asm.I32Const(requestAt), asm.I32Const(requestRoom), asm.Call(k.Input), asm.LocalSet(size),
		asm.I32Const(requestAt), asm.LocalSet(at),
		asm.Block(asm.Loop( // until the bytes at hand are a5 'i' 'n' 'p' and 'u' 't'
			asm.LocalGet(at), asm.I32Load(0), asm.I32Const(0x706e69a5), asm.I32Eq,
			asm.LocalGet(at), asm.I32Load(2), asm.I32Const(0x7475706e), asm.I32Eq,
			asm.I32And, asm.BrIf(1),
			asm.LocalGet(at), asm.I32Const(1), asm.I32Add, asm.LocalSet(at), asm.Br(0))),
		asm.I32Const(requestAt), asm.I32Load8U(toolAt), asm.I32Const('u'), asm.I32Eq,
		asm.If(upperCase(size, at)),
		asm.LocalGet(at), asm.I32Const(0x6b6fa281), asm.I32Store(keyBytes-headBytes), // 81 a2 'o' 'k'
		asm.LocalGet(at), asm.I32Const(keyBytes-headBytes), asm.I32Add,
		asm.LocalGet(size), asm.I32Const(requestAt+headBytes-keyBytes), asm.I32Add,
		asm.LocalGet(at), asm.I32Sub,
		asm.Call(k.Output))
}

// upperCase turns the letters of the text, from behind its header to the request's end, into
// capitals. It takes the locals 2 and 3.
func upperCase(size, at uint32) asm.Instr {
	const header = keyBytes + 6 // behind {"text":
	const next, char = 2, 3
	return asm.Seq(
		asm.LocalGet(at), asm.I32Const(header+1), asm.I32Add, asm.LocalSet(next),
		asm.LocalGet(at), asm.I32Load8U(header), asm.LocalTee(char),
		asm.I32Const(0xd9), asm.I32GeU, // d9, da, db: a length of 1, 2 or 4 bytes follows
		asm.If(asm.LocalGet(next), asm.I32Const(1),
			asm.LocalGet(char), asm.I32Const(0xd9), asm.I32Sub, asm.I32Shl,
			asm.I32Add, asm.LocalSet(next)),
		asm.Loop(
			asm.LocalGet(next), asm.I32Load8U(0), asm.I32Const('a'), asm.I32Sub, asm.LocalTee(char),
			asm.I32Const(26), asm.I32LtU,
			asm.If(asm.LocalGet(next), asm.LocalGet(char), asm.I32Const('A'), asm.I32Add,
				asm.I32Store8(0)),
			asm.LocalGet(next), asm.I32Const(1), asm.I32Add, asm.LocalTee(next),
			asm.LocalGet(size), asm.I32Const(requestAt), asm.I32Add, asm.I32LtU, asm.BrIf(0)))
}
