package extism_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/loader/wasicmd"
)

// withManifest opens a module that a manifest with some more words names.
func withManifest(t *testing.T, wasm []byte, words string, d loader.Decision) loader.Plugin {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "code.wasm", wasm)
	opened, err := loader.OpenFile(t.Context(),
		write(t, dir, "p.extism.json", []byte(`{"wasm":[{"path":"code.wasm"}],`+words+`}`)),
		&loader.Options{StateDir: t.TempDir(), CacheDir: t.TempDir(), Policies: everybody{d},
			Kinds: []loader.Kind{extism.NewHyper(), extism.New(nil), wasicmd.New()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened.Plugins()[0]
}

// program is a command, as a program for Extism can be.
func program() []byte {
	m := asm.New()
	m.ExportMemory("memory", m.Memory(1))
	m.Export("_start", m.Func("", ""))
	return m.Bytes()
}

// What a manifest says is not lost on a kind that knows nothing of manifests.
func TestManifestOfACommand(t *testing.T) {
	const wish = `"allowed_hosts":["a.test"]`
	p := withManifest(t, program(), wish, loader.Decision{Functions: []loader.Function{
		{Tool: abi.ToolSpec{Name: "run"}, Export: "_start"}}})
	if _, ok := errors.AsType[*loader.NotAllowedError](p.Err); p.Kind != "extism" || !ok {
		t.Errorf("of the kind %q: %v, want one of extism that is not allowed", p.Kind, p.Err)
	}
	for _, kind := range []string{"command", "wasmagent"} {
		p := withManifest(t, program(), wish, loader.Decision{Kind: kind})
		if p.Err == nil || !strings.Contains(p.Err.Error(), "which cannot read one") {
			t.Errorf("as the kind %s: %v", kind, p.Err)
		}
	}
}

// Plugins of hyper-mcp have manifests, too: what those wish for is a need, and lower limits count.
func TestManifestOfHyper(t *testing.T) {
	wasm := servlet(`{"tools":[{"name":"say"}]}`, `{"content":[{"type":"text","text":"hi"}]}`)
	p := withManifest(t, wasm, `"allowed_hosts":["a.test"]`, loader.Decision{})
	denied, ok := errors.AsType[*loader.NotAllowedError](p.Err)
	if p.Kind != "hyper-mcp" || !ok || fmt.Sprint(denied.Needs) != "[http a.test]" {
		t.Errorf("of the kind %q: %v, want it not allowed a.test", p.Kind, p.Err)
	}
	var d loader.Decision
	grantWeb(&d.Host)
	if p := withManifest(t, wasm, `"allowed_hosts":["a.test"]`, d); p.Err != nil {
		t.Error(p.Err)
	}
	p = withManifest(t, wasm, `"memory":{"max_pages":1}`, loader.Decision{})
	if p.Err == nil || !strings.Contains(p.Err.Error(), "past the limit of 64 KiB (limits.memory)") {
		t.Errorf("%v, want the limit of a page", p.Err)
	}
	p = withManifest(t, wasm, `"wasm":[{"path":"code.wasm"},{"path":"code.wasm"}]`, loader.Decision{})
	if p.Err == nil || !strings.Contains(p.Err.Error(), "links several modules") {
		t.Errorf("linked: %v", p.Err)
	}
}

// custom is a custom section of less than 128 bytes.
func custom(name, text string) string {
	body := string(rune(len(name))) + name + text
	return "\x00" + string(rune(len(body))) + body
}

// A module that comes with a manifest's section of its own does not speak for the manifest.
func TestManifestOverItsModules(t *testing.T) {
	wasm := append(guest(nil), custom("extism.manifest", `{"wasm":[{"name":"x"}]}`)...)
	d := loader.Decision{Functions: functionsOf("ok")}
	p := withManifest(t, wasm, `"allowed_hosts":["a.test"]`, d)
	if _, ok := errors.AsType[*loader.NotAllowedError](p.Err); !ok {
		t.Errorf("%v, want what the manifest wishes for", p.Err)
	}
	for _, engine := range engines {
		d.Engine = engine
		wasm := append(guest(nil), custom("extism.manifest", `{"timeout_ms":9}`)...)
		p := openFile(t, write(t, t.TempDir(), "p.wasm", wasm),
			extism.New(&extism.Options{SDKCommand: sdkCommand()}), d).Plugins()[0]
		if p.Err == nil || !strings.Contains(p.Err.Error(), "names 1 to 16 modules (wasm), and this 0") {
			t.Errorf("%s: %v", engine, p.Err)
		}
	}
}

// A host is wished for once, and what is no host is one wish.
func TestManifestsHosts(t *testing.T) {
	for hosts, want := range map[string]string{
		`["B.test","a.test","b.test","a.test"]`: "[http a.test http b.test]",
		`["*","a.*","*.*","a.test"]`:            "[http http a.test]",
	} {
		p := withManifest(t, guest(nil), `"allowed_hosts":`+hosts,
			loader.Decision{Functions: functionsOf("ok")})
		denied, ok := errors.AsType[*loader.NotAllowedError](p.Err)
		if !ok || fmt.Sprint(denied.Needs) != want {
			t.Errorf("%s: %v, want %s", hosts, p.Err, want)
		}
	}
}

// Of many functions an error tells some, and a name that cannot be shown names none.
func TestFunctionsThatAreTold(t *testing.T) {
	m := asm.New()
	m.ImportFunc("extism:host/env", "alloc", "i64 -> i64")
	m.ExportMemory("memory", m.Memory(1))
	f := m.Func("-> i32", "", asm.I32Const(0))
	for i := range 30 {
		m.Export(fmt.Sprintf("f%02d", i), f)
	}
	m.Export("b\x1b[31md", f)
	m.Export(strings.Repeat("x", 81), f)
	dir := t.TempDir()
	open := func(functions ...loader.Function) error {
		return openFile(t, write(t, dir, "p.wasm", m.Bytes()), extism.New(nil),
			loader.Decision{Functions: functions}).Plugins()[0].Err
	}
	if err := open(); err == nil || !strings.HasSuffix(err.Error(), "f18, f19 and 10 more") {
		t.Error(err)
	}
	for _, export := range []string{"b\x1b[31md", abi.CleanText("b\x1b[31md", 80),
		strings.Repeat("x", 81), strings.Repeat("x", 79) + "…"} {
		err := open(loader.Function{Tool: abi.ToolSpec{Name: "t"}, Export: export})
		if _, ok := errors.AsType[*extism.FunctionsError](err); !ok {
			t.Errorf("%q: %v", export, err)
		}
	}
}
