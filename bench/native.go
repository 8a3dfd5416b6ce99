package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
)

// serveJSON is the tools as Go functions behind encoding/json.
func serveJSON(tool string, in []byte) ([]byte, error) {
	var m message
	if err := json.Unmarshal(in, &m); err != nil {
		return nil, err
	}
	return json.Marshal(message{work(tool, m.Text)})
}

type native struct{}

func newNative(context.Context, *arena) (contender, error) { return native{}, nil }

func (native) Name() string                    { return nameNative }
func (native) Call(p *payload) ([]byte, error) { return serveJSON(p.tool, p.json) }
func (native) Close() error                    { return nil }

// subprocess starts a small program for each call: JSON on its stdin, JSON from its stdout.
type subprocess struct{ program string }

func newSubprocess(context.Context, *arena) (contender, error) {
	program, err := nativeChild()
	return subprocess{program}, err
}

func (subprocess) Name() string { return nameSubprocess }

func (c subprocess) Call(p *payload) ([]byte, error) {
	cmd := exec.Command(c.program, p.tool)
	cmd.Stdin = bytes.NewReader(p.json)
	reply, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return reply, err
}

func (subprocess) Close() error { return nil }
