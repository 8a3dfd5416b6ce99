// Command is a WASI command for the tests: what it does is its first argument.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// left is what an earlier call would leave behind.
var left = "nothing"

func main() {
	do := ""
	if len(os.Args) > 1 {
		do = os.Args[1]
	}
	switch do {
	case "args":
		fmt.Printf("%q", os.Args)
	case "cat":
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			panic(err)
		}
	case "env":
		fmt.Print(strings.Join(os.Environ(), " "))
	case "exit":
		fmt.Println("half a result")
		fmt.Fprintln(os.Stderr, "no such city: Atlantis")
		os.Exit(3)
	case "panic":
		panic("a mistake")
	case "leave":
		fmt.Print(left)
		left = "a secret"
		if err := os.WriteFile("/tmp/left", nil, 0o600); err != nil {
			fmt.Print(", ", err)
		}
		_, err := os.Stat("/tmp/left")
		fmt.Print(", ", err)
	case "flood":
		w := bufio.NewWriter(os.Stdout)
		for range 1 << 12 {
			fmt.Fprint(w, strings.Repeat("x", 1<<10))
		}
		w.Flush()
	case "loop":
		for {
		}
	case "grow":
		var kept [][]byte
		for {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "read":
		b, err := os.ReadFile(os.Args[2])
		fmt.Print(string(b), err)
	}
}
