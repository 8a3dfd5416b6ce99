package extism_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// settings is a guest that answers with what config, a variable and the web have for it.
func settings() []byte {
	given := func(local uint32) func(k *kit) asm.Instr {
		return func(k *kit) asm.Instr {
			return k.with("output_set", asm.LocalGet(local), k.with("length", asm.LocalGet(local)))
		}
	}
	return guest(map[string]body{
		"config": func(k *kit) asm.Instr {
			return k.put(0, "color") + k.with("config_get", asm.LocalGet(0)) + asm.LocalSet(1) + given(1)(k)
		},
		"remember": func(k *kit) asm.Instr {
			return k.with("var_set", k.put(0, "v")+asm.LocalGet(0), k.do("alloc", 99))
		},
		"fetch": func(k *kit) asm.Instr {
			return k.with("http_request", k.put(0, `{"url":"https://a.test/"}`)+asm.LocalGet(0),
				asm.I64Const(0)) + asm.LocalSet(1) + given(1)(k)
		},
		"spin": func(*kit) asm.Instr { return asm.Loop(asm.Br(0)) },
		"grow": func(*kit) asm.Instr {
			return asm.I32Const(1) + asm.Op(0x40, 0) + asm.I32Const(-1) + asm.Op(0x46) +
				asm.If(asm.Unreachable)
		},
	})
}

// functionsOf makes a tool of each function.
func functionsOf(names ...string) (list []loader.Function) {
	for _, name := range names {
		list = append(list, loader.Function{Tool: abi.ToolSpec{Name: name}, Text: true})
	}
	return list
}

// TestBundle is what a manifest may name, and how.
func TestBundle(t *testing.T) {
	wasm := guest(nil)
	sum := fmt.Sprintf("%x", sha256.Sum256(wasm))
	data := base64.StdEncoding.EncodeToString(wasm)
	const mostHosts = 256 // of any list of needs
	hosts := make([]string, mostHosts+1)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("h%d.test", i)
	}
	wishing := func(names []string) string {
		return `{"wasm":[{"path":"code.wasm"}],"allowed_hosts":["` + strings.Join(names, `","`) + `"]}`
	}
	many := func(n int) string {
		return `{"wasm":[` + strings.Repeat(`{"name":"x","data":"AAAA"},`, n-1) +
			`{"path":"code.wasm"}]}`
	}
	for _, tt := range []struct{ name, manifest, want string }{
		{"a path", `{"wasm":[{"path":"code.wasm"}]}`, ""},
		{"a path below", `{"wasm":[{"path":"./below/code.wasm"}]}`, ""},
		{"a link inside", `{"wasm":[{"path":"inside.wasm"}]}`, ""},
		{"a hash", `{"wasm":[{"path":"code.wasm","hash":"` + sum + `"}]}`, ""},
		{"a hash in capitals", `{"wasm":[{"path":"code.wasm","hash":"` + strings.ToUpper(sum) + `"}]}`,
			""},
		{"data", `{"wasm":[{"data":"` + data + `","hash":"` + sum + `"}]}`, ""},
		{"fields that nobody knows", `{"wasm":[{"path":"code.wasm","new":1}],"newer":[]}`, ""},
		{"another hash", `{"wasm":[{"path":"code.wasm","hash":"` + sum[2:] + `00"}]}`,
			"wasm[0]: the module's sha256 is " + sum + ", and the manifest wants " + sum[2:] + "00"},
		{"a URL", `{"wasm":[{"url":"https://a.test/x.wasm"}]}`,
			"wasm[0]: it is to come from a URL, and " +
				"nothing is fetched while loading: download it, put it beside the manifest, and write its " +
				"path instead"},
		{"a path and data", `{"wasm":[{"path":"code.wasm","data":"` + data + `"}]}`,
			"wasm[0]: want one of path and data"},
		{"nothing", `{"wasm":[{"name":"x"}]}`, "wasm[0]: want one of path and data"},
		{"no modules", `{"config":{}}`, "an Extism manifest names 1 to 16 modules (wasm), and this 0"},
		{"one module too many", many(extism.MaxModules + 1), "names 1 to 16 modules (wasm), and this 17"},
		{"as many as may be", many(extism.MaxModules), "its manifest links several modules, which only " +
			`Extism's own engine does: engine = "extism-sdk" in its policy`},
		{"no JSON", `{"wasm":`, "an Extism manifest that cannot be read: unexpected end of JSON input"},
		{"a wrong type", `{"wasm":"code.wasm"}`, "that cannot be read: wasm: want a list, have string"},
		{"a text for a time", `{"wasm":[],"timeout_ms":"5s"}`, "timeout_ms: want a number, have string"},
		{"a number for a path", `{"wasm":[{"path":5}]}`, "wasm.path: want a text, have number"},
		{"as many hosts as can be", wishing(hosts[:mostHosts]), "is not allowed: it needs http h0.test"},
		{"too many hosts", wishing(hosts), "allowed_hosts in its manifest: "},
		{"no bytes", `{"wasm":[{"data":{}}]}`, "wasm.data: want base64, have object"},
		{"a list of settings", `{"wasm":[],"config":[]}`, "config: want an object, have array"},
		{"a parent", `{"wasm":[{"path":"../code.wasm"}]}`, "it must lie in the manifest's directory"},
		{"a parent within", `{"wasm":[{"path":"below/../../code.wasm"}]}`,
			"it must lie in the manifest's directory"},
		{"an absolute path", `{"wasm":[{"path":"/etc/passwd"}]}`,
			"it must lie in the manifest's directory"},
		{"backslashes", `{"wasm":[{"path":"..\\code.wasm"}]}`, "it must lie in the manifest's directory"},
		{"a link out", `{"wasm":[{"path":"out.wasm"}]}`, "it must lie in the manifest's directory"},
		{"a linked folder out", `{"wasm":[{"path":"away/code.wasm"}]}`,
			"it must lie in the manifest's directory"},
		{"a folder", `{"wasm":[{"path":"below"}]}`, "below: not a regular file"},
		{"what is not there", `{"wasm":[{"path":"no.wasm"}]}`, "no.wasm: no such file or directory"},
		{"no module", `{"wasm":[{"data":"aGVsbG8="}]}`, "wasm[0]: not a WebAssembly module"},
		{"half a module", `{"wasm":[{"data":"` + data[:400] + `"}]}`, "preflight"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "plugins")
			for _, at := range []string{"code.wasm", "plugins/code.wasm", "plugins/below/code.wasm"} {
				write(t, parent, at, wasm)
			}
			for link, to := range map[string]string{"inside.wasm": "below/code.wasm",
				"out.wasm": "../code.wasm", "away": ".."} {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			path := write(t, dir, "p.extism.json", []byte(tt.manifest))
			d := openFile(t, path, extism.New(nil), loader.Decision{Functions: functionsOf("ok")})
			p := d.Plugins()[0]
			if tt.want != "" {
				if p.Err == nil || !strings.Contains(p.Err.Error(), tt.want) {
					t.Errorf("%v, want %s", p.Err, tt.want)
				}
				return
			}
			got, err := invoke(t.Context(), d, "ok", "")
			if p.Err != nil || err != nil || got != "fine" || p.Name != "p" {
				t.Errorf("plugin %s: %v; %q %v", p.Name, p.Err, got, err)
			}
		})
	}
}

