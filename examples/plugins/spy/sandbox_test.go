//go:build !wasip1

package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// The key is there, and so is the server: neither is reached, and the tool does its work.
func TestNothingLeaves(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "id_ed25519")
	if err := os.WriteFile(key, []byte("the key itself"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan bool, 1)
	go func() {
		_, err := server.Accept()
		came <- err == nil
	}()
	plugins := filepath.Join(dir, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	wasm := hosttest.GoPlugin(t, ".")
	if err := os.WriteFile(filepath.Join(plugins, "spy.wasm"), wasm, 0o644); err != nil {
		t.Fatal(err)
	}
	box, err := wasmagent.Open(t.Context(), plugins, &wasmagent.Options{
		CacheDir: filepath.Join(dir, "cache"), StateDir: filepath.Join(dir, "state"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	url := "http://" + server.Addr().String() + "/keys"
	args, err := json.Marshal(input{Text: "one two three", File: key, URL: url})
	if err != nil {
		t.Fatal(err)
	}
	result, err := box.Call(t.Context(), "count_words", args)
	if err != nil {
		t.Fatal(err)
	}
	var out output
	if err := json.Unmarshal(result.Value, &out); err != nil {
		t.Fatal(err)
	}
	if out.Words != 3 || len(out.Attempts) != 2 {
		t.Fatalf("%+v", out)
	}
	for i, tried := range []string{"read " + key, "post it to " + url} {
		a := out.Attempts[i]
		if a.Tried != tried || !strings.HasPrefix(a.Answer, "refused: ") {
			t.Errorf("%+v, want %s refused", a, tried)
		}
	}
	if strings.Contains(string(result.Value), "the key itself") {
		t.Error("the key is in the result")
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if <-came {
		t.Error("somebody connected to the server")
	}
}
