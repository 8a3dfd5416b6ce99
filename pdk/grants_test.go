package pdk_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

// memo is what a plugin keeps.
type memo struct {
	Text  string   `json:"text"`
	Count uint64   `json:"count"`
	Tags  []string `json:"tags,omitempty"`
}

// ops is a list of what to do with the key-value space.
type ops struct {
	Ops  []string `json:"ops"`
	Fail bool     `json:"fail,omitempty"`
}

func init() {
	pdk.Register(pdk.Tool{Name: "keep"}, func(c *pdk.Call, in ops) ([]string, error) {
		var out []string
		for _, op := range in.Ops {
			out = append(out, keep(pdk.KV(c), strings.Fields(op)))
		}
		if in.Fail {
			return nil, errors.New("changed its mind")
		}
		return out, nil
	})
	pdk.Register(pdk.Tool{Name: "ask"}, func(c *pdk.Call, in struct {
		URL string `json:"url"`
	}) (string, error) {
		resp, err := pdk.HTTP(c).Get(in.URL)
		if err != nil {
			return "", fmt.Errorf("asking: %w", err)
		}
		return fmt.Sprint(resp.Status, " ", string(resp.Body), " ",
			pdk.HeaderOf(resp.Headers, "content-TYPE")), nil
	})
}

func keep(kv pdk.KVSpace, f []string) string {
	var m memo
	var ok bool
	var err error
	switch f[0] {
	case "get":
		if ok, err = kv.Get(f[1], &m); ok && err == nil {
			return fmt.Sprint(m.Text, m.Count, m.Tags)
		}
	case "set":
		err = kv.Set(f[1], memo{f[2], 1<<64 - 1, f[3:]})
	case "text":
		err = kv.Set(f[1], f[2])
	case "channel":
		err = kv.Set(f[1], make(chan int))
	case "delete":
		err = kv.Delete(f[1])
	case "list":
		var keys []string
		var more bool
		keys, more, err = kv.List("", "", len(f))
		return fmt.Sprint(keys, more, err)
	case "long":
		err = kv.Set(strings.Repeat("k", 513), "v")
	}
	return fmt.Sprint(ok, " ", err)
}

func TestKV(t *testing.T) {
	h := &pdktest.Host{Remembers: map[string]pdk.Raw{}}
	got, err := h.Call("keep",
		`{"ops": ["get a", "set a x t u", "get a", "text b y", "get b", "list", "list 2 3",
		"channel c", "long", "delete b", "delete b", "list"]}`)
	want := `["false <nil>","false <nil>","x18446744073709551615 [t u]","false <nil>","true want an object, have a string",` +
		`"[a] true <nil>","[a b] false <nil>","false a chan int has no JSON form",` +
		`"false too_large: a key has at most 512 bytes, a value 1048576",` +
		`"false <nil>","false <nil>","[a] false <nil>"]`
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if _, ok := h.Remembers["a"]; !ok || len(h.Remembers) != 1 {
		t.Errorf("%q", h.Remembers)
	}
	if _, err := h.Call("keep", `{"ops": ["delete a", "text z z"], "fail": true}`); err == nil {
		t.Error("no error")
	}
	if _, ok := h.Remembers["a"]; !ok || len(h.Remembers) != 1 {
		t.Errorf("a call that failed has changed %q", h.Remembers)
	}
	if got, err := pdktest.Call("keep", `{"ops": ["text a b"]}`); err != nil ||
		!strings.Contains(got, "denied: ") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestHTTP(t *testing.T) {
	h := &pdktest.Host{Respond: func(r *pdk.Request) (*pdk.Response, error) {
		switch r.URL {
		case "a":
			return &pdk.Response{Status: 200, Body: []byte("hello"), Headers: []pdk.Header{
					{Name: "Content-Length", Value: "5"}, {Name: "Content-Type", Value: "text/plain"}}},
				nil
		case "b":
			return nil, &pdk.HostError{Kind: pdk.Timeout, Message: "too slow"}
		}
		return nil, errors.New("no route")
	}}
	if got, err := h.Call("ask", `{"url": "a"}`); err != nil || got != `"200 hello text/plain"` {
		t.Errorf("%s, %v", got, err)
	}
	for url, want := range map[string]pdk.Failure{
		"b": {Code: "timeout", Message: "asking: timeout: too slow"},
		"c": {Code: "network", Message: "asking: network: no route"},
	} {
		_, err := h.Call("ask", fmt.Sprintf(`{"url": %q}`, url))
		var f *pdk.Failure
		if !errors.As(err, &f) || !reflect.DeepEqual(*f, want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	_, err := pdktest.Call("ask", `{"url": "a"}`)
	var f *pdk.Failure
	if !errors.As(err, &f) || f.Code != "denied" || !f.Permanent {
		t.Errorf("%v", err)
	}
}

func TestHostErrors(t *testing.T) {
	err := fmt.Errorf("in passing: %w", &pdk.HostError{Kind: pdk.Quota, Message: "full"})
	if !errors.Is(err, pdk.Quota) || errors.Is(err, pdk.Denied) {
		t.Error("kinds are not told apart")
	}
}
