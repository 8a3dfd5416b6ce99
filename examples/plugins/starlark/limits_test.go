package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var f *pdk.Failure
	if !errors.As(err, &f) {
		return err.Error()
	}
	return f.Code
}

func never() bool { return false }

func TestSteps(t *testing.T) {
	const code = "n = 0\nwhile n < 1000:\n    n += 1"
	s := newScript(never)
	if _, err := s.run(code, nil); err != nil {
		t.Fatal(err)
	}
	used := s.thread.ExecutionSteps()
	for spare, want := range map[uint64]string{0: "", 1: "too_many_steps"} {
		s := newScript(never)
		s.maxSteps = used - spare
		if _, err := s.run(code, nil); codeOf(t, err) != want {
			t.Errorf("%d steps fewer than needed: %v, want code %q", spare, err, want)
		}
	}
}

func TestCallDepth(t *testing.T) {
	const code = "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nf(%d)"
	for depth, want := range map[int]string{
		maxCalls - 10:           "",
		maxCalls + 2*checkEvery: "too_deep",
	} {
		if _, err := newScript(never).run(fmt.Sprintf(code, depth), nil); codeOf(t, err) != want {
			t.Errorf("%d calls: %v, want code %q", depth, err, want)
		}
	}
}

func TestPrinted(t *testing.T) {
	for length, cut := range map[int]bool{maxPrintedBytes - 1: false, maxPrintedBytes: true} {
		s := newScript(never)
		if _, err := s.run(fmt.Sprintf("print('x' * %d)", length), nil); err != nil {
			t.Fatal(err)
		}
		if s.cut != cut {
			t.Errorf("%d bytes and a newline: cut is %t", length, s.cut)
		}
	}
}

func TestResultLimits(t *testing.T) {
	for _, test := range []struct {
		name, code string
		ok         bool
	}{
		{"most values", fmt.Sprintf("range(%d)", maxNodes-1), true},
		{"one value more", fmt.Sprintf("range(%d)", maxNodes), false},
		{"most levels", "x = 1\nfor i in range(60):\n    x = [x]\nx", true},
		{"one level more", "x = 1\nfor i in range(61):\n    x = [x]\nx", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := newScript(never).run(test.code, builtins)
			if err != nil {
				t.Fatal(err)
			}
			nodes := maxNodes
			if _, err := toWire(v, "result", maxDepth, &nodes); (err == nil) != test.ok {
				t.Errorf("error %v, want ok %t", err, test.ok)
			}
		})
	}
}

func TestArgumentLimits(t *testing.T) {
	globals := func(n int) map[string]any {
		m := make(map[string]any)
		for i := range n {
			m[fmt.Sprintf("a%d", i)] = int64(i)
		}
		return m
	}
	for _, test := range []struct {
		name    string
		globals map[string]any
		ok      bool
	}{
		{"most variables", globals(maxGlobals), true},
		{"one variable more", globals(maxGlobals + 1), false},
		{"longest name", map[string]any{strings.Repeat("a", maxName): nil}, true},
		{"one letter more", map[string]any{strings.Repeat("a", maxName+1): nil}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := predeclare(test.globals); (err == nil) != test.ok {
				t.Errorf("error %v, want ok %t", err, test.ok)
			}
		})
	}
	for size, want := range map[int]bool{maxCodeBytes: true, maxCodeBytes + 1: false} {
		code := strings.Repeat("#", size)
		if _, err := pdktest.Call("starlark", fmt.Sprintf(`{"code": %q}`, code)); (err == nil) != want {
			t.Errorf("%d bytes of code: %v", size, err)
		}
	}
}

func TestBuiltinLimits(t *testing.T) {
	for code, ok := range map[string]bool{
		fmt.Sprintf("len(str(pow(2, %d)))", maxPowBits/2):  true,
		fmt.Sprintf("pow(2, %d)", maxPowBits/2+1):          false,
		fmt.Sprintf("pow(pow(2, %d), 2, 7)", maxModBits-1): true,
		fmt.Sprintf("pow(pow(2, %d), 2, 7)", maxModBits):   false,
		fmt.Sprintf("round(1.5, %d)", maxDigits):           true,
		fmt.Sprintf("round(1.5, %d)", maxDigits+1):         false,
		"round(1.5, -1)": false,
		"pow(1, pow(10, 30)) + pow(-1, pow(10, 30)) + pow(0, 10)": true,
		"pow(2, pow(10, 30))": false,
		"pow(2, -1, 7)":       true,
		"pow(2, 1, 0)":        false,
		"pow(2, -1, 4)":       false,
		"pow(2.0, 1, 4)":      false,
		"pow('a', 2)":         false,
		"round('a')":          false,
		"sum(1)":              false,
		"sum([float('inf'), 1.0]) == float('inf')":                     true,
		"round(float('nan'), 2)":                                       true,
		"round(float('nan'))":                                          false,
		"sum([pow(2, 80), 1]) == pow(2, 80) + 1 and sum([1, 0.5]) > 1": true,
	} {
		if _, err := newScript(never).run(code, builtins); (err == nil) != ok {
			t.Errorf("%s: %v, want ok %t", code, err, ok)
		}
	}
}

// TestDeepestResult shows that what toWire lets through can be carried.
func TestDeepestResult(t *testing.T) {
	code := strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth)
	got, err := pdktest.Call("starlark", fmt.Sprintf(`{"code": %q}`, code))
	if err != nil || !strings.Contains(got, code) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestCancelled(t *testing.T) {
	host := &pdktest.Host{Cancelled: true}
	_, err := host.Call("starlark", `{"code": "while True:\n    pass"}`)
	if got := codeOf(t, err); got != "cancelled" {
		t.Errorf("code %q", got)
	}
}
