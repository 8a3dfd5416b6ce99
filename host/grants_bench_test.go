package host_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/kv"
)

// BenchmarkGrants is a call of a Go guest: with nothing granted, with grants that it does not use,
// and with each that it does.
func BenchmarkGrants(b *testing.B) {
	dir := b.TempDir()
	store, err := kv.Open(filepath.Join(dir, "kv"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	port := serve(b, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "hello") })
	all := host.Policy{Grants: host.Grants{
		Files: []host.Mount{{Host: dir, Guest: "/data", Write: true},
			{Guest: "/tmp", Scratch: true}},
		KV: store.Space("bench"), Env: map[string]string{"A": "b"},
		HTTP: newClient(b, egress.Options{Rules: []egress.Rule{local("a.test", port)}}),
	}}
	none, granted := grantGuest(b, host.Policy{}), grantGuest(b, all)
	run(b, granted, "fill /data/file 1000", "set key value")
	for _, bench := range []struct {
		name  string
		m     *host.Module
		lines []string
	}{
		{"none", none, nil},
		{"unused", granted, nil},
		{"a line", granted, []string{"env"}},
		{"stat", granted, []string{"stat /data/file"}},
		{"read 1 kB", granted, []string{"read /data/file"}},
		{"write 1 kB", granted, []string{"fill /data/file 1000"}},
		{"scratch 1 kB", granted, []string{"fill /tmp/file 1000"}},
		{"kv get", granted, []string{"get key"}},
		{"kv set", granted, []string{"set key value"}},
		{"http", granted, []string{"http GET http://a.test:" + port + "/"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			req := abi.Request{Tool: "run", Attempt: 1, Input: lines(b, bench.lines...)}
			var reply []byte
			for b.Loop() {
				var err error
				if reply, _, err = bench.m.Call(b.Context(), req, nil, reply[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
