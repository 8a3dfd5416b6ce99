package wasmagent_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/wasmagent/wasmagent"

// arrows says which packages of this module each package may import. "x/..." means x and all below
// it. A package that is not named here is an error: adding one is a visible change of this table.
var arrows = map[string][]string{
	".":                   {"abi", "host", "loader", "loader/extism", "loader/wasicmd", "plugins", "plugins/ledger"},
	"abi":                 {},
	"agentloop":           {"abi", "agentloop/...", "plugins", "plugins/excerpt"},
	"agentloop/jobs":      {"abi", "agentloop/message"},
	"agentloop/looptest":  {"abi", "agentloop", "agentloop/...", "plugins"},
	"agentloop/message":   {},
	"agentloop/reduce":    {"agentloop/message", "internal/misfit"},
	"agentloop/provider":  {"agentloop/message"},
	"agentloop/sdk":       {"agentloop", "agentloop/message", "agentloop/session", "plugins"},
	"agentloop/session":   {"agentloop/message", "agentloop/reduce", "internal/misfit"},
	"agentloop/subagents": {"agentloop/message"},
	"agentloop/tokens":    {"agentloop/message"},
	"abi/abihost":         {"abi", "abi/transcode"},
	"abi/transcode":       {},
	"build":               {"abi", "abi/abihost", "host"},
	"config":              {"internal/near", "internal/tomlfile"},
	"cmd/wasmagent":       {"..."},
	"host":                {"abi", "abi/...", "host/...", "internal/bound"},
	"host/conform":        {"abi", "abi/...", "host"},
	"host/egress":         {},
	"host/hosttest":       {"abi", "abi/...", "host", "host/hosttest/..."},
	"host/hosttest/asm":   {},
	"loader":              {"abi", "abi/...", "host", "internal/tomlfile", "plugins"},
	"loader/wasicmd":      {"abi", "abi/abihost", "host", "loader", "plugins"},
	"loader/mcp":          {"abi", "abi/transcode", "host/egress", "internal/near", "plugins"},
	"mcpserver":           {"abi", "plugins", "plugins/excerpt"},
	"host/internal/mount": {"host/internal/wasi"},
	"host/kv":             {"host"},
	"internal/bound":      {},
	"internal/misfit":     {},
	"internal/near":       {},
	"internal/tomlfile":   {},
	"pdk":                 {"abi", "pdk/..."},
	"pdk/pdktest":         {"abi", "abi/transcode", "pdk", "pdk/internal/..."},
	"plugins":             {"abi", "abi/transcode", "plugins/internal/..."},
	"plugins/excerpt":     {"abi", "plugins"},
	"plugins/ledger":      {"abi", "plugins"},
	"plugins/pluginstest": {"abi", "plugins", "plugins/..."},
	"policy":              {"abi", "config", "host", "host/...", "internal/tomlfile", "loader", "loader/mcp", "plugins"},

	"agentloop/interchange":          {"agentloop/message", "internal/misfit"},
	"cmd/wasmagent/internal/clients": {},

	"loader/extism": {"abi", "abi/abihost", "abi/transcode", "host", "host/egress", "loader",
		"loader/extism/internal/...", "plugins"},
	"loader/extism/internal/sdkwire": {"abi", "host", "host/egress"},
	"loader/extism/sdkchild": {"abi", "host", "host/egress", "internal/bound",
		"loader/extism/internal/..."},
}

// below says the same for all packages below a folder, for those that the table above does not
// name.
var below = map[string][]string{
	"agentloop/provider/": {"agentloop/message", "agentloop/provider", "agentloop/provider/..."},
	"host/internal/":      {},
	"pdk/internal/":       {"abi", "pdk/internal/..."},
	"plugins/internal/":   {"abi", "abi/transcode", "internal/near"},
}

// owners says which dependency only some packages may name.
var owners = map[string][]string{
	"github.com/tetratelabs/wazero":     {"host", "host/...", "loader/extism/sdkchild"},
	"github.com/extism/go-sdk":          {"loader/extism/sdkchild"},
	"github.com/vmihailenco/msgpack/v5": {"abi/abihost"},
	"github.com/spf13/cobra":            {"cmd/wasmagent"},
	"github.com/fsnotify/fsnotify":      {"loader"},
	"github.com/gofrs/flock":            {"agentloop/session", "host", "host/hosttest", "mcpserver", "plugins/ledger", "policy"},
	"modernc.org/sqlite":                {"host/kv", "plugins/ledger"},
	"github.com/cenkalti/backoff/v5":    {"agentloop/provider/internal/wire", "plugins"},

	"github.com/modelcontextprotocol/go-sdk": {"loader/mcp", "mcpserver"},
	"github.com/tailscale/hujson":            {"cmd/wasmagent/internal/clients"},
}

// scratch is where a clone's owner writes plugins of his own. It is ignored, here and by Git.
const scratch = "scratch"

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestArrows(t *testing.T) {
	for _, p := range list(t, nil, "./...") {
		room := relative(p.ImportPath)
		if inside(room, scratch) {
			continue
		}
		may, ok := allowed(room)
		if !ok {
			t.Errorf("%s is not in the table of arrows", room)
			continue
		}
		for _, imported := range p.Imports {
			if inside(imported, module) && !matches(may, relative(imported)) {
				t.Errorf("%s imports %s: no such arrow", room, relative(imported))
			}
			for dep, users := range owners {
				if inside(imported, dep) && !matches(users, room) {
					t.Errorf("%s imports %s, which only %v may", room, dep, users)
				}
			}
		}
	}
}

// heavy is what would cost every plugin a megabyte or more.
var heavy = []string{
	"fmt", "encoding/json", "encoding/gob", "net", "net/http", "net/url", "text/template", "regexp", "time", "os",
	"math/big", "crypto/tls", "log", "log/slog", "testing", "flag", "go/ast",
	"github.com/vmihailenco/msgpack/v5", "github.com/google/jsonschema-go/jsonschema",
}

func TestKitIsLight(t *testing.T) {
	deps := list(t, []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}, "-deps", "./pdk")
	if len(deps) < 10 {
		t.Fatalf("only %d dependencies: is the list real?", len(deps))
	}
	for _, p := range deps {
		if slices.Contains(heavy, p.ImportPath) {
			t.Errorf("the kit pulls in %s", p.ImportPath)
		}
		if strings.Contains(p.ImportPath, ".") && !inside(p.ImportPath, module) {
			t.Errorf("the kit pulls in %s: it may use nothing but the standard library", p.ImportPath)
		}
	}
}

func list(t *testing.T, env []string, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func allowed(room string) ([]string, bool) {
	if may, ok := arrows[room]; ok {
		return may, true
	}
	for folder, may := range below {
		if strings.HasPrefix(room, folder) {
			return may, true
		}
	}
	return nil, false
}

func matches(patterns []string, room string) bool {
	for _, p := range patterns {
		folder, tree := strings.CutSuffix(p, "/...")
		if p == "..." || p == room || tree && strings.HasPrefix(room, folder+"/") {
			return true
		}
	}
	return false
}

func inside(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

func relative(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}
