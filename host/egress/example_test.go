package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/wasmagent/wasmagent/host/egress"
)

// A client reaches what its rules name, and an error says what would have to be added.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "hello, your key is %s", r.Header.Get("X-Key"))
	}))
	defer server.Close()
	at := netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))

	client, err := egress.New(&egress.Options{
		Rules: []egress.Rule{{Host: "127.0.0.1", Scheme: "http", Port: int(at.Port()),
			SecretsOverHTTP: true}},
		Secrets: []egress.Secret{{
			Name:  "KEY",
			From:  func(context.Context) (string, error) { return "correct horse", nil },
			Hosts: []string{at.String()},
			As:    "header X-Key",
		}},
	})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	resp, err := client.Do(context.Background(), &egress.Request{URL: server.URL})
	fmt.Printf("%d %s %v\n", resp.Status, resp.Body, err)
	_, err = client.Do(context.Background(), &egress.Request{Method: "POST",
		URL: "https://example.org/x"})
	fmt.Println(err, errors.Is(err, egress.Denied))
	// Output:
	// 200 hello, your key is [secret KEY] <nil>
	// POST https://example.org/x: no rule allows the host example.org; to allow it: { host = "example.org", methods = ["POST"] } true
}
