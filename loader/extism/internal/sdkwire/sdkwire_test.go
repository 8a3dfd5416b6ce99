package sdkwire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	if err := Send(&b, Call, Calling{Export: "run"}, []byte("input")); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	f, err := Receive(bytes.NewReader(whole), 5)
	var calling Calling
	if err == nil {
		err = f.Expect(Call, &calling)
	}
	if err != nil || calling.Export != "run" || string(f.Body) != "input" {
		t.Errorf("%+v, %q, %v", calling, f.Body, err)
	}
	if err := f.Expect(Done, &calling); err == nil {
		t.Error("a call was taken for an end")
	}
	if _, err := Receive(bytes.NewReader(whole), 4); err == nil {
		t.Error("a body past the limit was taken")
	}
	for n := range whole {
		if _, err := Receive(bytes.NewReader(whole[:n]), 5); err == nil {
			t.Errorf("%d of %d bytes were taken for a frame", n, len(whole))
		}
	}
}

// A head of MaxHead bytes passes, one of a byte more does not, in either direction.
func TestMaxHead(t *testing.T) {
	const quotes = 2
	for _, more := range []int{0, 1} {
		text := strings.Repeat("x", MaxHead-quotes+more)
		if err := Send(io.Discard, Log, text, nil); (err == nil) != (more == 0) {
			t.Errorf("sending %d more: %v", more, err)
		}
		var b []byte
		b = append(b, byte(Log))
		b = binary.BigEndian.AppendUint32(b, uint32(MaxHead+more))
		b = binary.BigEndian.AppendUint32(b, 0)
		b = append(b, `"`+text+`"`...)
		if _, err := Receive(bytes.NewReader(b), 0); (err == nil) != (more == 0) {
			t.Errorf("receiving %d more: %v", more, err)
		}
	}
}

// What is announced is not allocated before it comes.
func TestLyingLength(t *testing.T) {
	b := append([]byte{byte(Done)}, 0, 0, 0, 2, 0x3f, 0xff, 0xff, 0xff, '{', '}')
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Receive(bytes.NewReader(b), 1<<30); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 1<<20 {
		t.Errorf("%d bytes were allocated for a gigabyte that did not come", allocated)
	}
}

// An error is the same behind the wire, and has the guest's stderr.
func TestVerdict(t *testing.T) {
	for _, want := range []error{
		&abi.Failure{Code: "code_7", Message: "no", Permanent: true},
		&host.TrapError{Trap: "unreachable", Stderr: "said"},
		&host.LimitError{Limit: "memory", Max: 1, Asked: 2, Stderr: "said"},
		&host.ContractError{Detail: "what", Stderr: "said"},
		&host.ExitError{Code: 3, Stderr: "said"},
	} {
		var sent, got Verdict
		sent.Set(fmt.Errorf("wrapped: %w", want))
		sent.Stderr = "said"
		var b bytes.Buffer
		if err := Send(&b, Done, &sent, nil); err != nil {
			t.Fatal(err)
		}
		f, err := Receive(&b, 0)
		if err == nil {
			err = f.Expect(Done, &got)
		}
		if err != nil || !reflect.DeepEqual(got.Err(), want) {
			t.Errorf("%v, %v; want %v", got.Err(), err, want)
		}
	}
	var v Verdict
	if v.Set(nil); v.Err() != nil {
		t.Error("nothing became an error")
	}
	if v.Set(io.EOF); v.Err() == nil || v.Err().Error() != "EOF" {
		t.Errorf("got %v, want the text of an error of no known kind", v.Err())
	}
}
