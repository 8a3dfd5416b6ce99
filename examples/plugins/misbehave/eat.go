package main

import (
	"io"
	"os"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

// registerEaters adds the tools that take more than there is.
func registerEaters() {
	add("loop", "Loop for ever, without a call to the host.", loop)
	add("recurse", "Call itself for ever, until the stack or the memory is used up.",
		func(*pdk.Call, none) (int, error) { return recurse(1), nil })
	add("allocate", "Allocate memory for ever.", allocate)
	add("huge_output", "Give back a string of so many bytes.", hugeOutput)
	add("flood", "Write so many bytes to stdout and as many to stderr, and then succeed.", flood)
	add("sleep", "Sleep for so many seconds, an hour if not told otherwise.", sleep)
	add("read_stdin", "Read stdin to its end and say how long it was.", readStdin)
}

func loop(_ *pdk.Call, in none) (none, error) {
	for n := 0; n >= 0; {
		n ^= 1
	}
	return in, nil
}

// recurse has a frame of a kilobyte, so that it gets where it is going quickly.
//
//go:noinline
func recurse(n int) int {
	if n < 0 {
		return 0 // it never is
	}
	var frame [128]int
	frame[n%len(frame)] = recurse(n + 1)
	return frame[(n+1)%len(frame)] + 1
}

const allocateStep = 4 << 20 // bytes

var hoard [][]byte

func allocate(*pdk.Call, none) (none, error) {
	for {
		hoard = append(hoard, make([]byte, allocateStep))
	}
}

type bytesInput struct {
	Bytes int `json:"bytes" doc:"How many." min:"0" max:"1073741824" default:"33554432"`
}

func hugeOutput(_ *pdk.Call, in bytesInput) (string, error) {
	return strings.Repeat("x", in.Bytes), nil
}

type floodInput struct {
	Bytes int `json:"bytes" doc:"How many." min:"0" max:"1073741824" default:"1048576"`
}

const floodLine = "the tide is coming in, and there is nothing that anybody can do about it\n"

func flood(_ *pdk.Call, in floodInput) (none, error) {
	for left := in.Bytes; left > 0; left -= len(floodLine) {
		line := floodLine[:min(left, len(floodLine))]
		if _, err := os.Stdout.WriteString(line); err != nil {
			return none{}, err
		}
		if _, err := os.Stderr.WriteString(line); err != nil {
			return none{}, err
		}
	}
	return none{}, nil
}

type sleepInput struct {
	Seconds int `json:"seconds" min:"0" default:"3600"`
}

func sleep(_ *pdk.Call, in sleepInput) (none, error) {
	time.Sleep(time.Duration(in.Seconds) * time.Second)
	return none{}, nil
}

type stdinOutput struct {
	Bytes int64 `json:"bytes"`
}

func readStdin(*pdk.Call, none) (stdinOutput, error) {
	n, err := io.Copy(io.Discard, os.Stdin)
	return stdinOutput{n}, err
}
