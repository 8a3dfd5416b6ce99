package host

import (
	"os"
	"runtime"

	"github.com/wasmagent/wasmagent/host/internal/rewrite"
	"github.com/wasmagent/wasmagent/host/internal/snapshot"
)

// Facts is what a module says of itself before a byte of it runs.
type Facts struct {
	Imports  []Import
	Exports  []Export
	Memories []Memory // the one it defines, if it does
	Start    bool     // it has a start section
	Road     Road     // how its calls get their fresh state
	Blockers []string // why its calls cannot be restored from a snapshot; none: they can
}

// Import is something a module wants from its host. Kind is func, table, memory, global or tag;
// Type is a function's signature, such as "(i32, i32) -> (i32)".
type Import struct{ Module, Name, Kind, Type string }

// Export is something a module offers, in the same words.
type Export struct{ Name, Kind, Type string }

// Memory is a linear memory in pages of 64 KiB. Max is 0 when the module declares none.
type Memory struct{ Min, Max uint64 }

// Inspect reads a module's imports, exports and memory. It compiles and runs nothing. The error is
// that of Compile's first stages but the contract: whether the module can be a plugin is Compile's
// to say.
func Inspect(wasm []byte) (*Facts, error) {
	f, err := preflight(wasm)
	if err != nil {
		return nil, err
	}
	return factsOf(f), nil
}

func factsOf(f *rewrite.Facts) *Facts {
	facts := &Facts{Start: f.Start >= 0, Road: Restored, Blockers: f.Blockers()}
	if len(facts.Blockers) > 0 {
		facts.Road = Instantiated
	}
	for _, im := range f.Imports {
		facts.Imports = append(facts.Imports,
			Import{im.Module, im.Name, im.Kind.String(), signature(im.Kind, im.Type)})
	}
	for _, ex := range f.Exports {
		facts.Exports = append(facts.Exports,
			Export{ex.Name, ex.Kind.String(), signature(ex.Kind, ex.Type)})
	}
	if m := f.Memory; m != nil && !m.Imported {
		memory := Memory{Min: m.Min}
		if m.Bounded {
			memory.Max = m.Max
		}
		facts.Memories = []Memory{memory}
	}
	return facts
}

// EngineFacts are what an engine works with on this machine, and the limits that are in force.
type EngineFacts struct {
	Engine    string // the WebAssembly engine and its version
	System    string // operating system and processor, such as linux/amd64
	PageSize  int    // the system's, in bytes
	Restore   string // how what a call wrote to a larger memory is found: scan, pagemap, drop or copy
	CacheDir  string // of compiled code; "" when none is kept
	Running   int    // guests that run at a time
	Compiling int    // modules compiled at a time in this process
	Children  int    // and in processes of their own; 0 without Config.CompileCommand
	Memory    int64  // bytes that all guests may have together
	Limits    Limits // of a policy that does not say otherwise
}

// Facts tells what the engine works with.
func (e *Engine) Facts() EngineFacts {
	limits, _ := Limits{}.withDefaults() // cannot fail
	f := EngineFacts{
		Engine:    engineVersion,
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		PageSize:  os.Getpagesize(),
		Restore:   snapshot.Best().String(),
		Running:   cap(e.turns.held),
		Compiling: cap(e.workers),
		Memory:    e.budget.max,
		Limits:    limits,
	}
	if e.disk != nil {
		f.CacheDir = e.disk.entries
	}
	if e.child != nil {
		f.Children = cap(e.children)
	}
	return f
}

// preflight checks a module's structure, under limits that no policy changes but its size.
func preflight(wasm []byte) (*rewrite.Facts, error) {
	facts, err := rewrite.Check(wasm, nil)
	if err != nil {
		return nil, &LoadError{Stage: stagePreflight, Err: err}
	}
	return facts, nil
}

func signature(kind rewrite.Kind, t rewrite.FuncType) string {
	if kind != rewrite.Func {
		return ""
	}
	return t.String()
}
