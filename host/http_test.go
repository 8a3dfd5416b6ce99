package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// TestURLsThroughAGuest lets a guest try the table of URLs that the client is tested with. Names of
// the table resolve to nothing, so that what is let through is a failure of the network.
func TestURLsThroughAGuest(t *testing.T) {
	text, err := os.ReadFile("egress/testdata/urls.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := surfer(t, egress.Options{
		Resolver: resolver(func(string) string { return "" }),
		Rules: []egress.Rule{
			{Host: "api.test", Path: "/v1"}, {Host: "*.wild.test"}, {Host: "whole.test"},
			{Host: "plain.test", Scheme: "http", Port: 8080}, {Host: "bücher.test"},
			{Host: "deep.test", Path: "/a/b/"},
		}}, host.Limits{})
	refused, passed := 0, 0
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " -> ")
		word, url, _ := strings.Cut(line, " ")
		if line == "" || word == "#" || word == "ok" && (strings.Contains(url, "://[") ||
			strings.Contains(url, "://192")) {
			continue // these addresses would be dialled
		}
		if url[0] == '"' {
			if url, err = strconv.Unquote(url); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		got, stats := send(t, m, sent{URL: url})
		want := "denied"
		if word == "ok" {
			passed, want = passed+1, "network"
		} else {
			refused++
		}
		if got.Kind == "invalid" && !utf8.ValidString(url) {
			got.Kind = want // it does not even get to the client
		}
		if got.Kind != want || stats.Effects.Any() {
			t.Errorf("%s: %+v, %+v", line, got, stats.Effects)
		}
	}
	if refused < 60 || passed < 20 {
		t.Errorf("%d URLs were refused, %d were let through", refused, passed)
	}
}

// TestAddressesThroughAGuest has a name that is found where no plugin may go.
func TestAddressesThroughAGuest(t *testing.T) {
	var at atomic.Value
	var hits atomic.Int32
	port := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	n, _ := strconv.Atoi(port)
	m := surfer(t, egress.Options{
		Resolver: resolver(func(string) string { return at.Load().(string) }),
		Rules:    []egress.Rule{{Host: "in.test", Scheme: "http", Port: n}},
	}, host.Limits{})
	for _, address := range []string{"127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1",
		"169.254.169.254",
		"169.254.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1"} {
		at.Store(address)
		got, stats := send(t, m, sent{URL: "http://in.test:" + port + "/"})
		if got.Kind != "denied" || !strings.Contains(got.Message, "in.test is at "+address) ||
			stats.Effects.Any() {
			t.Errorf("%s: %+v", address, got)
		}
	}
	// A name that changes its answer after the look-up for a check that is none.
	var lookups atomic.Int32
	m = surfer(t, egress.Options{
		Resolver: resolver(func(string) string {
			if lookups.Add(1)%2 == 1 {
				return "10.9.9.9"
			}
			return "127.0.0.1"
		}),
		Rules: []egress.Rule{{Host: "in.test", Scheme: "http", Port: n}},
	}, host.Limits{})
	for range 4 {
		if got, _ := send(t, m, sent{URL: "http://in.test:" + port + "/"}); got.Kind != "denied" {
			t.Errorf("rebinding: %+v", got)
		}
	}
	if hits.Load() != 0 || lookups.Load() < 4 {
		t.Errorf("%d requests got through, %d look-ups", hits.Load(), lookups.Load())
	}
}

// TestRedirectsThroughAGuest follows what is allowed, hop by hop.
func TestRedirectsThroughAGuest(t *testing.T) {
	var port string
	var mu sync.Mutex
	var seen []string
	port = serve(t, func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.Host+r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		if to := r.URL.Query().Get("to"); to != "" {
			rw.Header().Set("Location", to)
			rw.WriteHeader(http.StatusFound)
			return
		}
		fmt.Fprint(rw, "arrived")
	})
	m := surfer(t, egress.Options{Rules: []egress.Rule{local("a.test", port),
		local("b.test", port)}}, host.Limits{})
	url := func(to string) string { return "http://a.test:" + port + "/start?to=" + to }
	for _, to := range []string{"/end", "http://b.test:" + port + "/end"} {
		got, _ := send(t, m, sent{URL: url(to), Headers: [][2]string{{"Authorization",
			"Bearer guest"}}})
		if got.Body != "arrived" || !strings.HasSuffix(got.URL, "/end") {
			t.Errorf("%s: %+v", to, got)
		}
	}
	want := "GET b.test:" + port + "/end "
	if last := seen[len(seen)-1]; last != want {
		t.Errorf("the other origin got %q, not %q", last, want)
	}
	for _, to := range []string{"http://c.test:" + port + "/", "http://127.0.0.1:" + port + "/",
		"http://169.254.169.254/latest/meta-data/", "http://2130706433:" + port + "/",
		"https://b.test:" + port + "/",
		"file:///etc/passwd", "http://user@b.test:" + port + "/", "http://b.test:1/"} {
		mu.Lock()
		seen = nil
		mu.Unlock()
		got, stats := send(t, m, sent{URL: url(to)})
		if got.Kind != "denied" || !strings.Contains(got.Message, "redirect 1") || len(seen) != 1 ||
			stats.Effects.Requests != 1 {
			t.Errorf("%s: %+v, %q, %+v", to, got, seen, stats.Effects)
		}
	}
}