// TestManifestsModulesCount holds all files of a manifest together against the limit of a module.
func TestManifestsModulesCount(t *testing.T) {
	wasm := guest(nil)
	dir := t.TempDir()
	write(t, dir, "code.wasm", wasm)
	path := write(t, dir, "p.extism.json", []byte(`{"wasm":[{"path":"code.wasm"}]}`))
	for _, size := range []int64{int64(len(wasm)) + 100, int64(len(wasm)) + 20} {
		d := loader.Decision{Functions: functionsOf("ok")}
		d.Host.Limits.Module = size
		p := openFile(t, path, extism.New(nil), d).Plugins()[0]
		if fits := size > int64(len(wasm))+31; fits != (p.Err == nil) {
			t.Errorf("%d bytes under a limit of %d: %v", len(wasm)+31, size, p.Err)
		}
	}
}

// TestManifestIsNoGrant is what a manifest wishes for: it is told and not given.
func TestManifestIsNoGrant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "code.wasm", settings())
	path := write(t, dir, "p.extism.json", []byte(`{
		"wasm": [{"path": "code.wasm"}],
		"allowed_hosts": ["api.example.com", "*.example.org", "jsonplaceholder.*.com"],
		"allowed_paths": {"/etc": "/data", "ro:/home/me": "/home", "ro:/etc": "/data"},
		"config": {"color": "red"}
	}`))
	d := loader.Decision{Functions: functionsOf("config")}
	err := openFile(t, path, extism.New(nil), d).Plugins()[0].Err
	denied, ok := errors.AsType[*loader.NotAllowedError](err)
	if !ok {
		t.Fatalf("%v, want a *NotAllowedError", err)
	}
	want := "[files /data rw files /home ro http http *.example.org http api.example.com]"
	if got := fmt.Sprint(denied.Needs); got != want {
		t.Errorf("it needs %s, want %s", got, want)
	}
	if strings.Contains(err.Error(), "/etc") || strings.Contains(err.Error(), "/home/me") {
		t.Errorf("a path of the host's is told: %v", err)
	}
	home, data := t.TempDir(), t.TempDir()
	d.Host.Grants = host.Grants{HTTP: answers{}, Files: []host.Mount{
		{Host: home, Guest: "/home"}, {Host: data, Guest: "/data", Write: true},
	}}
	p := only(t, openFile(t, path, extism.New(nil), d))
	if reason := p.Manifest.Needs.HTTP[2].Reason; !strings.Contains(reason, "jsonplaceholder.*.com") {
		t.Errorf("the reason of what the operator is to choose: %q", reason)
	}
}

