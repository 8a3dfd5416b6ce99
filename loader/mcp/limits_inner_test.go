package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A line at the limit is whole, one past it is known by its ends, and the next one is read well.
func TestReadLine(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("abcd\nabcde\nx\r\ny"), 16)
	for _, want := range []line{{text: []byte("abcd")}, {long: true}, {text: []byte("x")},
		{text: []byte("y")}} {
		l, _ := readLine(in, 4)
		if l.long != want.long || !l.long && string(l.text) != string(want.text) {
			t.Errorf("%q %v, want %q %v", l.text, l.long, want.text, want.long)
		}
	}
}

func TestPings(t *testing.T) {
	s := newSieve(1000, func(string) {})
	ping := func(i int) bool {
		return s.pass(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)) != nil
	}
	answered := 0
	for i := range 1000 {
		if ping(i) {
			answered++
		}
	}
	if answered < pingBurst || answered == 1000 {
		t.Errorf("%d pings are answered", answered)
	}
}

func TestPace(t *testing.T) {
	p := pace{wait: time.Second, giveUp: time.Hour}
	for row, want := range map[int]time.Duration{0: 0, 1: 0, 2: time.Second, 3: 2 * time.Second,
		4: 4 * time.Second, MaxStarts: time.Hour} {
		d, hopeless := p.delay(starts{row, time.Now()})
		if d > want || want > 0 && d < want/2 || hopeless != (row >= MaxStarts) {
			t.Errorf("after %d starts: %v, hopeless %v", row, d, hopeless)
		}
	}
	if _, hopeless := p.delay(starts{MaxStarts, time.Now().Add(-2 * time.Hour)}); hopeless {
		t.Error("it is given up for ever")
	}
}

// All schemas of a server together have a limit, at which they pass.
func TestMaxSchemas(t *testing.T) {
	server := &Server{Name: "s", Bare: true}
	var tools []*sdk.Tool
	const each = 32 << 10
	for i := range MaxSchemas/each + 1 {
		schema := `{"type":"object","$comment":"","x":"` + strings.Repeat("x", each-40) + `"}`
		schema = strings.Replace(schema, `x"}`, strings.Repeat("y", each-len(schema)+1)+`"}`, 1)
		if len(schema) != each {
			t.Fatal(len(schema))
		}
		var v any
		if err := json.Unmarshal([]byte(schema), &v); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, &sdk.Tool{Name: fmt.Sprintf("t%02d", i), InputSchema: v})
	}
	o := newOffer(server, tools, nil, false, strings.Clone)
	if len(o.specs) != MaxSchemas/each || len(o.withheld) != 1 {
		t.Errorf("%d offered, withheld %v", len(o.specs), o.withheld)
	}
}
