package transcode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// nilArray is an array of n nils.
func nilArray(n int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0xdd}, uint32(n))
	return append(b, bytes.Repeat([]byte{0xc0}, n)...)
}

func TestNodesAtTheLimit(t *testing.T) {
	if _, err := AppendJSON(nil, nilArray(MaxNodes-1)); err != nil {
		t.Errorf("AppendJSON of %d values: %v", MaxNodes, err)
	}
	if _, err := AppendMsgpack(nil, jsonArray(MaxNodes-1)); err != nil {
		t.Errorf("AppendMsgpack of %d values: %v", MaxNodes, err)
	}
	// The envelope of Scan does not count.
	if err := Scan(nilArray(MaxSmallNodes), MaxSmallNodes); err != nil {
		t.Errorf("Scan of %d values in an envelope: %v", MaxSmallNodes, err)
	}
}

func TestNodesPastTheLimit(t *testing.T) {
	var syntax *SyntaxError
	_, err := AppendJSON(nil, nilArray(MaxNodes))
	if !errors.As(err, &syntax) || !strings.Contains(syntax.Detail, "1000000 values") {
		t.Errorf("AppendJSON of %d values: %v", MaxNodes+1, err)
	}
	// Without a declared count that gives it away.
	many := append([]byte{0x92}, nilArray(MaxNodes-3)...)
	many = append(many, 0x92, 0xc0, 0xc0)
	if _, err := AppendJSON(nil, many); !errors.As(err, &syntax) || syntax.Offset < MaxNodes {
		t.Errorf("AppendJSON of %d values: %v", MaxNodes+1, err)
	}
	var carriage *CarriageError
	if _, err := AppendMsgpack(nil, jsonArray(MaxNodes)); !errors.As(err, &carriage) ||
		carriage.Pointer != fmt.Sprintf("/%d", MaxNodes-1) {
		t.Errorf("AppendMsgpack of %d values: %v", MaxNodes+1, err)
	}
	if err := Scan(nilArray(MaxSmallNodes+1), MaxSmallNodes); !errors.As(err, &syntax) {
		t.Errorf("Scan of %d values in an envelope: %v", MaxSmallNodes+1, err)
	}
}

func jsonArray(n int) []byte {
	return []byte("[" + strings.Repeat("0,", n-1) + "0]")
}

// Keys of the kind that every map has do not count, so that both directions agree.
func TestStringKeysAreNoNodes(t *testing.T) {
	if err := Scan([]byte("\x82\xa1a\x01\xa1b\x02"), 2); err != nil {
		t.Error(err)
	}
	if err := Scan([]byte("\x82\xa1a\x01\x07\x02"), 2); err == nil {
		t.Error("an integer as a key does not count")
	}
}

func TestScanDepth(t *testing.T) {
	deep := func(n int) []byte { return append(bytes.Repeat([]byte{0x91}, n), 0xc0) }
	if err := Scan(deep(MaxDepth+1), MaxNodes); err != nil {
		t.Errorf("%d deep in an envelope: %v", MaxDepth, err)
	}
	var syntax *SyntaxError
	if err := Scan(deep(MaxDepth+2), MaxNodes); !errors.As(err, &syntax) ||
		syntax.Offset != MaxDepth+1 {
		t.Errorf("%d deep in an envelope: %v", MaxDepth+1, err)
	}
	if err := Scan(deep(3_000_000), MaxNodes); !errors.As(err, &syntax) {
		t.Errorf("three million arrays: %v", err)
	}
	if _, err := AppendMsgpack(nil, bytes.Repeat([]byte("["), 3_000_000)); err == nil {
		t.Error("three million brackets pass")
	}
}

// Lengths at which a header takes another form, both ways.
func TestHeaderForms(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536} {
		text := `"` + strings.Repeat("x", n) + `"`
		texts := []string{text, `"\u00e9` + text[1:]}
		if n > 0 {
			texts = append(texts, string(jsonArray(n)), jsonObject(n))
		}
		for _, text := range texts {
			m, err := AppendMsgpack([]byte("before"), []byte(text))
			if err != nil {
				t.Fatalf("length %d: %v", n, err)
			}
			if err := Scan(m[len("before"):], MaxNodes); err != nil {
				t.Fatalf("length %d: %v", n, err)
			}
			j, err := AppendJSON([]byte("before"), m[len("before"):])
			if want := "before" + strings.ReplaceAll(text, `\u00e9`, "é"); err != nil || string(j) != want {
				t.Fatalf("length %d: %.40s, %v", n, j, err)
			}
		}
	}
}

func jsonObject(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":[%d]`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

// After an error the caller has what it had.
func TestErrorsLeaveDst(t *testing.T) {
	dst := append(make([]byte, 0, 100), "before"...)
	if got, err := AppendJSON(dst, []byte("\x92\xa1a\xc1")); err == nil || string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := AppendMsgpack(dst, []byte(`["a",}`)); err == nil || string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestErrorTexts(t *testing.T) {
	_, syntax := AppendJSON(nil, []byte("\x92\xa1a\xc1"))
	_, noJSON := AppendJSON(nil, []byte("\x81\xa4rows\x91\xca\x7f\xc0\x00\x00"))
	_, carriage := AppendMsgpack(nil, []byte(`{"rows":[1e999]}`))
	_, key := AppendMsgpack(nil, []byte(`{"`+strings.Repeat("k", 40)+`\u202e":tru}`))
	for _, tt := range []struct {
		err  error
		want string
	}{
		{syntax, "byte 3 of the msgpack: byte c1 begins no value"},
		{noJSON, "$.rows[0]: a number is not finite"},
		{carriage, "at byte 9, /rows/0: a number is beyond the range of a 64-bit float"},
		{key, `at byte 50, /` + strings.Repeat("k", 32) +
			`…: not JSON: there is 't' where a value should be`},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
}

func TestGoodCaseAllocatesNothing(t *testing.T) {
	for _, text := range [][]byte{[]byte(smallJSON), largeJSON(), []byte(jsonObject(1000))} {
		m, err := AppendMsgpack(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		j := make([]byte, 0, 2*len(text))
		for name, f := range map[string]func() error{
			"AppendMsgpack": func() (err error) { _, err = AppendMsgpack(m[:0], text); return },
			"AppendJSON":    func() (err error) { _, err = AppendJSON(j, m); return },
			"Scan":          func() error { return Scan(m, MaxNodes) },
		} {
			allocs := testing.AllocsPerRun(200, func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			})
			// The pool of nests may be emptied by a garbage collection, once in a while.
			if allocs > 0 && !raceEnabled {
				t.Errorf("%s of %d bytes allocates %v times", name, len(text), allocs)
			}
		}
	}
}
