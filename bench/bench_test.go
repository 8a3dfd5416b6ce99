package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the child that contenders start.
func TestMain(m *testing.M) {
	if isChild() {
		serveGRPC()
		return
	}
	if slices.Equal(os.Args[1:], []string{sdkVerb}) {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// Every contender gives the right answer, again and again, and for every size after every other.
func TestContenders(t *testing.T) {
	for _, guest := range []string{smallGuest, goGuest} {
		t.Run(guest, func(t *testing.T) {
			if guest == goGuest && testing.Short() {
				t.Skip("compiles Go guests")
			}
			a, err := newArena(guest)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
			list, err := a.contenders(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				t.Run(c.Name(), func(t *testing.T) { testContender(t, c) })
			}
			if err := closeAll(list); err != nil {
				t.Error(err)
			}
		})
	}
}

func testContender(t *testing.T, c contender) {
	for range 2 {
		for _, tool := range tools {
			for _, n := range []int{10_000, 0, 1, 31, 32, 100, 255, 256} {
				p := newPayload(tool, n)
				reply, err := c.Call(p)
				if err == nil {
					err = p.check(reply)
				}
				if err != nil {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
		}
	}
}

// A wrong answer is not taken for a right one.
func TestCheck(t *testing.T) {
	p := newPayload("upper", 100)
	for name, reply := range map[string][]byte{
		"not done":     p.json,
		"empty":        nil,
		"not JSON":     []byte("{"),
		"not a reply":  p.call.Input,
		"another tool": fmt.Appendf(nil, `{"text":%q}`, "THE QUICK"),
	} {
		if p.check(reply) == nil {
			t.Errorf("%s: taken for right", name)
		}
	}
	right, err := serveJSON("upper", p.json)
	if err != nil || p.check(right) != nil {
		t.Errorf("the right answer: %v, %v", err, p.check(right))
	}
}

func TestGates(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		gate gate
		held bool
	}{
		{atMostTimes("", 15*us, 10*us, 1.5), true},
		{atMostTimes("", 16*us, 10*us, 1.5), false},
		{atMostTimes("", 0, 10*us, 1.5), false},
		{atMostMore("", 12*us, 10*us, 2*us), true},
		{atMostMore("", 13*us, 10*us, 2*us), false},
		{timesFaster("", 1*us, 15*us, 15, false), true},
		{timesFaster("", 1*us, 14*us, 15, false), false},
		{timesFaster("", 0, 14*us, 15, false), false},
	} {
		if c.gate.held != c.held {
			t.Errorf("%+v: want held %t", c.gate, c.held)
		}
	}
}

func TestParseMetering(t *testing.T) {
	jobs := parseMetering(strings.NewReader(`goos: linux
BenchmarkMetering/tiny/base64-2  	 1	 1906 ns/op	 995.0 metered-µs	 910.0 plain-µs	 1.093 ratio
BenchmarkMetering/go/sum	 1	 1906 ns/op	 30 metered-µs	 20 plain-µs	 1.5 ratio
BenchmarkRewrite-2	 1	 1906 ns/op
PASS
`))
	want := []meteredJob{{"tiny", "base64", 910, 995, 1.093}, {"go", "sum", 20, 30, 1.5}}
	if fmt.Sprint(jobs) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", jobs, want)
	}
	gates := meteringGates(jobs)
	if len(gates) != 2 || !gates[0].held || gates[1].held {
		t.Errorf("%+v", gates)
	}
}

// The whole command, in its quick form, but for the parts that compile or run for long.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	var out, errOut bytes.Buffer
	if code := run([]string{"-quick", "-rounds=1", "-only=calls,allocs,start,parallel,stall"},
		&out, &errOut); code != 0 {
		t.Fatalf("exit %d: %s", code, errOut.Bytes())
	}
	for _, want := range []string{nameBytes, nameJSON, nameWarm, nameStoppable, nameInstantiate,
		nameOursExtism, nameOursSDK, nameExtismWarm, nameExtismFresh, nameGRPC, nameSubprocess, nameNative,
		"## small guest, echo", "## Go guest, upper", "## Start", "## Calls a second", "## Stalls",
		"gates held"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.Bytes())
		}
	}
}

func TestFlags(t *testing.T) {
	var out, errOut bytes.Buffer
	if code := run([]string{"-only=nothing"}, &out, &errOut); code != 2 ||
		!strings.Contains(errOut.String(), `there is no part "nothing"`) {
		t.Errorf("exit %d: %s", code, errOut.Bytes())
	}
	errOut.Reset()
	if code := run([]string{"-h"}, &out, &errOut); code != 0 ||
		!strings.Contains(errOut.String(), "-quick") {
		t.Errorf("exit %d: %s", code, errOut.Bytes())
	}
}
