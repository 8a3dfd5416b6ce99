package mcpserver

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An id names one request until that is answered.
func TestIDInUse(t *testing.T) {
	var in, out bytes.Buffer
	for _, id := range []int{1, 1, 2} {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id)
	}
	c, err := lines{io.NopCloser(&in), &out}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, want := range []int64{1, 2} {
		message, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if id := message.(*jsonrpc.Request).ID.Raw(); id != want {
			t.Errorf("read %v, want %d", id, want)
		}
	}
	if text := out.String(); strings.Count(text, "-32600") != 1 {
		t.Errorf("refused with %q", text)
	}
}

// A client over stdio may have so many requests without an answer, of whatever kind, and then as
// many as it gets answers.
func TestUnansweredAreBounded(t *testing.T) {
	var in, out bytes.Buffer
	for i := range MaxRequests + 2 {
		method := []string{"ping", methodListen}[i%2]
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":%q}`+"\n", i, method)
		if i == MaxRequests {
			fmt.Fprintln(&in, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
		}
	}
	c, err := lines{io.NopCloser(&in), &out}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := func() *jsonrpc.Request {
		t.Helper()
		message, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return message.(*jsonrpc.Request)
	}
	var first *jsonrpc.Request
	for i := range MaxRequests {
		req := read()
		if first == nil {
			first = req
		}
		if req.ID.Raw() != int64(i) || out.Len() > 0 {
			t.Fatalf("request %d: %v, %s", i, req.ID.Raw(), out.String())
		}
	}
	if req := read(); req.IsCall() {
		t.Errorf("one request too many: %v", req.ID.Raw())
	}
	if text := out.String(); !strings.Contains(text, `"id":1024`) || !strings.Contains(text, "-32000") {
		t.Errorf("refused with %q", text)
	}
	if err := c.Write(t.Context(), &jsonrpc.Response{ID: first.ID, Result: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if req := read(); req.ID.Raw() != int64(MaxRequests+1) {
		t.Errorf("after an answer: %v", req.ID.Raw())
	}
}
