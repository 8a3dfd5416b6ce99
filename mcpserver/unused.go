package mcpserver

import (
	"net"
	"net/http"
	"sync"
)

// unused are the connections on which no request has come yet. Clients open some in advance, and a
// server that ends gives each five seconds to say something.
type unused struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// note is a server's ConnState.
func (u *unused) note(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.conns, conn)
		return
	}
	if u.conns == nil {
		u.conns = map[net.Conn]struct{}{}
	}
	u.conns[conn] = struct{}{}
}

// close closes them.
func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for conn := range u.conns {
		conn.Close()
	}
}
