// Package sdkwire is what a host and the process that runs Extism's SDK for it say to each other,
// over the process's standard input and output.
//
// The host opens with the modules and is told that they are Ready. For each Call the process sends
// Logs and Fetches, each of which the host answers with Fetched, and then it is Done. One call runs
// at a time, and the process ends with its input.
package sdkwire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
)

// Kind says what a frame is.
type Kind byte

const (
	Open    Kind = iota + 1 // host: Opening; the body is all modules, one behind the other
	Ready                   // process: Verdict
	Call                    // host: Calling; the body is the input
	Log                     // process: Line
	Fetch                   // process: egress.Request without its body, which is the frame's
	Fetched                 // host: Answer; the body is the response's
	Done                    // process: Verdict; the body is the output
)

// Opening is what a process works for all its life with.
type Opening struct {
	Names  []string // of the modules, "" for a nameless one
	Sizes  []int    // in bytes
	Config map[string]string
	Env    []string

	Memory    int64 // bytes that all memories of a call may have, the SDK's own too
	Output    int64 // bytes
	Variables int64 // bytes of a call's variables
	Response  int64 // bytes of an HTTP response's body, beyond what the host lets through
}

// Calling is the export to call.
type Calling struct{ Export string }

// Line is a guest's log line.
type Line struct {
	Level abi.Level
	Text  string
}

// Answer is a response, or why there is none.
type Answer struct {
	Status  int
	Headers []egress.Header
	Failure *abi.Failure
}

// Verdict says how a load or a call ended. No error is set when it ended well.
type Verdict struct {
	Failure  *abi.Failure        `json:",omitempty"` // the guest's own report
	Exit     *host.ExitError     `json:",omitempty"`
	Trap     *host.TrapError     `json:",omitempty"`
	Limit    *host.LimitError    `json:",omitempty"`
	Contract *host.ContractError `json:",omitempty"`
	Other    string              `json:",omitempty"` // any other error's text

	Stderr string // what the guest wrote there, its beginning
	Memory int64  // bytes that its memories had at the end
}

// Err is the error of a verdict, or nil.
func (v *Verdict) Err() error {
	switch {
	case v.Failure != nil:
		return v.Failure
	case v.Exit != nil:
		v.Exit.Stderr = v.Stderr
		return v.Exit
	case v.Trap != nil:
		v.Trap.Stderr = v.Stderr
		return v.Trap
	case v.Limit != nil:
		v.Limit.Stderr = v.Stderr
		return v.Limit
	case v.Contract != nil:
		v.Contract.Stderr = v.Stderr
		return v.Contract
	case v.Other != "":
		return errors.New(v.Other)
	}
	return nil
}

// Set makes err the verdict's.
func (v *Verdict) Set(err error) {
	switch {
	case err == nil:
	case errors.As(err, &v.Failure), errors.As(err, &v.Exit), errors.As(err, &v.Trap),
		errors.As(err, &v.Limit), errors.As(err, &v.Contract):
	default:
		v.Other = err.Error()
	}
}

// MaxHead is how long a frame's head may be, in bytes.
const MaxHead = 1 << 20

// headerBytes are a frame's kind and the lengths of its head and body.
const headerBytes = 1 + 4 + 4

// Send writes a frame.
func Send(w io.Writer, kind Kind, head any, body []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if len(text) > MaxHead {
		return fmt.Errorf("a head of %d bytes, more than %d", len(text), MaxHead)
	}
	b := make([]byte, 0, headerBytes+len(text)+len(body))
	b = append(b, byte(kind))
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	_, err = w.Write(append(append(b, text...), body...))
	return err
}

// Frame is a frame that came in.
type Frame struct {
	Kind Kind
	Head json.RawMessage
	Body []byte
}

// Receive reads a frame with a body of at most so many bytes.
func Receive(r io.Reader, most int64) (Frame, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: Kind(header[0])}
	head, body := binary.BigEndian.Uint32(header[1:]), binary.BigEndian.Uint32(header[5:])
	if head > MaxHead || int64(body) > most {
		return Frame{}, fmt.Errorf("a frame of %d and %d bytes, more than %d and %d", head, body,
			MaxHead, most)
	}
	var all bytes.Buffer // which grows as bytes come, not as they are announced
	if _, err := io.CopyN(&all, r, int64(head)+int64(body)); err != nil {
		return Frame{}, err
	}
	f.Head, f.Body = all.Bytes()[:head:head], all.Bytes()[head:]
	return f, nil
}

// Expect reads the frame of a kind into head.
func (f *Frame) Expect(kind Kind, head any) error {
	if f.Kind != kind {
		return fmt.Errorf("a frame of kind %d where one of %d belongs", f.Kind, kind)
	}
	return json.Unmarshal(f.Head, head)
}
