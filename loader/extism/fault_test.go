package extism_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gosdk "github.com/extism/go-sdk"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// The faults of Extism's SDK that must not reach users. Each test shows the fault on the SDK as it
// is, so that it fails with the version that has mended it, and then what both engines make of it.

// each runs a test for each engine, with the decision's engine set.
func each(t *testing.T, test func(t *testing.T, d loader.Decision)) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) { test(t, loader.Decision{Engine: engine}) })
	}
}

// wantLimit asserts that a limit ended it.
func wantLimit(t *testing.T, err error, name string) {
	t.Helper()
	if limit, ok := errors.AsType[*host.LimitError](err); !ok || limit.Limit != name {
		t.Errorf("got %v, want the limit %s", err, name)
	}
}

// A call without a time-out in the SDK's manifest does not end with its caller's deadline. Loops and
// recursion end here at the limit of every policy, and the next call is answered.
func TestFaultDeadline(t *testing.T) {
	hangsBare(t, "deadline")
	hangsBare(t, "recursion")
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Limits.Time = 300 * time.Millisecond
		for _, wasm := range [][]byte{spin(), recurse()} {
			dir := openIn(t, wasm, d, "run")
			for range 2 {
				_, err := ask(t.Context(), dir, "run", "")
				wantLimit(t, err, "time")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err := ask(ctx, dir, "run", "")
			cancel()
			if _, limit := errors.AsType[*host.LimitError](err); limit ||
				!errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with the caller's deadline: %v", err)
			}
		}
	})
}

// A plugin of the SDK's that timed out once answers no more.
func TestFaultAfterTimeout(t *testing.T) {
	p := mustBare(t.Context(), spinOrEcho(), gosdk.Manifest{Timeout: 50})
	if _, _, err := p.Call("run", []byte("spin")); err == nil {
		t.Fatal("the SDK as it is does not keep its own time-out")
	}
	if code, out, err := p.Call("run", nil); code != 0 || len(out) > 0 ||
		err == nil || err.Error() != "module is closed" {
		mended(t, code, string(out), err)
	}
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Limits.Time = time.Second
		dir := openIn(t, spinOrEcho(), d, "run")
		for _, in := range []string{"", "spin", "", ""} {
			out, err := ask(t.Context(), dir, "run", in)
			if in == "spin" {
				wantLimit(t, err, "time")
			} else if err != nil || out != `""` {
				t.Errorf("after the time limit: %s, %v", out, err)
			}
		}
	})
}

// A start section can keep the SDK from ever giving a plugin, whatever the time-out.
func TestFaultStart(t *testing.T) {
	hangsBare(t, "start")
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Limits.Load = 200 * time.Millisecond
		dir := openIn(t, startSpin(), d, "run")
		_, err := ask(t.Context(), dir, "run", "")
		wantLimit(t, err, "load")
		if _, ok := errors.AsType[*host.LoadError](err); !ok {
			t.Errorf("%v is no LoadError", err)
		}
	})
}

// A guest reaches the books of the SDK's kernel, and the kernel's code is not bound by the time-out.
// The native engine keeps its books where no guest comes; the SDK is killed.
func TestFaultHeap(t *testing.T) {
	hangsBare(t, "heap")
	config := map[string]abi.Raw{"key": abi.AppendString(nil, "value")}
	t.Run("native", func(t *testing.T) {
		dir := openIn(t, corrupt(), loader.Decision{Host: host.Policy{Config: config}}, "run")
		if out, err := ask(t.Context(), dir, "run", "input"); err != nil || out != `"value"` {
			t.Errorf("%s, %v", out, err)
		}
	})
	t.Run("extism-sdk", func(t *testing.T) {
		d := loader.Decision{Engine: "extism-sdk", Host: host.Policy{Config: config}}
		d.Host.Limits.Time = 300 * time.Millisecond
		_, err := ask(t.Context(), openIn(t, corrupt(), d, "run"), "run", "input")
		wantLimit(t, err, "time")
	})
}