// TestAnswers has what servers answer, and what a guest is told.
func TestAnswers(t *testing.T) {
	ended := make(chan struct{})
	port := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			rw.Header().Set("X-Reason", "gone")
			http.Error(rw, "there is no such page", http.StatusNotFound)
		case "/broken":
			http.Error(rw, "the server is ill", http.StatusInternalServerError)
		case "/long":
			_, _ = rw.Write(make([]byte, 1001))
		case "/exact":
			_, _ = rw.Write(make([]byte, 1000))
		case "/echo":
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(rw, "%s %d %q %q", r.Method, r.ContentLength, body, r.Header.Get("X-Mine"))
		case "/slow":
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		case "/cut":
			rw.Header().Set("Content-Length", "100")
			_, _ = rw.Write([]byte("short"))
		}
	})
	defer close(ended)
	m := surfer(t, egress.Options{Rules: []egress.Rule{local("a.test", port)},
		Limits: egress.Limits{Response: 1000, Request: 100}}, host.Limits{})
	for _, test := range []struct {
		s    sent
		want received
	}{
		{sent{URL: "/missing"}, received{Status: 404, Body: "there is no such page\n"}},
		{sent{URL: "/broken"}, received{Status: 500, Body: "the server is ill\n"}},
		{sent{URL: "/exact"}, received{Status: 200, Body: string(make([]byte, 1000))}},
		{sent{URL: "/long"}, received{Status: 200, Body: string(make([]byte, 1000)), Cut: true}},
		{sent{URL: "/echo", Method: "POST"}, received{Status: 200, Body: `POST 0 "" ""`}},
		{sent{URL: "/echo", Method: "PUT", Body: "x", Headers: [][2]string{{"x-mine", "y"}}},
			received{Status: 200, Body: `PUT 1 "x" "y"`}},
		{sent{URL: "/echo", Method: "DELETE"}, received{Kind: "denied"}},
		{sent{URL: "/echo", Method: "CONNECT"}, received{Kind: "denied"}},
		{sent{URL: "/echo", Method: "POST", Body: strings.Repeat("x", 101)},
			received{Kind: "too_large"}},
		{sent{URL: "/echo", Headers: [][2]string{{"X-A", "1\r\nX-B: 2"}}},
			received{Kind: "denied"}},
		{sent{URL: "/echo", Headers: [][2]string{{"X A", "1"}}}, received{Kind: "denied"}},
		{sent{URL: "/echo", Headers: [][2]string{{"Host", "b.test"}}}, received{Kind: "denied"}},
		{sent{URL: "/echo", Headers: [][2]string{{"Transfer-Encoding", "chunked"}}},
			received{Kind: "denied"}},
		{sent{URL: "/slow", TimeoutMS: 20}, received{Kind: "timeout"}},
		{sent{URL: "/cut"}, received{Kind: "network"}},
	} {
		name := test.s.Method + " " + test.s.URL
		test.s.URL = "http://a.test:" + port + test.s.URL
		got, stats := send(t, m, test.s)
		if got.Kind == "denied" && stats.Effects.Any() || got.Kind == "" &&
			stats.Effects.Requests != 1 {
			t.Errorf("%s: %+v", name, stats.Effects)
		}
		got.Message, got.URL, got.Headers = "", "", nil
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %+v; want %+v", name, got, test.want)
		}
	}
}

// callHTTP gives the host call http some bytes, and its answer as the reply.
func callHTTP(payload string) hosttest.Body {
	return func(k *hosttest.Kit) asm.Instr {
		return k.Bytes([]byte(payload)) + asm.Call(k.HTTP) + asm.Drop +
			asm.I32Const(hosttest.Scratch) + asm.I32Const(8<<10) + asm.Call(k.Result) +
			asm.LocalSet(0) +
			asm.I32Const(hosttest.Scratch) + asm.LocalGet(0) + asm.Call(k.Output)
	}
}