// TestManifestsSettings is what a manifest says beside its wishes: defaults, and lower limits.
func TestManifestsSettings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "code.wasm", settings())
	tools := []string{"config", "remember", "fetch", "spin", "grow", "ok"}
	for _, tt := range []struct {
		manifest, tool, want string
		give                 func(*host.Policy)
	}{
		{`"config":{"color":"red"}`, "config", "red", nil},
		{`"config":{"color":"red"}`, "config", "blue", func(p *host.Policy) {
			config("color",
				"blue")(nil, p)
		}},
		{`"config":{"color":""}`, "config", "", nil},
		{`"config":{"an odd key":"x"}`, "config", "", nil},
		{`"timeout_ms":20`, "spin", "exceeded its time limit of 20ms", nil},
		{`"timeout_ms":60000`, "spin", "exceeded its time limit of 10ms",
			func(p *host.Policy) { p.Limits.Time = 10e6 }},
		{`"memory":{"max_pages":2}`, "grow", "", nil},
		{`"memory":{"max_pages":1}`, "ok", "exceeded its memory limit of 64 KiB", nil},
		{`"memory":{"max_pages":4000000000}`, "grow", "exceeded its memory limit of 64 KiB",
			func(p *host.Policy) { p.Limits.Memory = 1 << 16 }},
		{`"memory":{"max_var_bytes":100}`, "remember", "", nil},
		{`"memory":{"max_var_bytes":99}`, "remember", "all variables have 100 bytes, more than 99", nil},
		{`"memory":{"max_var_bytes":0}`, "remember", "all variables have 100 bytes, more than 0", nil},
		{`"memory":{"max_http_response_bytes":27}`, "fetch", `{"asked":"https://a.test/"}`, grantWeb},
		{`"memory":{"max_http_response_bytes":26}`, "fetch",
			"too_large: http_request: a response of 27 bytes, and the plugin's manifest has 26 for one",
			grantWeb},
	} {
		t.Run(tt.manifest, func(t *testing.T) {
			path := write(t, dir, "p.extism.json", []byte(`{"wasm":[{"path":"code.wasm"}],`+tt.manifest+`}`))
			d := loader.Decision{Functions: functionsOf(tools...)}
			if tt.give != nil {
				tt.give(&d.Host)
			}
			opened := openFile(t, path, extism.New(nil), d)
			only(t, opened)
			got, err := invoke(t.Context(), opened, tt.tool, "")
			if !contains(got, err, tt.want) || tt.want == "" && err != nil {
				t.Errorf("%q %v, want %s", got, err, tt.want)
			}
		})
	}
}

func grantWeb(p *host.Policy) { p.Grants.HTTP = answers{} }

// TestManifestsBesidePlugins is one directory with plugins of all forms.
func TestManifestsBesidePlugins(t *testing.T) {
	dir := t.TempDir()
	wasm := guest(nil)
	write(t, dir, "beside.wasm", wasm) // which the manifest of that name speaks for
	write(t, dir, "beside.extism.json", []byte(`{"wasm":[{"path":"beside.wasm"}]}`))
	write(t, dir, "folder/manifest.json", []byte(`{"wasm":[{"path":"code/main.wasm"}]}`))
	write(t, dir, "folder/code/main.wasm", wasm)
	write(t, dir, "alone.wasm", wasm)
	write(t, dir, "native.wasm", hosttest.Tiny("native"))
	write(t, dir, "notes.json", []byte(`{}`))
	d := open(t, loader.OpenDir, dir, extism.New(nil), policies{
		"beside": {Prefix: true, Functions: functionsOf("ok")},
		"folder": {Prefix: true, Functions: functionsOf("ok")},
		"alone":  {Prefix: true, Functions: functionsOf("ok")},
	})
	var got []string
	for _, p := range d.Plugins() {
		if p.Err != nil {
			t.Errorf("%s: %v", p.Name, p.Err)
		}
		got = append(got, fmt.Sprintf("%s (%s, %s)", p.Name, p.Kind, p.KindWhy))
	}
	want := "alone (extism, it imports from extism:host/env); beside (extism, it imports from " +
		"extism:host/env); folder (extism, it imports from extism:host/env); native (, )"
	if strings.Join(got, "; ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "; "), want)
	}
	for _, tool := range []string{"beside_ok", "folder_ok", "alone_ok"} {
		if said, err := invoke(t.Context(), d, tool, ""); said != "fine" || err != nil {
			t.Errorf("%s: %q %v", tool, said, err)
		}
	}
}

// A module that imports nothing of Extism's is Extism's when a manifest names it.
func TestManifestTellsTheKind(t *testing.T) {
	m := asm.New()
	m.ExportMemory("memory", m.Memory(1))
	m.Export("run", m.Func("-> i32", "", asm.I32Const(0)))
	dir := t.TempDir()
	write(t, dir, "code.wasm", m.Bytes())
	path := write(t, dir, "p.extism.json", []byte(`{"wasm":[{"path":"code.wasm"}]}`))
	p := only(t, openFile(t, path, extism.New(nil), loader.Decision{Functions: functionsOf("run")}))
	if p.Kind != "extism" || p.KindWhy != "it is a manifest of the kind extism" {
		t.Errorf("kind %q: %s", p.Kind, p.KindWhy)
	}
}
