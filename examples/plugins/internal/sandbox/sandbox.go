//go:build !wasip1

// Package sandbox runs the example plugins that need something as a host does: refused without it,
// and with it against servers of the test's own.
package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
)

// Plugin compiles the plugin in the test's directory, with what it is granted.
func Plugin(t *testing.T, g host.Grants, config map[string]abi.Raw) *host.Module {
	t.Helper()
	wasm := hosttest.GoPlugin(t, ".")
	return hosttest.Compile(t, hosttest.CachedEngine(t), wasm,
		host.Policy{Grants: g, Config: config})
}

// Refused gives what an operator is told of the plugin, called name, when it is granted nothing.
func Refused(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, name+".wasm")
	if err := os.WriteFile(file, hosttest.GoPlugin(t, "."), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := loader.OpenDir(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, p := range d.Plugins() {
		if e, ok := errors.AsType[*loader.NotAllowedError](p.Err); ok {
			return e.Error()
		}
	}
	t.Fatal("the plugin is not refused")
	return ""
}

// Call calls a tool with JSON under a key, "" for none, and gives its JSON result. A failure that
// the tool reports is an *abi.Failure.
func Call(t *testing.T, m *host.Module, tool, args, key string) (string, error) {
	t.Helper()
	input, err := transcode.AppendMsgpack(nil, []byte(args))
	if err != nil {
		t.Fatal(err)
	}
	req := abi.Request{Tool: tool, CallID: "test", Attempt: 1, IdempotencyKey: key, Input: input}
	b, _, err := m.Call(t.Context(), req, nil, nil)
	if err != nil {
		return "", err
	}
	reply, err := abi.ParseReply(b)
	switch {
	case err != nil:
		return "", err
	case reply.Failure != nil:
		return "", reply.Failure
	}
	text, err := transcode.AppendJSON(nil, reply.Value)
	return string(text), err
}

// Serve serves h on the loopback interface, and gives a client's options with which every name
// leads there, and a rule for one of them.
func Serve(t *testing.T, name string, h http.HandlerFunc) (rule egress.Rule, opts egress.Options) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	rule = egress.Rule{Host: name, Scheme: "http", Port: int(at.Port()),
		Addresses: []string{at.Addr().String()}}
	return rule, egress.Options{Resolver: resolver(at.Addr())}
}

// Client makes a client that is closed with the test.
func Client(t *testing.T, opts egress.Options) *egress.Client {
	t.Helper()
	c, err := egress.New(&opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// resolver says of every name that it is at one address. Nothing leaves the process.
func resolver(at netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn,
		error) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			for answer(ours, at) == nil {
			}
		}()
		return theirs, nil
	}}
}

func answer(c net.Conn, at netip.Addr) error {
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
	m.Response = true
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: at.As4()}}}
	}
	reply, err := m.Pack()
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}
