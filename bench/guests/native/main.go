// Command native does one tool's work and ends: what a program that is started for each call has to
// be at least. The tool is its argument; JSON comes on stdin and goes to stdout.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

func main() {
	var message struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&message); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Args[1] == "upper" {
		message.Text = strings.ToUpper(message.Text)
	}
	if err := json.NewEncoder(os.Stdout).Encode(message); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
