package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// world is a small internet on the loopback interface: names, certificates and servers.
type world struct {
	t     testing.TB
	names map[string]func() []string // what a name resolves to, asked each time
	roots *x509.CertPool
	cert  tls.Certificate
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, names: map[string]func() []string{}, roots: x509.NewCertPool()}
	w.cert = certificate(t, "a.test", "b.test", "sub.a.test")
	w.roots.AddCert(w.cert.Leaf)
	for _, name := range []string{"a.test", "b.test", "sub.a.test"} {
		w.names[name] = func() []string { return []string{"127.0.0.1"} }
	}
	return w
}

// http serves h and gives its port.
func (w *world) http(h http.HandlerFunc) int {
	w.t.Helper()
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	return portOf(w.t, s.Listener.Addr())
}

// https is http with a certificate for the world's names.
func (w *world) https(h http.HandlerFunc) int {
	w.t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes are refused on purpose
	s.TLS = &tls.Config{Certificates: []tls.Certificate{w.cert}}
	s.EnableHTTP2 = true // for whoever asks
	s.StartTLS()
	w.t.Cleanup(s.Close)
	return portOf(w.t, s.Listener.Addr())
}

// raw answers every connection with bytes, after it has read the head of a request, and closes it.
func (w *world) raw(answer string) int {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	})
	w.t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return portOf(w.t, l.Addr())
}

func portOf(t testing.TB, a net.Addr) int {
	t.Helper()
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		t.Fatal(err)
	}
	return int(ap.Port())
}

// client makes a client in this world that is closed with the test.
func (w *world) client(opts Options) *Client {
	w.t.Helper()
	opts.Resolver = w.resolver()
	opts.RootCAs = w.roots
	c, err := New(&opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// resolver answers over a pipe, so that no name leaves the process.
func (w *world) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn,
		error) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			for w.answer(ours) == nil {
			}
		}()
		return theirs, nil
	}}
}

func (w *world) answer(c net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	question := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, question); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return err
	}
	w.resolve(&m)
	reply, err := m.Pack()
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}

func (w *world) resolve(m *dnsmessage.Message) {
	q := m.Questions[0]
	m.Response, m.RecursionAvailable = true, true
	addresses, ok := w.names[q.Name.String()[:len(q.Name.String())-1]]
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0}
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {
		return
	}
	for _, text := range addresses() {
		a := netip.MustParseAddr(text)
		if a.Is4() && q.Type == dnsmessage.TypeA {
			body := &dnsmessage.AResource{A: a.As4()}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: body})
		}
		if a.Is6() && q.Type == dnsmessage.TypeAAAA {
			body := &dnsmessage.AAAAResource{AAAA: a.As16()}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: body})
		}
	}
}

func certificate(t testing.TB, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// local is a rule for a server of this world over http, with any of the methods that tests use.
func local(host string, port int) Rule {
	return Rule{Host: host, Scheme: "http", Port: port, Addresses: []string{"127.0.0.1"},
		Methods: []string{"GET", "HEAD", "POST", "PUT"}}
}

func secure(host string, port int) Rule {
	return Rule{Host: host, Port: port, Addresses: []string{"127.0.0.1"},
		Methods: []string{"GET", "HEAD", "POST", "PUT"}}
}

func address(scheme, host string, port int, path string) string {
	return scheme + "://" + host + ":" + strconv.Itoa(port) + path
}

// get is a GET that must be answered.
func get(t testing.TB, c *Client, url string, headers ...Header) *Response {
	t.Helper()
	resp, err := c.Do(t.Context(), &Request{URL: url, Headers: headers})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// refused is a request that must end with an *Error of a kind and part.
func refused(t testing.TB, c *Client, req *Request, kind Kind, part string) *Error {
	t.Helper()
	resp, err := c.Do(t.Context(), req)
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		t.Fatalf("%v %v: no *Error", resp, err)
	}
	if e.Kind != kind || e.Part != part {
		t.Fatalf("kind %s, part %s; not %s, %s: %v", e.Kind, e.Part, kind, part, e)
	}
	return e
}

func (r *Response) header(name string) string {
	for _, h := range r.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

func portText(port int) string { return strconv.Itoa(port) }

// constant is a secret that is always the same.
func constant(value string) Source {
	return func(context.Context) (string, error) { return value, nil }
}
