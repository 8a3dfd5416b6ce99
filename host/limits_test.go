package host_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// limitOf compiles and calls, and gives the limit that ended it, nil when there is a reply.
func limitOf(t *testing.T, wasm []byte, limits host.Limits, input string) *host.LimitError {
	t.Helper()
	m, err := hosttest.Engine(t).Compile(t.Context(), wasm, host.Policy{Limits: limits})
	if err == nil {
		_, err = call(t.Context(), m, input, nil)
	}
	if err == nil {
		return nil
	}
	limit, ok := errors.AsType[*host.LimitError](err)
	if !ok {
		t.Fatalf("not a limit: %v", err)
	}
	return limit
}

// Each limit that is a size lets exactly that size pass, and not one more.
func TestSizesAtTheirEdges(t *testing.T) {
	tiny := hosttest.Tiny("t")
	reply := func(size uint32) []byte {
		return hosttest.Plugin{Name: "t", Call: hosttest.ReplyRange(0, size)}.Bytes()
	}
	req := request("")
	req.DeadlineMS = host.DefaultTime.Milliseconds()
	requestSize := int64(len(abi.AppendRequest(nil, &req)))
	for _, c := range []struct {
		limit      string
		wasm       []byte
		at, past   host.Limits
		max, asked int64
	}{
		{"module", tiny, host.Limits{Module: int64(len(tiny))}, host.Limits{Module: int64(len(tiny)) - 1},
			int64(len(tiny)) - 1, int64(len(tiny))},
		{"request", tiny, host.Limits{Request: requestSize}, host.Limits{Request: requestSize - 1},
			requestSize - 1, requestSize},
		{"output", reply(1000), host.Limits{Output: 1000}, host.Limits{Output: 999}, 999, 1000},
		{"memory", hosttest.Plugin{Name: "t", Call: hosttest.Then(hosttest.Grow(4), hosttest.OK)}.Bytes(),
			host.Limits{Memory: 5 * 65536}, host.Limits{Memory: 5*65536 - 1}, 5*65536 - 1, 5 * 65536},
	} {
		if limit := limitOf(t, c.wasm, c.at, ""); limit != nil {
			t.Errorf("%s at its limit: %v", c.limit, limit)
		}
		want := host.LimitError{Limit: c.limit, Max: c.max, Asked: c.asked}
		if limit := limitOf(t, c.wasm, c.past, ""); limit == nil || *limit != want {
			t.Errorf("%s one past its limit: %+v, want %+v", c.limit, limit, want)
		}
	}
}

func TestMinimumOfMemoryAtItsEdge(t *testing.T) {
	wasm := hosttest.Plugin{Name: "t", Pages: 4}.Bytes()
	hosttest.Compile(t, hosttest.Engine(t), wasm, host.Policy{Limits: host.Limits{Memory: 4 * 65536}})
	load := refuse(t, wasm, host.Policy{Limits: host.Limits{Memory: 4*65536 - 1}})
	if load.Stage != "contract" ||
		!strings.Contains(load.Error(), "begins with 256 KiB, past the limit of 192 KiB") {
		t.Error(load)
	}
}

// A policy that makes no sense is refused, each field by name.
func TestPolicyIsChecked(t *testing.T) {
	e, wasm := hosttest.Engine(t), hosttest.Tiny("t")
	_, err := e.Compile(t.Context(), wasm, host.Policy{Limits: host.Limits{
		Memory: host.MaxMemory + 1, Time: -1, Instances: -1}})
	for _, want := range []string{"limits.memory: 1073741825 bytes (1024.0 MiB) is past the ceiling of 1 GiB",
		"limits.time: -1ns is negative", "limits.instances: -1 is negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	hosttest.Compile(t, e, wasm, host.Policy{Limits: host.Limits{
		Memory: host.MaxMemory, Time: math.MaxInt64}})
}

// What a guest prints is handed on up to the limit, and its end explains what went wrong.
func TestStdio(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	flood := hosttest.Then(hosttest.Print(1, "out"),
		hosttest.Times(100, hosttest.Print(2, line)), hosttest.Print(2, "last words\n"), hosttest.Trap)
	m := plugin(t, hosttest.Engine(t), flood, host.Policy{Limits: host.Limits{Stdio: 5050}})
	var got [2]int
	obs := &host.Observer{Output: func(stderr bool, b []byte) {
		if stderr {
			got[1] += len(b)
		} else {
			got[0] += len(b)
		}
	}}
	_, stats, err := m.Call(t.Context(), request(""), obs, nil)
	trap, ok := errors.AsType[*host.TrapError](err)
	if !ok || !strings.HasPrefix(trap.Stderr, line) ||
		!strings.HasSuffix(trap.Stderr, "x\nlast words\n") ||
		!strings.Contains(trap.Stderr, "\n[5915 bytes left out]\n") || len(trap.Stderr) > 4<<10+30 {
		t.Errorf("%v", err)
	}
	if stats.Stderr != trap.Stderr {
		t.Errorf("stats have %q", stats.Stderr)
	}
	if got != [2]int{3, 5050} {
		t.Errorf("handed on: %v", got)
	}
}

