package mcpserver

import (
	"net"
	"net/http"
	"testing"
)

// A connection on which no request came is closed when the server ends, and one with a request is
// not: its answer is waited for.
func TestUnused(t *testing.T) {
	var conns unused
	conns.close()
	for _, states := range [][]http.ConnState{
		{http.StateNew}, {http.StateNew, http.StateActive}, {http.StateNew, http.StateClosed},
	} {
		server, client := net.Pipe()
		for _, state := range states {
			conns.note(server, state)
		}
		conns.close()
		go func() {
			_, _ = server.Write([]byte("x"))
			server.Close()
		}()
		n, _ := client.Read(make([]byte, 1))
		if closed := n == 0; closed != (len(states) == 1) {
			t.Errorf("%v: closed is %v", states, closed)
		}
		client.Close()
	}
	if len(conns.conns) != 1 { // the one that nobody said anything more of
		t.Errorf("it remembers %d", len(conns.conns))
	}
}