// The SDK looks at the first host of a request only: redirects lead anywhere, and take the guest's
// headers along.
func TestFaultRedirect(t *testing.T) {
	var mu sync.Mutex
	var tokens []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		tokens = append(tokens, r.Header.Get("X-Token"))
	}))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere, http.StatusFound)
			return
		}
		fmt.Fprint(w, "here ", r.Header.Get("X-Token"))
	}))
	defer first.Close()
	request := func(path string) string {
		return fmt.Sprintf(`{"url":%q,"method":"GET","headers":{"X-Token":"secret"}}`, first.URL+path)
	}

	p := mustBare(t.Context(), fetch(), gosdk.Manifest{AllowedHosts: []string{"127.0.0.1"}})
	if code, out, err := p.Call("run", []byte(request("/away"))); len(tokens) != 1 ||
		tokens[0] != "secret" {
		mended(t, code, string(out), err, tokens)
	}
	tokens = nil
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Grants.HTTP = onlyTo(t, first.URL)
		dir := openIn(t, fetch(), d, "run")
		out, err := ask(t.Context(), dir, "run", request("/"))
		if err != nil || out != `"here secret"` {
			t.Errorf("%s, %v", out, err)
		}
		_, err = ask(t.Context(), dir, "run", request("/away"))
		if f, ok := errors.AsType[*abi.Failure](err); !ok || f.Code != "denied" ||
			!strings.Contains(f.Message, "localhost") {
			t.Errorf("got %v, want a denial that names the other host", err)
		}
		if len(tokens) > 0 {
			t.Error("the other host was reached")
		}
	})
}

