package rewrite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// randomModules is the environment variable that names a folder of modules: any, as many as there
// are.
const randomModules = "WASMAGENT_RANDOM_MODULES"

// randomTicks is the fuel that one call may use, in ticks.
const randomTicks = 10_000

// TestRandomModules runs modules that nobody wrote, as they are and rewritten, in both engines.
// Every export is called; results, what imports were called with, memory and globals must be the
// same after each call, and fuel in both engines. `.ci/long random` makes the modules.
func TestRandomModules(t *testing.T) {
	dir := os.Getenv(randomModules)
	if dir == "" {
		t.Skipf("SKIPPED: %s names no folder of modules", randomModules)
	}
	var n randomCounts
	for _, path := range wasmFiles(t, dir) {
		t.Run(filepath.Base(path), func(t *testing.T) { n.module(t, readFile(t, path)) })
	}
	t.Logf("%+v", n)
	if n.Steps < n.Modules {
		t.Error("the modules were not really run")
	}
}

// randomCounts is what became of the modules.
type randomCounts struct {
	Modules, Invalid, OverLimit, Accepted int

	Unmetered   int // compared with themselves rewritten but not metered, see dropsActive
	Differences int // modules that behave differently rewritten

	randomSteps
}

// randomSteps counts what was compared: instantiating, and calls.
type randomSteps struct {
	Steps, Traps, Imported int // Imported is calls of imports

	// Steps that ended the comparison of their module: out of fuel, out of stack, or with other
	// outcomes in the engines without rewriting, as when NaNs have other payloads.
	OutOfFuel, OutOfStack, EnginesDiffer int
}

func (n *randomCounts) module(t *testing.T, wasm []byte) {
	n.Modules++
	m := newMachine(t, engines[0].config, tickOften)
	if !accepts(m.ctx, m.Runtime, wasm) {
		n.Invalid++
		return
	}
	facts, err := Check(wasm, nil)
	if e := (*Error)(nil); errors.As(err, &e) && e.Limit != "" {
		n.OverLimit++
		t.Log(err)
		return
	} else if err != nil {
		t.Fatalf("the engine accepts what Check refuses: %v", err)
	}
	n.Accepted++
	steps, difference := compareRandom(t, wasm, facts, false)
	if difference != "" && dropsActive(facts) {
		n.Unmetered++
		steps, difference = compareRandom(t, wasm, facts, true)
	}
	n.add(steps)
	if difference != "" {
		n.Differences++
		t.Error(difference)
	}
}

func (n *randomSteps) add(m randomSteps) {
	n.Steps += m.Steps
	n.Traps += m.Traps
	n.Imported += m.Imported
	n.OutOfFuel += m.OutOfFuel
	n.OutOfStack += m.OutOfStack
	n.EnginesDiffer += m.EnginesDiffer
}

// dropsActive says whether code may use an active data segment. Once it is copied such a segment is
// empty, so the specification says, and so it is in a rewritten module. The engine keeps the bytes,
// so the plain module may differ.
func dropsActive(facts *Facts) bool {
	return facts.usesData &&
		slices.ContainsFunc(facts.data, func(s segment) bool { return !s.passive })
}

// compareRandom compares the runs of one module, until they differ or cannot go on. It compares
// with the module as it is, or with the module rewritten but unmetered.
func compareRandom(t *testing.T, wasm []byte, facts *Facts, unmetered bool) (
	n randomSteps, difference string) {

	var runs randomRuns
	for i := range runs {
		runs[i] = newRandomRun(t, engines[i/2].config, facts)
		runs[i].metered, runs[i].unmetered = i%2 == 1, i%2 == 0 && unmetered
	}
	on, difference := n.step("instantiating", runs,
		func(r *randomRun) string { return r.instantiate(wasm) })
	for round := range randomArguments {
		for _, e := range facts.Exports {
			if !on || runs[0].mod == nil {
				return n, difference
			}
			if e.Kind == Func {
				what := fmt.Sprintf("round %d, %s %v", round, e.Name, e.Type)
				on, difference = n.step(what, runs,
					func(r *randomRun) string { return r.call(e, round) })
			}
		}
	}
	return n, difference
}

// randomRuns are runs of one module: plain and rewritten in the one engine, then in the other.
type randomRuns [4]*randomRun

// step does one thing in all runs and compares. It says whether they can go on, and how they
// differ. Rewritten modules run first: what they end in time, the plain ones end, too.
func (n *randomSteps) step(what string, runs randomRuns, do func(*randomRun) string) (
	on bool, difference string) {

	var got [4]string
	var fuel [4]int64
	for _, i := range []int{1, 3, 0, 2} {
		r := runs[i]
		got[i] = do(r)
		switch {
		case r.exhausted:
			n.OutOfStack++
			return false, ""
		case r.ticks >= randomTicks:
			n.OutOfFuel++
			return false, ""
		}
		fuel[i] = r.fuel()
		got[i] += r.state()
	}
	n.Steps++
	n.Imported += len(runs[0].logged)
	if strings.HasPrefix(got[0], trapped) {
		n.Traps++
	}
	for i := 0; i < 4; i += 2 {
		if got[i] != got[i+1] {
			return false, fmt.Sprintf("%s, %s:\nplain:     %s\nrewritten: %s",
				what, engines[i/2].name, got[i], got[i+1])
		}
	}
	if got[0] != got[2] {
		n.EnginesDiffer++
		return false, ""
	}
	if fuel[1] != fuel[3] {
		return false, fmt.Sprintf("%s: fuel %d compiled, %d interpreted", what, fuel[1], fuel[3])
	}
	return true, ""
}
