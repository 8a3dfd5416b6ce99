package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/internal/tomlfile"
)

// Each limit of a value is passed at the edge, and refused one past it.
func TestValueLimits(t *testing.T) {
	x := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	list := func(n int) string { return "[" + strings.Repeat(`"jq",`, n) + "]" }
	name := func(n int) string { return strings.Repeat("n", n) }
	values := func(n int) string {
		var b strings.Builder
		for i := range n - 1 {
			fmt.Fprintf(&b, "provider.context_limits.m%d = 1\n", i)
		}
		return b.String() + "core.approvals = 'never'"
	}
	dots := func(n int) string {
		return "# " + strings.Repeat(".", n) + "\ncore.system = 1.5 # " + strings.Repeat("[", n)
	}
	for what, in := range map[string][2]string{
		"the system prompt": {"core.system = " + x(64<<10), "core.system = " + x(64<<10+1)},
		"a header":          {"provider.headers.h = " + x(8<<10), "provider.headers.h = " + x(8<<10+1)},
		"a model":           {"provider.model = " + x(200), "provider.model = " + x(201)},
		"a name": {"provider.headers." + name(200) + " = 'x'",
			"provider.headers." + name(201) + " = 'x'"},
		"a name before a key": {"provider.prices." + name(200) + ".input = 1",
			"provider.prices." + name(201) + ".input = 1"},
		"a list": {"tools.allow = " + list(1000), "tools.allow = " + list(1001)},
		"a tool": {"tools.allow = ['" + name(64) + "']",
			"tools.allow = ['" + name(65) + "']"},
		"a tool's beginning": {"tools.allow = ['" + name(63) + "*']",
			"tools.allow = ['" + name(64) + "*']"},
		"a variable":       {"provider.key_env = " + x(200), "provider.key_env = " + x(201)},
		"a count":          {"core.max_iterations = 10000", "core.max_iterations = 10001"},
		"a count's least":  {"core.max_iterations = 1", "core.max_iterations = 0"},
		"a size":           {"core.output_cap = '4 MiB'", "core.output_cap = '4194305 B'"},
		"a size's least":   {"core.output_cap = '1KiB'", "core.output_cap = '1023B'"},
		"dollars":          {"budgets.dollars = 1e6", "budgets.dollars = 1_000_000.01"},
		"a time":           {"budgets.wall_time = '720h'", "budgets.wall_time = '720h1ms'"},
		"a time's least":   {"budgets.wall_time = '1s'", "budgets.wall_time = '0.999s'"},
		"values":           {values(maxValues), values(maxValues + 1)},
		"what is no depth": {"core.system = " + `"` + strings.Repeat("[.", 20) + `"`, dots(20)},
	} {
		o := options(t, t.TempDir())
		write(t, o.File, in[0])
		if _, err := Load(o); err != nil {
			t.Errorf("%s at its limit: %v", what, err)
		}
		write(t, o.File, in[1])
		if _, err := Load(o); err == nil {
			t.Errorf("%s past its limit is taken", what)
		}
	}
}

func TestDepth(t *testing.T) {
	deep := strings.Repeat("a.", tomlfile.MaxDepth+1) + "a = 1"
	o := options(t, t.TempDir())
	write(t, filepath.Join(o.Dir, ProjectFile), deep)
	_, err := Load(o)
	want := ProjectFile + ":1: more than 8 brackets or dots within each other"
	if !strings.HasSuffix(errorText(err), want) {
		t.Errorf("have %v", err)
	}
}

// What a stranger's file can make of its size is bounded: the worst of these took minutes, and
// gigabytes, before there was a limit of depth and of values.
func BenchmarkWorstFile(b *testing.B) {
	var many strings.Builder
	many.WriteString("[provider.context_limits]\n")
	for i := 0; many.Len() < MaxProjectFile-20; i++ {
		fmt.Fprintf(&many, "k%d=1\n", i)
	}
	for name, in := range map[string]string{
		"dots":   strings.Repeat("a.", MaxProjectFile/2-8) + "a=1",
		"values": many.String(),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _, _ = parseFile("x", in)
			}
		})
	}
}
