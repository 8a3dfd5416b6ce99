// Plugin goguest is the Go guest of the host's tests: what Go's runtime does under limits.
package main

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
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
	pdk.Register(pdk.Tool{Name: "first"}, first)
	pdk.Register(pdk.Tool{Name: "dice"}, dice)
	pdk.Register(pdk.Tool{Name: "nap"}, nap)
	time.AfterFunc(time.Millisecond, func() { fired.Add(1) })
}

var (
	calls int
	past  []string
	born  = time.Now()
	fired atomic.Int32
)

// first tells how many calls this guest has seen.
func first(_ *pdk.Call, in text) (text, error) {
	calls++
	past = append(past, strings.Repeat(in.Text, 1000))
	return text{fmt.Sprintf("call %d: %s", max(calls, len(past)), in.Text)}, nil
}

// dice tells all that a guest has of chance.
func dice(_ *pdk.Call, in text) (text, error) {
	fmt.Fprintln(os.Stderr, "rolling")
	seed := make([]byte, 8)
	if _, err := rand.Read(seed); err != nil {
		return text{}, err
	}
	set := map[int]bool{}
	for i := range 100 {
		set[i] = true
	}
	var order []int
	for i := range set {
		order = append(order, i)
	}
	time.Sleep(time.Second)
	return text{fmt.Sprintf("%x %d %v %d %d %s", seed, mathrand.Int(), order[:10],
		time.Now().UnixNano(), time.Since(born), in.Text)}, nil
}

// nap sleeps, and tells how old the guest is, in nanoseconds by the clock that never goes back, and
// how often the timer fired that was set when it began.
func nap(*pdk.Call, text) (text, error) {
	time.Sleep(3 * time.Millisecond)
	for range 100 { // the timer's goroutine may need a moment
		if fired.Load() > 0 {
			break
		}
		runtime.Gosched()
	}
	return text{fmt.Sprintf("%d %d", time.Since(born), fired.Load())}, nil
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
