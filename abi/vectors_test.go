package abi_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

var update = flag.Bool("update", false, "write testdata/vectors anew")

// A vector is one input with at most one fault, and the verdict on it. Each lies in a file of its
// own, so that kits in other languages can read them too; see testdata/vectors/README.
type vector struct {
	name   string // the file's
	why    string
	expect string // ok, bad_msgpack, no_json, carriage, bad_envelope or bad_manifest
	at     string // where the fault is, an offset or a path
	in     string // JSON text of arguments, msgpack of all others
	out    string // msgpack of arguments, JSON of a value, the outcome of a reply
}

const vectorDir = "testdata/vectors"

// allVectors has the vectors by what they are of.
func allVectors() map[string][]vector {
	return map[string][]vector{
		"value":     valueVectors(),
		"arguments": argumentVectors(),
		"request":   requestVectors(),
		"reply":     replyVectors(),
		"manifest":  manifestVectors(),
	}
}

func TestVectors(t *testing.T) {
	seen := make(map[string]bool)
	for of, vectors := range allVectors() {
		for _, v := range vectors {
			name := of + "_" + v.name + ".txt"
			if seen[name] {
				t.Errorf("two vectors are called %s", name)
			}
			seen[name] = true
			path := filepath.Join(vectorDir, name)
			if *update {
				if err := os.WriteFile(path, v.file(of), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Run(name, func(t *testing.T) {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(b, v.file(of)) {
					t.Fatalf("%s is not what the table says: run with -update", path)
				}
				checkVector(t, parseVector(t, b))
			})
		}
	}
	files, err := filepath.Glob(filepath.Join(vectorDir, "*.txt"))
	if err != nil || len(files) != len(seen) {
		t.Errorf("%d files in %s for %d vectors (%v)", len(files), vectorDir, len(seen), err)
	}
}

func (v *vector) file(of string) []byte {
	in, out := hex.EncodeToString([]byte(v.in)), strconv.Quote(v.out)
	if of == "arguments" {
		in, out = strconv.Quote(v.in), hex.EncodeToString([]byte(v.out))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\nof: %s\nexpect: %s\n", v.why, of, v.expect)
	if v.at != "" {
		fmt.Fprintf(&b, "at: %s\n", v.at)
	}
	fmt.Fprintf(&b, "in: %s\n", in)
	if v.out != "" {
		fmt.Fprintf(&b, "out: %s\n", out)
	}
	return b.Bytes()
}

// A parsedVector is a vector as its file tells it.
type parsedVector struct {
	of, expect, at string
	in, out        []byte
}

func parseVector(t *testing.T, b []byte) parsedVector {
	t.Helper()
	var v parsedVector
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		var err error
		switch key {
		case "of":
			v.of = value
		case "expect":
			v.expect = value
		case "at":
			v.at = value
		case "in":
			v.in, err = parseBytes(value)
		case "out":
			v.out, err = parseBytes(value)
		default:
			if !strings.HasPrefix(line, "# ") {
				err = errors.New("unknown key " + key)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return v
}

func parseBytes(s string) ([]byte, error) {
	if strings.HasPrefix(s, `"`) {
		text, err := strconv.Unquote(s)
		return []byte(text), err
	}
	return hex.DecodeString(s)
}

func checkVector(t *testing.T, v parsedVector) {
	t.Helper()
	out, err := run(v.of, v.in)
	if expect, at := verdict(err); expect != v.expect || at != v.at {
		t.Fatalf("the verdict is %q at %q, want %q at %q: %v", expect, at, v.expect, v.at, err)
	}
	if !bytes.Equal(out, v.out) {
		t.Fatalf("got %q, want %q", out, v.out)
	}
	if err != nil {
		return
	}
	switch v.of { // and back again
	case "value":
		m, err := transcode.AppendMsgpack(nil, out)
		if string(out) == "100000000000000000000" && err != nil {
			return // a float that prints as an integer of more than 64 bits
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := transcode.AppendJSON(nil, m)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%s comes back as %s (%v)", out, again, err)
		}
	case "arguments":
		j, err := transcode.AppendJSON(nil, out)
		if err != nil {
			t.Fatal(err)
		}
		again, err := transcode.AppendMsgpack(nil, j)
		if err != nil || !bytes.Equal(again, out) && !bytes.Contains(out, []byte{0xcb}) {
			t.Fatalf("%x comes back as %x (%v)", out, again, err)
		}
	}
}

// run does with an input what a host or a guest does.
func run(of string, in []byte) (out []byte, err error) {
	switch of {
	case "value":
		return transcode.AppendJSON(nil, in)
	case "arguments":
		return transcode.AppendMsgpack(nil, in)
	case "request":
		q, err := abi.ParseRequest(in)
		return []byte(q.Tool), err
	case "reply":
		if err := transcode.Scan(in, transcode.MaxNodes); err != nil {
			return nil, err
		}
		p, err := abi.ParseReply(in)
		return []byte(outcomes[p.Outcome]), err
	case "manifest":
		_, err := abihost.ParseManifest(in)
		return nil, err
	}
	return nil, errors.New("a vector of " + of)
}

var outcomes = map[abi.Outcome]string{
	abi.OutcomeOK:             "ok",
	abi.OutcomeContent:        "content",
	abi.OutcomeFailed:         "failed",
	abi.OutcomeInvalidInput:   "invalid_input",
	abi.OutcomeUnserializable: "unserializable",
}

// verdict turns an error into a word of the closed list and the place it names.
func verdict(err error) (expect, at string) {
	var syntax *transcode.SyntaxError
	var noJSON *transcode.NoJSONError
	var carriage *transcode.CarriageError
	var envelope *abi.DecodeError
	var field *abihost.FieldError
	switch {
	case err == nil:
		return "ok", ""
	case errors.As(err, &syntax):
		return "bad_msgpack", strconv.Itoa(syntax.Offset)
	case errors.As(err, &noJSON):
		return "no_json", noJSON.Path
	case errors.As(err, &carriage):
		return "carriage", strings.TrimSpace(strconv.Itoa(carriage.Offset) + " " + carriage.Pointer)
	case errors.As(err, &envelope):
		return "bad_envelope", strconv.Itoa(envelope.Offset)
	case errors.As(err, &field):
		return "bad_manifest", field.Path
	}
	return "unknown", ""
}

// The verdicts on hostile values have to be the same wherever the value lies: alone, and as the
// result inside a reply, where Scan sees it first.
func TestVectorsInsideReply(t *testing.T) {
	for _, v := range valueVectors() {
		t.Run(v.name, func(t *testing.T) {
			reply := abi.AppendMapHeader(nil, 1)
			reply = abi.AppendString(reply, "ok")
			reply = append(reply, v.in...)
			_, err := run("reply", reply)
			expect, _ := verdict(err)
			switch want := v.expect; {
			case want == "bad_msgpack" && expect == want:
			case want != "bad_msgpack" && expect == "ok":
			case v.name == "empty" && expect == "bad_msgpack":
			default:
				t.Errorf("inside a reply the verdict is %s (%v)", expect, err)
			}
		})
	}
}

func TestVectorsHaveEveryVerdict(t *testing.T) {
	have := make(map[string]int)
	for _, vectors := range allVectors() {
		for _, v := range vectors {
			have[v.expect]++
		}
	}
	want := []string{"bad_envelope", "bad_manifest", "bad_msgpack", "carriage", "no_json", "ok"}
	if got := slices.Sorted(maps.Keys(have)); !slices.Equal(got, want) {
		t.Errorf("the verdicts are %v, want %v", got, want)
	}
}