// onlyTo lets requests through to one server.
func onlyTo(t *testing.T, server string) *egress.Client {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	client, err := egress.New(&egress.Options{Rules: []egress.Rule{
		{Host: at.Hostname(), Scheme: "http", Port: port}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// Calls of one plugin of the SDK's get each other's inputs and outputs.
func TestFaultConcurrentCalls(t *testing.T) {
	inside, leave := make(chan bool, 2), make(chan bool)
	wait := gosdk.NewHostFunctionWithStack("wait", func(context.Context, *gosdk.CurrentPlugin, []uint64) {
		inside <- true
		<-leave
	}, nil, nil)
	p, err := newBare(t.Context(), echoAfter(), gosdk.Manifest{}, wait)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	outputs := map[string]*string{"first": new(string), "other": new(string)}
	for _, in := range []string{"first", "other"} {
		all.Go(func() {
			_, out, _ := p.Call("run", []byte(in))
			*outputs[in] = string(out)
		})
		<-inside
	}
	close(leave)
	all.Wait()
	if *outputs["first"] != "other" {
		mended(t, *outputs["first"])
	}

	each(t, func(t *testing.T, d loader.Decision) {
		dir := openIn(t, echo(), d, "run")
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				for j := range 4 {
					in := fmt.Sprintf("call %d of %d", j, i)
					if out, err := ask(t.Context(), dir, "run", in); err != nil || out != strconv.Quote(in) {
						t.Errorf("%s, %v; want %s", out, err, in)
					}
				}
			})
		}
		all.Wait()
	})
}

// An output that is not in memory is an empty success to the SDK.
func TestFaultOutputOutside(t *testing.T) {
	p := mustBare(t.Context(), outside(), gosdk.Manifest{})
	if code, out, err := p.Call("run", nil); code != 0 || len(out) > 0 || err != nil {
		mended(t, code, string(out), err)
	}
	each(t, func(t *testing.T, d loader.Decision) {
		out, err := ask(t.Context(), openIn(t, outside(), d, "run"), "run", "")
		if _, ok := errors.AsType[*host.ContractError](err); !ok {
			t.Errorf("got %s, %v; want a breach of the contract", out, err)
		}
	})
}

// A function that returns another number than 0, without a word, has not failed to the SDK.
func TestFaultSilentCode(t *testing.T) {
	p := mustBare(t.Context(), silent(), gosdk.Manifest{})
	if code, _, err := p.Call("run", nil); code != 7 || err != nil {
		mended(t, code, err)
	}
	each(t, func(t *testing.T, d loader.Decision) {
		_, err := ask(t.Context(), openIn(t, silent(), d, "run"), "run", "")
		if f, ok := errors.AsType[*abi.Failure](err); !ok || f.Code != "code_7" {
			t.Errorf("got %v, want the guest's failure", err)
		}
	})
}

// A pattern among allowed_hosts that is none makes the SDK panic, in the middle of a call. Here the
// rules are read before there is a plugin.
func TestFaultGlob(t *testing.T) {
	const request = `{"url":"http://127.0.0.1:1/"}`
	p := mustBare(t.Context(), fetch(), gosdk.Manifest{AllowedHosts: []string{"["}})
	if _, _, err := p.Call("run", []byte(request)); err == nil ||
		!strings.Contains(err.Error(), "unexpected end of input (recovered by wazero)") {
		mended(t, err)
	}
	if _, err := egress.New(&egress.Options{Rules: []egress.Rule{{Host: "["}}}); err == nil {
		t.Error("a rule with a host that is none was taken")
	}
}

// Links in the SDK's allowed_paths lead out of them. The native engine's mounts hold them, and the
// SDK gets none.
func TestFaultSymlink(t *testing.T) {
	top := t.TempDir()
	inside := filepath.Join(top, "inside")
	if err := errors.Join(os.Mkdir(inside, 0o700),
		os.WriteFile(filepath.Join(top, "secret"), []byte("secret"), 0o600),
		os.Symlink("../secret", filepath.Join(inside, "test.txt"))); err != nil {
		t.Fatal(err)
	}
	wasm := sdkWasm(t, "fs") // gives what is in /mnt/test.txt
	p := mustBare(t.Context(), wasm, gosdk.Manifest{AllowedPaths: map[string]string{inside: "/mnt"}})
	if _, out, err := p.Call("run_test", nil); string(out) != "secret" {
		mended(t, string(out), err)
	}
	policy := host.Policy{Grants: host.Grants{Files: []host.Mount{{Host: inside, Guest: "/mnt",
		Write: true}}}} // which is how the guest opens it
	t.Run("native", func(t *testing.T) {
		dir := openIn(t, wasm, loader.Decision{Host: policy}, "run_test")
		if out, err := ask(t.Context(), dir, "run_test", ""); strings.Contains(out, "secret") {
			t.Errorf("it read %s, %v", out, err)
		}
		if err := os.WriteFile(filepath.Join(inside, "own"), []byte("own"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(filepath.Join(inside, "test.txt")),
			os.Symlink("own", filepath.Join(inside, "test.txt"))); err != nil {
			t.Fatal(err)
		}
		if out, err := ask(t.Context(), dir, "run_test", ""); out != `"own"` {
			t.Errorf("a link that stays inside: %s, %v", out, err)
		}
	})
	t.Run("extism-sdk", func(t *testing.T) {
		d := loader.Decision{Engine: "extism-sdk", Host: policy}
		_, err := ask(t.Context(), openIn(t, wasm, d, "run_test"), "run_test", "")
		if e, ok := errors.AsType[*extism.EngineError](err); !ok ||
			!strings.Contains(e.Error(), "files") {
			t.Errorf("got %v, want a word on files", err)
		}
	})
}

// A limit of memory in the SDK's manifest, and nothing else, turns variables and HTTP off.
func TestFaultMaxPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "body")
	}))
	defer server.Close()
	request := fmt.Sprintf(`{"url":%q}`, server.URL)
	m := gosdk.Manifest{AllowedHosts: []string{"127.0.0.1"}, Memory: &gosdk.ManifestMemory{MaxPages: 64}}
	p := mustBare(t.Context(), remember(), m)
	if _, out, err := p.Call("run", []byte("x")); err == nil ||
		!strings.Contains(err.Error(), "Vars are disabled") {
		mended(t, string(out), err)
	}
	p = mustBare(t.Context(), fetch(), m)
	if _, out, err := p.Call("run", []byte(request)); err == nil ||
		!strings.Contains(err.Error(), "request body too large") {
		mended(t, string(out), err)
	}
	each(t, func(t *testing.T, d loader.Decision) {
		d.Host.Limits.Memory = 64 * 64 << 10
		d.Host.Grants.HTTP = onlyTo(t, server.URL)
		for _, tt := range []struct {
			wasm     []byte
			in, want string
		}{{remember(), "x", `"x"`}, {fetch(), request, `"body"`}} {
			out, err := ask(t.Context(), openIn(t, tt.wasm, d, "run"), "run", tt.in)
			if err != nil || out != tt.want {
				t.Errorf("%s, %v; want %s", out, err, tt.want)
			}
		}
	})
}
