package egress

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

const benchBody = 4 << 10 // bytes of an answer

func benchServer(b *testing.B, w *world) int {
	body := bytes.Repeat([]byte(`{"name": "value", "number": 1}, `), benchBody/32)
	return w.http(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(body) })
}

// BenchmarkPlain is net/http on its own, for comparison.
func BenchmarkPlain(b *testing.B) {
	url := address("http", "127.0.0.1", benchServer(b, newWorld(b)), "/v1/items?q=1")
	client := &http.Client{Transport: &http.Transport{}}
	b.Cleanup(client.CloseIdleConnections)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || len(body) != benchBody {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}

// BenchmarkDo is the same request under a rule, without and with a secret.
func BenchmarkDo(b *testing.B) {
	for _, name := range []string{"rule", "secret"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			port := benchServer(b, w)
			opts := Options{Rules: []Rule{{Host: "127.0.0.1", Scheme: "http", Port: port, Path: "/v1",
				SecretsOverHTTP: true}}}
			if name == "secret" {
				opts.Secrets = []Secret{{"T", constant("ghp_0123456789abcdefghijklmnopqrstuvwxyz"),
					[]string{"127.0.0.1:" + portText(port)}, "bearer"}}
			}
			c := w.client(opts)
			url := address("http", "127.0.0.1", port, "/v1/items?q=1")
			b.ReportAllocs()
			for b.Loop() {
				resp, err := c.Do(b.Context(), &Request{URL: url})
				if err != nil || len(resp.Body) != benchBody {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDenied is a request that goes nowhere.
func BenchmarkDenied(b *testing.B) {
	c := newWorld(b).client(Options{Rules: []Rule{{Host: "a.test", Path: "/v1"}}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Do(b.Context(), &Request{URL: "https://a.test/v2"}); err == nil {
			b.Fatal("allowed")
		}
	}
}

// BenchmarkScrub is the speed of looking for secrets in texts without any.
func BenchmarkScrub(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	prose := []byte(strings.Repeat("It is said to be known. {\"key\": 12345, \"id\": null} ", 20_000))
	for _, text := range []struct {
		name string
		text []byte
	}{{"prose", prose}, {"noise", noise}} {
		for _, count := range []int{1, 8, 32} {
			b.Run(text.name+"/"+portText(count), func(b *testing.B) {
				words := make([]word, count)
				for i := range words {
					value := make([]byte, 40)
					for j := range value {
						value[j] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"[random.IntN(64)]
					}
					words[i] = word{string(value), "T"}
				}
				s := newScrubber(words)
				b.SetBytes(int64(len(text.text)))
				for b.Loop() {
					st := stream{s: s, out: make([]byte, 0, len(text.text))}
					for rest := text.text; len(rest) > 0; {
						n := min(len(rest), chunk)
						st.write(rest[:n])
						rest = rest[n:]
					}
					st.finish(true)
				}
			})
		}
	}
}

// BenchmarkNewScrubber is what a new value of a secret costs.
func BenchmarkNewScrubber(b *testing.B) {
	words := []word{{"ghp_0123456789abcdefghijklmnopqrstuvwxyz", "T"}}
	b.ReportAllocs()
	for b.Loop() {
		newScrubber(words)
	}
}
