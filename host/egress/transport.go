package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
)

// newTransport makes the connections of one rule. Each rule has its own, since a connection that
// one rule may have is not another's.
func newTransport(d *dialer, r *rule, l Limits, roots *x509.CertPool) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy: nil, // not the environment's
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return d.dial(ctx, network, address, r.addresses)
		},
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    TLSTimeout,
		Protocols:              protocols,
		DisableCompression:     true, // decoded by readBody, where the limit is
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idleConns,
		MaxConnsPerHost:        l.Concurrent,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: l.Headers,
	}
}

// dialer makes connections and knows those that are open, so that closing leaves none.
type dialer struct {
	resolver *net.Resolver
	life     context.Context // the client's

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{}
}

func newDialer(resolver *net.Resolver, life context.Context) *dialer {
	return &dialer{resolver: resolver, life: life, conns: map[*conn]struct{}{}}
}

// dial connects to one of a name's addresses. Each is checked once it is in the socket's hands:
// nothing looks a name up again after that.
func (d *dialer) dial(ctx context.Context, network, address string, granted []netip.Prefix) (
	net.Conn, error) {

	nd := net.Dialer{Timeout: DialTimeout, Resolver: d.resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return permit(ap.Addr(), granted)
		}}
	// The transport finishes what it began to dial even when its request has given up.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	nc, err := nd.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, dialer: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = nc.Close()
		return nil, ErrClosed
	}
	d.conns[c] = struct{}{}
	return c, nil
}

func (d *dialer) close() {
	d.mu.Lock()
	d.closed = true
	conns := d.conns
	d.conns = nil
	d.mu.Unlock()
	for c := range conns {
		_ = c.Conn.Close()
	}
}

type conn struct {
	net.Conn
	dialer *dialer
}

func (c *conn) Close() error {
	c.dialer.mu.Lock()
	delete(c.dialer.conns, c)
	c.dialer.mu.Unlock()
	return c.Conn.Close()
}