// Log lines are escaped, cut and counted: nothing a guest writes can forge a line or move a cursor.
func TestLog(t *testing.T) {
	var got []string
	obs := &host.Observer{Log: func(level abi.Level, text string) {
		got = append(got, fmt.Sprintf("%d %s", level, text))
	}}
	say := func(level abi.Level, text string) hosttest.Body { return hosttest.Log(level, text) }
	m := plugin(t, hosttest.Engine(t), hosttest.Then(
		say(abi.LevelDebug, "plain, grüße 世界"),
		say(abi.LevelError, "a\nb\x1b[31m\u202e\U000e0041\x00\xff"),
		say(200, strings.Repeat("é", 3000)),
		hosttest.OK), host.Policy{})
	if _, err := call(t.Context(), m, "", obs); err != nil {
		t.Fatal(err)
	}
	want := []string{"0 plain, grüße 世界", `3 a\nb\x1b[31m\u202e\U000e0041\x00\xff`,
		"3 " + strings.Repeat("é", 2048)}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestLogRate(t *testing.T) {
	flood := hosttest.Then(hosttest.Times(1000, hosttest.Log(abi.LevelInfo, "again")), hosttest.OK)
	m := plugin(t, hosttest.Engine(t), flood, host.Policy{Limits: host.Limits{LogRate: 5}})
	lines := 0
	began := time.Now()
	_, stats, err := m.Call(t.Context(), request(""), &host.Observer{
		Log: func(abi.Level, string) { lines++ }}, nil)
	most := 5 + int(5*time.Since(began).Seconds()) + 1
	if err != nil || lines < 5 || lines > most || lines+stats.Dropped != 1000 {
		t.Errorf("%d lines, %d dropped, %v", lines, stats.Dropped, err)
	}
}

// Reports that can be read reach the observer, in order; others are ignored.
func TestProgress(t *testing.T) {
	report := func(b []byte) hosttest.Body {
		return func(k *hosttest.Kit) asm.Instr { return k.Bytes(b) + asm.Call(k.Progress) }
	}
	half := abi.AppendProgress(nil, &abi.Progress{Done: 1, Total: 2, Message: "half"})
	long := abi.AppendProgress(nil, &abi.Progress{Message: strings.Repeat("x", 4<<10)})
	wasm := hosttest.Plugin{Name: "t", Call: hosttest.Then(report(half), report([]byte{0xc1}),
		report(long), report(half), hosttest.OK), Warmup: report(half)}.Bytes()
	m := hosttest.Compile(t, hosttest.Engine(t), wasm, host.Policy{})
	var got []abi.Progress
	obs := &host.Observer{Progress: func(p abi.Progress) { got = append(got, p) }}
	if _, err := call(t.Context(), m, "", obs); err != nil {
		t.Fatal(err)
	}
	want := abi.Progress{Done: 1, Total: 2, Message: "half"}
	if !slices.Equal(got, []abi.Progress{want, want}) {
		t.Errorf("%+v", got)
	}
	if _, err := call(t.Context(), m, "", nil); err != nil {
		t.Errorf("without an observer: %v", err)
	}
}

// A setting of the operator's is read by its key; another key is nil. An answer waits until a
// buffer is large enough, and is taken once.
func TestConfigAndResult(t *testing.T) {
	here := asm.I32Const(hosttest.Scratch)
	get := func(key string) hosttest.Body {
		return func(k *hosttest.Kit) asm.Instr {
			return asm.Seq(
				k.Bytes([]byte(key)), asm.Call(k.Config), asm.LocalSet(0),
				here, asm.I32Const(0), asm.Call(k.Result), // too small: it waits
				asm.LocalGet(0), asm.I32Ne, asm.If(asm.Unreachable),
				here, asm.LocalGet(0), asm.Call(k.Result), asm.Drop,
				here, asm.I32Const(100), asm.Call(k.Result), // taken: nothing is there
				asm.If(asm.Unreachable),
				here, asm.LocalGet(0), asm.Call(k.Output))
		}
	}
	e := hosttest.Engine(t)
	policy := host.Policy{Config: map[string]abi.Raw{"depth": abi.AppendInt(nil, 7),
		strings.Repeat("k", 256): abi.AppendInt(nil, 8),
		strings.Repeat("k", 257): abi.AppendInt(nil, 9)}}
	for key, want := range map[string]string{
		"depth": "\x07", "other": "\xc0", strings.Repeat("k", 256): "\x08",
		strings.Repeat("k", 257): "\xc0"} {
		reply, err := call(t.Context(), plugin(t, e, get(key), policy), "", nil)
		if err != nil || string(reply) != want {
			t.Errorf("%.10s: %q, %v", key, reply, err)
		}
	}
}
