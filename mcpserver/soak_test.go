package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestSoak has many clients of both eras call good and hostile tools, in Go and in plugins, while
// others do what no client does: no answer is wrong, no session is lost, those that have sessions are
// never told that the server is busy, and the memory is given back. With WASMAGENT_LONG there are 200
// clients for a minute, and the example plugins.
func TestSoak(t *testing.T) {
	long := os.Getenv("WASMAGENT_LONG") != ""
	clients, length := 16, time.Second
	if long {
		clients, length = 200, time.Minute
	} else if testing.Short() {
		t.Skip("takes a second")
	}
	k := newSoak(t, long)
	k.run(clients, length/6) // until all that is kept for the next calls is there
	clear(k.took)
	before := heap()
	struck := k.run(clients, length)
	after := heap()
	c := k.client(sessions)
	defer c.Close()
	k.good(c, 0, time.Now()) // it still serves
	k.report(clients, length, struck)
	t.Logf("the heap had %d MiB before and has %d MiB after", before>>20, after>>20)
	if after > before+16<<20 {
		t.Error("the heap is not given back")
	}
}

// run has so many clients and their attackers at work, and tells how often each attack was made.
func (k *soak) run(clients int, length time.Duration) (struck string) {
	all := make([]*soakClient, clients)
	for i := range all {
		all[i] = k.client([]string{sessions, none}[i%2])
	}
	lister := k.client(sessions)
	defer lister.Close()
	attackers, tell := k.attackers(max(1, clients/50), lister)
	ctx, stop := context.WithTimeout(k.t.Context(), length)
	defer stop()
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() {
			defer c.Close()
			k.work(ctx, c, i)
		})
	}
	for _, attack := range attackers {
		group.Go(func() { attack(ctx) })
	}
	group.Wait()
	return tell()
}

// soak is what the clients have in common.
type soak struct {
	t    *testing.T
	url  string
	kind []goodCall
	mean []meanCall

	mu    sync.Mutex
	took  map[string][]time.Duration // good calls, by kind
	meant int                        // hostile calls that were answered as they must be
	busy  int                        // calls without a session that had to come again
}

// goodCall is a call that succeeds.
type goodCall struct{ kind, tool, args, want string }

// meanCall is a call that fails, and how.
type meanCall struct{ tool, args, kind string }

const anEcho = `{"order":"17","lines":[{"sku":"a-1","count":2},{"sku":"b-22","count":1}],"gift":true}`

// newSoak starts a server with native tools and plugins, and calls each of them once.
func newSoak(t *testing.T, long bool) *soak {
	k := &soak{t: t, took: map[string][]time.Duration{}}
	registry := plugins.NewRegistry(&plugins.Options{RetryWait: time.Millisecond})
	native := append(testTools(registry), tool(spec("limited"), limited))
	files := map[string][]byte{"parrot": hosttest.Tiny("parrot")}
	k.kind = []goodCall{{"echo, a tool in Go", "echo", anEcho, anEcho},
		{"echo, a small plugin", "parrot", anEcho, anEcho}}
	mean := map[string][]byte{}
	for name, body := range map[string]hosttest.Body{"mean_trap": hosttest.Trap,
		"mean_exit": hosttest.Exit(3), "mean_loop": hosttest.Loop, "mean_mute": hosttest.Silent} {
		mean[name] = hosttest.Plugin{Name: name, Call: body}.Bytes()
	}
	k.mean = []meanCall{{"mean_trap", `{}`, "malformed_result"}, {"mean_exit", `{}`, "malformed_result"},
		{"mean_mute", `{}`, "malformed_result"}, {"mean_loop", `{}`, "handler"}}
	if long {
		const examples = "../examples/plugins/"
		files["dates"] = hosttest.GoPlugin(t, examples+"dates")
		mean["misbehave"] = hosttest.GoPlugin(t, examples+"misbehave")
		k.kind = append(k.kind, goodCall{"date_diff, an example plugin", "date_diff",
			`{"from":"2026-01-31","to":"2026-11-30"}`, `"days":303`})
		k.mean = append(k.mean,
			meanCall{"panic", `{}`, "malformed_result"}, meanCall{"trap", `{}`, "malformed_result"},
			meanCall{"divide_by_zero", `{}`, "malformed_result"},
			meanCall{"allocate", `{}`, "malformed_result"}, meanCall{"two_replies", `{}`, "malformed_result"},
			meanCall{"not_a_number", `{}`, "output_serialization"},
			meanCall{"fail_permanently", `{}`, "handler"}, meanCall{"bad_input", `{}`, "invalid_input"})
	}
	native = append(native, k.plugins(files, host.Limits{})...)
	native = append(native, k.plugins(mean, host.Limits{Time: 250 * time.Millisecond})...)
	if err := registry.Add(native...); err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New(registry, &mcpserver.Options{DirectTools: len(native)})
	t.Cleanup(func() { s.Close() })
	k.url = listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	c := k.client(sessions)
	defer c.Close()
	for i := range k.kind {
		k.good(c, i, time.Now())
	}
	for i := range k.mean {
		k.hostile(c, i)
	}
	conn := k.raw(t.Context(), "count", whole) // what attackers send is served
	if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || answer.StatusCode != 200 {
		t.Fatal(err, answer)
	}
	conn.Close()
	clear(k.took)
	k.meant = 0
	return k
}

