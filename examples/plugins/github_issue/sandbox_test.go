//go:build !wasip1

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/examples/plugins/internal/sandbox"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
)

const token = "ghp_0123456789abcdefABCDEF"

// TestInTheSandbox opens an issue with a token that the plugin does not have, once for a key.
func TestInTheSandbox(t *testing.T) {
	var issues []issue
	valid := token
	rule, opts := sandbox.Serve(t, "api.github.com", func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+valid {
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(rw, `{"message": "Bad credentials: %s"}`, r.Header.Get("Authorization"))
			return
		}
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(rw).Encode(issues)
			return
		}
		made := issue{Number: len(issues) + 1, URL: "https://github.com/o/r/issues/1"}
		_ = json.NewDecoder(r.Body).Decode(&struct{ Body *string }{&made.Body})
		issues = append(issues, made)
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(made)
	})
	rule.Methods, rule.SecretsOverHTTP = []string{"GET", "POST"}, true
	opts.Rules = []egress.Rule{rule}
	opts.Secrets = []egress.Secret{{Name: "token", As: "bearer",
		Hosts: []string{fmt.Sprintf("api.github.com:%d", rule.Port)},
		From:  func(context.Context) (string, error) { return token, nil }}}
	m := sandbox.Plugin(t, host.Grants{HTTP: sandbox.Client(t, opts)}, map[string]abi.Raw{
		"api_url": abi.AppendString(nil, fmt.Sprintf("http://api.github.com:%d", rule.Port))})
	args := `{"repository": "o/r", "title": "It is broken", "body": "Look."}`
	for i, want := range []string{
		`{"number":1,"url":"https://github.com/o/r/issues/1"}`,
		`{"number":1,"url":"https://github.com/o/r/issues/1","existed":true}`,
	} {
		if got, err := sandbox.Call(t, m, "create_issue", args, "order 7"); err != nil ||
			got != want {
			t.Errorf("attempt %d: %s, %v", i, got, err)
		}
	}
	if len(issues) != 1 || !strings.HasPrefix(issues[0].Body, "Look.") {
		t.Errorf("%+v", issues)
	}
	valid = "another"
	_, err := sandbox.Call(t, m, "create_issue", args, "")
	text := fmt.Sprint(err)
	if !strings.HasPrefix(text, "auth_required: ") || strings.Contains(text, token[4:]) ||
		!strings.Contains(text, "[secret token]") {
		t.Errorf("%v", err)
	}
}

func TestRefused(t *testing.T) {
	want := `wasmagent allow github_issue --http 'GET,POST api.github.com' --secret token=env:VARIABLE@HOST`
	if got := sandbox.Refused(t, "github_issue"); !strings.HasSuffix(got, want) {
		t.Error(got)
	}
}
