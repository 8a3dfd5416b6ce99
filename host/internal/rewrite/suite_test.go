package rewrite

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
)

// moduleDir finds a module in the module cache, downloading it if need be. Without it the test is
// skipped: what it shows needs other people's modules, which are not kept here.
func moduleDir(t testing.TB, path string) string {
	t.Helper()
	dirs.Lock()
	defer dirs.Unlock()
	if dir, ok := dirs.known[path]; ok {
		if dir == "" {
			t.Skipf("SKIPPED: %s cannot be had", path)
		}
		return dir
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("go", "mod", "download", "-json", path)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Dir = os.TempDir() // outside of any module, so that none of its files change
	err := cmd.Run()
	var answer struct{ Dir, Error string }
	if json.Unmarshal(stdout.Bytes(), &answer) != nil || answer.Dir == "" {
		dirs.known[path] = ""
		t.Skipf("SKIPPED: %s cannot be had: %v %s %s", path, err, answer.Error, stderr.String())
	}
	dirs.known[path] = answer.Dir
	return answer.Dir
}

var dirs = struct {
	sync.Mutex
	known map[string]string
}{known: map[string]string{}}

const (
	wazeroModule = "github.com/tetratelabs/wazero@v1.12.0"
	extismModule = "github.com/extism/go-sdk@v1.7.1"
)

// wasmFiles lists the modules below a directory.
func wasmFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".wasm") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// accepts says whether the engine accepts a module.
func accepts(ctx context.Context, r wazero.Runtime, wasm []byte) bool {
	m, err := r.CompileModule(ctx, wasm)
	if err == nil {
		m.Close(ctx)
	}
	return err == nil
}

func TestCheckPassesWhatTheEngineAccepts(t *testing.T) {
	root := moduleDir(t, wazeroModule)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, engines[1].config)
	defer r.Close(ctx)
	accepted := 0
	for _, path := range wasmFiles(t, root) {
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Check(wasm, nil); err != nil {
			if accepts(ctx, r, wasm) {
				t.Errorf("%s: %v", strings.TrimPrefix(path, root), err)
			}
			continue
		}
		if accepts(ctx, r, wasm) {
			accepted++
		}
	}
	t.Logf("%d modules accepted by both", accepted)
	if accepted < 2_947 {
		t.Errorf("%d modules are accepted by both, want at least 2947", accepted)
	}
}

// What the engine accepts it must accept rewritten.
func TestRewrittenModulesAreAccepted(t *testing.T) {
	root := moduleDir(t, wazeroModule)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, engines[1].config)
	defer r.Close(ctx)
	for _, path := range wasmFiles(t, root) {
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		facts, err := Check(wasm, nil)
		if err != nil || !accepts(ctx, r, wasm) {
			continue
		}
		for _, opts := range []*Options{nil, {Unmetered: true}} {
			out, _, err := Rewrite(wasm, facts, opts)
			if err != nil {
				t.Errorf("%s: %v", strings.TrimPrefix(path, root), err)
				continue
			}
			if m, err := r.CompileModule(ctx, out); err != nil {
				t.Errorf("%s, %+v: %v", strings.TrimPrefix(path, root), opts, err)
			} else {
				m.Close(ctx)
			}
		}
	}
}