// TestHTTPIsValue gives the host call what it cannot read: a value, and not the guest's end.
func TestHTTPIsValue(t *testing.T) {
	e := hosttest.Engine(t)
	client := newClient(t, egress.Options{})
	for _, payload := range []string{"", "\xc1", "\x80", "\x81\xa3url\x01", "\x81\xa3url\xa1x\x00",
		"\xdd\xff\xff\xff\xff", "\x82\xa3url\xa1x\xa7headers\x91\x91\xa1a"} {
		wasm := hosttest.Plugin{Name: "t", Needs: abi.Needs{HTTP: []abi.HTTPNeed{{Host: "x",
			Optional: true}}},
			Call: callHTTP(payload)}.Bytes()
		m := hosttest.Compile(t, e, wasm, host.Policy{Grants: host.Grants{HTTP: client}})
		reply, err := call(t.Context(), m, "", nil)
		if err != nil || !strings.Contains(string(reply), "\xa4kind\xa7invalid") {
			t.Errorf("%q: %q, %v", payload, reply, err)
		}
	}
}

// TestSlowServer ends with the plugin's own time, and with its caller's patience.
func TestSlowServer(t *testing.T) {
	asked := make(chan struct{}, 10)
	port := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	client := newClient(t, egress.Options{Rules: []egress.Rule{local("a.test", port)}})
	line := "http GET http://a.test:" + port + "/"
	m := grantGuest(t, host.Policy{Limits: host.Limits{Time: 200 * time.Millisecond},
		Grants: host.Grants{HTTP: client}})
	_, stats, err := runTo(t.Context(), m, nil, "", line)
	if limit, ok := errors.AsType[*host.LimitError](err); !ok || limit.Limit != "time" ||
		stats.Effects.Requests != 1 {
		t.Errorf("%+v, %v", stats.Effects, err)
	}
	<-asked
	m = grantGuest(t, host.Policy{Limits: host.Limits{Time: time.Hour},
		Grants: host.Grants{HTTP: client}})
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	go func() { <-asked; cancel(reason) }()
	got, _, err := runTo(ctx, m, nil, "", line)
	// The guest is told, and has its grace to end by itself.
	if !errors.Is(err, reason) && (err != nil ||
		got[0] != "error cancelled: the caller has given up") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestWaitingTakesNoTurn lets more guests wait for a server than can run at a time, and another run
// meanwhile.
func TestWaitingTakesNoTurn(t *testing.T) {
	open := make(chan struct{})
	asked := make(chan struct{}, 100)
	port := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-open
		fmt.Fprint(rw, "open")
	})
	waiting := runtime.GOMAXPROCS(0) + 2
	m := surfer(t, egress.Options{Rules: []egress.Rule{local("a.test", port)}}, host.Limits{})
	var all sync.WaitGroup
	for range waiting {
		all.Go(func() {
			got, _, err := runTo(t.Context(), m, nil, "", "http GET http://a.test:"+port+"/")
			if err != nil || got[0] != "ok 200 open" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	for range waiting {
		<-asked
	}
	expect(t, m, []step{{"env", "ok"}})
	close(open)
	all.Wait()
}

// TestOutcomeUnknown has a guest that sends and then says that its arguments were wrong.
func TestOutcomeUnknown(t *testing.T) {
	port := serve(t, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "done") })
	m := surfer(t, egress.Options{Rules: []egress.Rule{local("a.test", port)}}, host.Limits{})
	_, stats, err := runTo(t.Context(), m, nil, "invalid", "http POST http://a.test:"+port+"/ {}")
	if f, ok := errors.AsType[*abi.Failure](err); !ok || f.Pointer != "/lines" ||
		stats.Effects.Requests != 1 {
		t.Errorf("%+v, %v", stats.Effects, err)
	}
	_, stats, _ = runTo(t.Context(), m, nil, "invalid", "http POST http://b.test:"+port+"/ {}")
	if stats.Effects.Any() {
		t.Errorf("a request that was denied: %+v", stats.Effects)
	}
}

// strangeHTTP is an HTTP that does as it likes.
type strangeHTTP func() (*egress.Response, error)

func (s strangeHTTP) Do(context.Context, *egress.Request) (*egress.Response, error) { return s() }

func TestStrangeHTTP(t *testing.T) {
	var do strangeHTTP
	m := grantGuest(t, host.Policy{Grants: host.Grants{
		HTTP: strangeHTTP(func() (*egress.Response, error) { return do() })}})
	const line = "http GET http://a.test/"
	do = func() (*egress.Response, error) { return nil, errors.New("the operator's business") }
	expect(t, m, []step{{line, "error internal: no request can be sent now"}})
	do = func() (*egress.Response, error) {
		return &egress.Response{Status: 200, Body: make([]byte, 64<<20+1)}, nil
	}
	expect(t, m, []step{{line,
		"error too_large: the answer has 67108865 bytes (64.0 MiB), more than 64 MiB"}})
	do = func() (*egress.Response, error) { panic("no network") }
	_, _, err := runTo(t.Context(), m, nil, "", line)
	if _, guests := errors.AsType[causeNamer](err); err == nil || guests ||
		!strings.Contains(err.Error(), "no network") {
		t.Errorf("%v", err)
	}
	do = func() (*egress.Response, error) { return &egress.Response{Status: 204}, nil }
	expect(t, m, []step{{line, "ok 204 "}})
}