// plugins loads plugins from a directory with these files.
func (k *soak) plugins(files map[string][]byte, limits host.Limits) []plugins.Tool {
	k.t.Helper()
	root := k.t.TempDir()
	for name, wasm := range files {
		if err := os.WriteFile(filepath.Join(root, name+".wasm"), wasm, 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	dir, err := loader.OpenDir(k.t.Context(), root, &loader.Options{Engine: hosttest.CachedEngine(k.t),
		CacheDir: filepath.Join(root, ".cache"), StateDir: filepath.Join(root, ".state"), Limits: limits})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { dir.Close() })
	for _, p := range dir.Plugins() {
		if p.Err != nil {
			k.t.Fatal(p.Err)
		}
	}
	return slices.DeleteFunc(dir.Tools(), func(t plugins.Tool) bool {
		return t.Spec().Name == "echo" // misbehave has one too
	})
}

// soakClient is a client that leaves nothing behind.
type soakClient struct {
	*mcp.ClientSession
	conns *http.Transport
}

func (k *soak) client(version string) *soakClient {
	k.t.Helper()
	c, err := k.begin(version)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

func (k *soak) begin(version string) (*soakClient, error) {
	conns := http.DefaultTransport.(*http.Transport).Clone()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, nil).Connect(
		context.Background(), &mcp.StreamableClientTransport{Endpoint: k.url, MaxRetries: -1,
			HTTPClient: &http.Client{Transport: bearer{conns, testToken}}},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	return &soakClient{c, conns}, err
}

func (c *soakClient) Close() {
	_ = c.ClientSession.Close()
	c.conns.CloseIdleConnections()
}

// limited is a tool with a time limit, as plugins are. It needs one: where there are sessions, a
// client's word that it has cancelled a call may arrive before the call.
func limited(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
	select {
	case <-ctx.Done():
		return plugins.Output{}, ctx.Err()
	case <-time.After(2 * time.Second):
		return plugins.Output{}, errors.New("too late")
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// work calls and looks at what comes back, until the time is over, and then once more: the session
// that it began with must still be there.
func (k *soak) work(ctx context.Context, c *soakClient, i int) {
	id := c.ID()
	for n := i; ctx.Err() == nil && !k.t.Failed(); n++ {
		switch n % 8 {
		case 5:
			which := n / 8 % len(k.mean)
			if k.mean[which].tool == "mean_loop" && n%80 != 5 {
				which = 0 // it costs its whole time limit
			}
			k.hostile(c, which)
		case 6:
			k.rest(ctx, c, n)
		default:
			k.good(c, n%len(k.kind), time.Now())
		}
	}
	k.good(c, 0, time.Now())
	if c.ID() != id {
		k.t.Errorf("client %d began with session %q and ends with %q", i, id, c.ID())
	}
}

// call calls a tool, again where clients without sessions have to share, and gives nil if it failed.
func (k *soak) call(c *soakClient, tool, args string) *mcp.CallToolResult {
	for {
		res, err := c.CallTool(context.Background(),
			&mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			k.t.Errorf("%s: %v", tool, err)
			return nil
		}
		if causeOf(res) != "busy" {
			return res
		}
		if c.ID() != "" {
			k.t.Errorf("%s: busy to one with a session", tool)
			return nil
		}
		k.mu.Lock()
		k.busy++
		k.mu.Unlock()
	}
}

func (k *soak) good(c *soakClient, which int, began time.Time) {
	g := k.kind[which]
	res := k.call(c, g.tool, g.args)
	if res == nil {
		return
	}
	if res.IsError || !strings.Contains(textOf(res), g.want) {
		k.t.Errorf("%s: have %.300s", g.tool, textOf(res))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.took[g.kind] = append(k.took[g.kind], time.Since(began))
}

// hostile calls a plugin that means harm. On a machine with so much to do its time may be over first.
func (k *soak) hostile(c *soakClient, which int) {
	m := k.mean[which]
	res := k.call(c, m.tool, m.args)
	if res == nil {
		return
	}
	meta, _ := res.Meta[mcpserver.MetaError].(map[string]any)
	if !res.IsError || meta["kind"] != m.kind && causeOf(res) != "limit.time" {
		k.t.Errorf("%s: have %.300s, %v", m.tool, textOf(res), meta)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.meant++
}

func causeOf(res *mcp.CallToolResult) any {
	meta, _ := res.Meta[mcpserver.MetaError].(map[string]any)
	return meta["cause"]
}

// rest is what else clients do.
func (k *soak) rest(ctx context.Context, c *soakClient, n int) {
	switch n / 8 % 4 {
	case 0:
		if res := k.call(c, "long", `{}`); res != nil && !strings.Contains(textOf(res), "left out here") {
			k.t.Errorf("long: have %.300s", textOf(res))
		}
	case 1:
		args := `{"x":"` + strings.Repeat("y", 100_000) + `"}`
		if res := k.call(c, "point", args); res != nil && !strings.Contains(textOf(res), "at /x") {
			k.t.Errorf("a wrong argument: have %.300s", textOf(res))
		}
	case 2:
		ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "limited"}); ctx.Err() == nil {
			k.t.Errorf("a cancelled call: %v", err)
		}
	case 3:
		if list, err := c.ListTools(context.Background(), nil); err != nil || len(list.Tools) < 20 {
			k.t.Errorf("the list: %v", err)
		}
	}
}

// report prints what the good calls took.
func (k *soak) report(clients int, length time.Duration, attacks string) {
	k.t.Logf("%d clients for %v; %d hostile calls of plugins; %d times busy without a session; %s",
		clients, length, k.meant, k.busy, attacks)
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-30s %8s %8s %8s %8s  ms\n", "", "calls", "p50", "p95", "p99")
	for _, g := range k.kind {
		all := k.took[g.kind]
		slices.Sort(all)
		ms := func(percent int) float64 {
			return float64(all[(len(all)-1)*percent/100].Microseconds()) / 1000
		}
		if len(all) > 0 {
			fmt.Fprintf(&table, "%-30s %8d %8.1f %8.1f %8.1f\n", g.kind, len(all), ms(50), ms(95), ms(99))
		}
	}
	k.t.Log(table.String())
}
