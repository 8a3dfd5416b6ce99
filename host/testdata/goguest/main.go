// Plugin goguest is the Go guest of the host's tests: what Go's runtime does under limits.
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

type text struct {
	Text string `json:"text"`
}

func init() {
	pdk.Plugin("goguest", "1.0.0")
	pdk.Register(pdk.Tool{Name: "echo"}, func(_ *pdk.Call, in text) (text, error) { return in, nil })
	pdk.Register(pdk.Tool{Name: "upper"}, func(_ *pdk.Call, in text) (text, error) {
		return text{strings.ToUpper(in.Text)}, nil
	})
	pdk.Register(pdk.Tool{Name: "panic"}, func(_ *pdk.Call, in text) (text, error) { panic(in.Text) })
	pdk.Register(pdk.Tool{Name: "exit"}, func(*pdk.Call, text) (text, error) {
		os.Exit(3)
		return text{}, nil
	})
	pdk.Register(pdk.Tool{Name: "hoard"}, func(*pdk.Call, text) (text, error) {
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
			runtime.KeepAlive(all)
		}
	})
	pdk.Register(pdk.Tool{Name: "sleep"}, func(*pdk.Call, text) (text, error) {
		time.Sleep(time.Hour)
		return text{}, nil
	})
	pdk.Register(pdk.Tool{Name: "world"}, world)
}

// world tells what a guest finds of the world.
func world(*pdk.Call, text) (text, error) {
	seed := make([]byte, 8)
	if _, err := rand.Read(seed); err != nil {
		return text{}, err
	}
	_, read := os.ReadFile("/etc/passwd")
	_, list := os.ReadDir("/")
	return text{fmt.Sprintf("year %d, random %x, environment %q, arguments %q, read %v, list %v",
		time.Now().Year(), seed, os.Environ(), os.Args, read != nil, list != nil)}, nil
}

func main() {}
