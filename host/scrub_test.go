package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
)

// TestScrubReply takes apart what msgpack can say.
func TestScrubReply(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
	build := func(secret string) []byte {
		b := abi.AppendMapHeader(nil, 3)
		b = abi.AppendBin(abi.AppendString(b, "bin"), []byte("\xff"+secret))
		b = abi.AppendUint(abi.AppendString(b, "a "+secret+" key"), 1<<63)
		b = abi.AppendArrayHeader(abi.AppendString(b, "list"), 4)
		b = abi.AppendFloat64(abi.AppendNil(b), 1.5)
		b = abi.AppendMapHeader(abi.AppendArrayHeader(b, 1), 1)
		b = abi.AppendString(abi.AppendString(b, "deep"), strings.Repeat(secret, 100))
		return abi.AppendTimestamp(b, 1, 2)
	}
	if got := scrubReply(build("secret"), hide); !bytes.Equal(got, build("***")) {
		t.Errorf("%q", got)
	}
	clean := build("nothing")
	if got := scrubReply(clean, hide); &got[0] != &clean[0] {
		t.Error("a reply without secrets was copied")
	}
	for _, broken := range []string{"\xa9a secret", "\x92\xa6secret", "\xa6secret\x00",
		"\xc1secret",
		strings.Repeat("\x91", 100) + "\xa6secret"} {
		if got := scrubReply([]byte(broken), hide); bytes.Contains(got, []byte("secret")) ||
			len(got) == 0 {
			t.Errorf("%q: %q", broken, got)
		}
	}
}

// TestCleanStream has a secret come in pieces, on lines that end and that do not.
func TestCleanStream(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "secret", "***") }
	for _, pieces := range [][]string{
		{"one sec", "ret\ntwo ", "s", "e", "cret", " end"},
		{"one secret\ntwo secret end"},
		{"one secret\n", "two secret end"},
	} {
		var out bytes.Buffer
		s := stream{stderr: true}
		s.reset(1000, func(_ bool, b []byte) { out.Write(b) }, hide)
		for _, p := range pieces {
			if n, err := s.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		s.flush()
		s.flush()
		const want = "one ***\ntwo *** end"
		if out.String() != want || s.text() != want {
			t.Errorf("%q: %q, %q", pieces, out.String(), s.text())
		}
	}
	// A line that never ends is not kept for ever.
	s := stream{stderr: true}
	s.reset(0, nil, hide)
	for range 100 {
		_, _ = s.Write(make([]byte, maxLine))
	}
	if cap(s.line) > 4*maxLine {
		t.Errorf("%d bytes are kept", cap(s.line))
	}
}
