package egress_test

import (
	"context"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent/host/egress"
)

func TestFacts(t *testing.T) {
	from := func(context.Context) (string, error) { return "a value of sixteen", nil }
	c, err := egress.New(&egress.Options{
		Rules: []egress.Rule{
			{Host: "API.example.org."},
			{Host: "*.example.net", Methods: []string{"POST"}},
		},
		Secrets: []egress.Secret{
			{Name: "B", From: from, Hosts: []string{"api.example.org"}, As: "bearer"},
			{Name: "A", From: from, Hosts: []string{"api.example.org"}, As: "header X-Key"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, test := range []struct {
		host, method string
		want         bool
	}{
		{"api.example.org", "GET", true},
		{"API.EXAMPLE.ORG", "HEAD", true},
		{"api.example.org", "POST", false},
		{"example.org", "GET", false},
		{"a.example.net", "POST", true},
		{"*.example.net", "POST", true},
		{"*.b.example.net", "POST", true},
		{"*.net", "POST", false},
		{"example.net", "POST", false},
		{"a.example.net", "GET", false},
		{"not a host", "GET", false},
		{"*", "GET", false},
	} {
		if got := c.Allows(test.host, test.method); got != test.want {
			t.Errorf("%s %s: %v", test.method, test.host, got)
		}
	}
	if got := c.Secrets(); !slices.Equal(got, []string{"B", "A"}) {
		t.Errorf("secrets %q", got)
	}
}
