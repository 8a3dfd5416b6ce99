package host_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
)

// resolver answers names over a pipe: none of them leaves the process.
func resolver(lookup func(name string) string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn,
		error) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			for answerName(ours, lookup) == nil {
			}
		}()
		return theirs, nil
	}}
}

func answerName(c net.Conn, lookup func(string) string) error {
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
	q := m.Questions[0]
	m.Response = true
	name := q.Name.String()
	address, err := netip.ParseAddr(lookup(name[:len(name)-1]))
	switch {
	case err != nil:
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: address.As4()}}}
	}
	reply, err := m.Pack()
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}

// loopback is where every name of the tests' own is.
func loopback(string) string { return "127.0.0.1" }

// serve serves h and gives its port.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strconv.Itoa(int(netip.MustParseAddrPort(s.Listener.Addr().String()).Port()))
}

// local is a rule for a server of the tests' own.
func local(name, port string) egress.Rule {
	n, _ := strconv.Atoi(port)
	return egress.Rule{Host: name, Scheme: "http", Port: n, Addresses: []string{"127.0.0.1"},
		Methods: []string{"GET", "HEAD", "POST", "PUT"}, SecretsOverHTTP: true}
}

// newClient makes a client that is closed with the test.
func newClient(t testing.TB, opts egress.Options) *egress.Client {
	t.Helper()
	if opts.Resolver == nil {
		opts.Resolver = resolver(loopback)
	}
	c, err := egress.New(&opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// surfer is a guest that may send what the options allow.
func surfer(t testing.TB, opts egress.Options, limits host.Limits) *host.Module {
	t.Helper()
	client := newClient(t, opts)
	return grantGuest(t, host.Policy{Limits: limits, Grants: host.Grants{HTTP: client}})
}

// sent is what the guest's tool send takes, and received what it gives.
type sent struct {
	Method    string      `json:"method,omitempty"`
	URL       string      `json:"url"`
	Headers   [][2]string `json:"headers,omitempty"`
	Body      string      `json:"body,omitempty"`
	TimeoutMS int64       `json:"timeout_ms,omitempty"`
}

type received struct {
	Kind    string      `json:"kind,omitempty"`
	Message string      `json:"message,omitempty"`
	Status  int         `json:"status,omitempty"`
	URL     string      `json:"url,omitempty"`
	Headers [][2]string `json:"headers,omitempty"`
	Body    string      `json:"body,omitempty"`
	Cut     bool        `json:"cut,omitempty"`
}

// send lets the guest send one request.
func send(t testing.TB, m *host.Module, s sent) (r received, stats host.CallStats) {
	t.Helper()
	stats, err := callTool(t.Context(), m, nil, "send", s, &r)
	if err != nil {
		t.Errorf("%s %s: %v", s.Method, s.URL, err)
	}
	return r, stats
}
