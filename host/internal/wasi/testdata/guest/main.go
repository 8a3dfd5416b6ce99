// The guest looks at everything that WASI tells a Go program, and lets it wait.
package main

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

var (
	armed = make(chan string, 1)
	began = time.Now()
)

func init() {
	time.AfterFunc(time.Hour, func() { armed <- "fired" })
}

func main() {
	fmt.Println("args", os.Args, "env", os.Environ())
	_, err := bufio.NewReader(os.Stdin).ReadByte()
	fmt.Println("stdin at its end:", errors.Is(err, io.EOF))
	_, err = os.ReadFile("/etc/passwd")
	fmt.Println("file refused:", err != nil, "not there:", errors.Is(err, fs.ErrNotExist))

	time.Sleep(2 * time.Hour)
	fmt.Println("armed while initialising:", <-armed)
	fmt.Println("slept long enough:", time.Since(began) >= 2*time.Hour)
	select {
	case <-time.After(time.Minute):
		fmt.Println("after a minute")
	case <-armed:
	}
	fmt.Println("now", time.Now().UTC().Format(time.RFC3339))
	fmt.Printf("random %x\n", random())
	fmt.Fprintln(os.Stderr, "a word on stderr")
	os.Exit(3)
}

func random() (b [8]byte) {
	_, _ = rand.Read(b[:])
	return b
}
