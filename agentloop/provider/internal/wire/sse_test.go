package wire

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

func TestEvents(t *testing.T) {
	for name, tt := range map[string]struct {
		stream string
		want   []string // name|data
	}{
		"nothing":                {"", nil},
		"one":                    {"data: a\n\n", []string{"|a"}},
		"no space":               {"data:a\n\n", []string{"|a"}},
		"two spaces":             {"data:  a\n\n", []string{"| a"}},
		"a name":                 {"event: x\ndata: a\n\ndata: b\n\n", []string{"x|a", "|b"}},
		"a name without data":    {"event: x\n\ndata: b\n\n", []string{"|b"}},
		"several lines":          {"data: a\ndata: b\ndata\n\n", []string{"|a\nb\n"}},
		"comments and others":    {": hi\nid: 1\nretry: 3\ndata: a\nfoo\n\n", []string{"|a"}},
		"carriage returns":       {"event: x\r\ndata: a\r\n\r\n", []string{"x|a"}},
		"no empty line at last":  {"data: a\n\ndata: b\n", []string{"|a", "|b"}},
		"no end of line at last": {"data: a\n\ndata: b", []string{"|a", "|b"}},
		"empty data":             {"data:\n\ndata: a\n\n", []string{"|", "|a"}},
		"a byte order mark":      {"\uFEFFdata: a\n\n", []string{"|a"}},
		"many empty lines":       {"\n\n\ndata: a\n\n\n\n", []string{"|a"}},
		"longer than a buffer": {"data: " + strings.Repeat("x", 40<<10) + "\n\ndata: y\n\n",
			[]string{"|" + strings.Repeat("x", 40<<10), "|y"}},
	} {
		for _, r := range []io.Reader{strings.NewReader(tt.stream),
			iotest.OneByteReader(strings.NewReader(tt.stream)),
			iotest.DataErrReader(strings.NewReader(tt.stream))} {
			have, err := all(r)
			if err != io.EOF || !slices.Equal(have, tt.want) {
				t.Errorf("%s: have %.200q, %v, want %.200q", name, have, err, tt.want)
			}
		}
	}
}

func all(r io.Reader) ([]string, error) {
	var list []string
	events := newEventReader(r)
	for {
		event, err := events.next()
		if err != nil {
			return list, err
		}
		list = append(list, event.Name+"|"+string(event.Data))
	}
}

func TestEventsEndWithTheirReader(t *testing.T) {
	broken := errors.New("broken")
	have, err := all(io.MultiReader(strings.NewReader("data: a\n\ndata: b"),
		iotest.ErrReader(broken)))
	if err != broken || !slices.Equal(have, []string{"|a"}) {
		t.Errorf("have %q, %v", have, err)
	}
}

// TestEventSize pins the limit of an event, whether it comes in one line or in many.
func TestEventSize(t *testing.T) {
	half := strings.Repeat("x", provider.MaxEvent/2)
	for name, tt := range map[string]struct {
		stream string
		want   bool
	}{
		"a line at the limit":   {"data: " + half + half + "\r\n\r\n", true},
		"a line past it":        {"data: " + half + half + "x\n\n", false},
		"a line far past it":    {"data: " + half + half + half + "\n\n", false},
		"a comment far past it": {": " + half + half + half + "\n\n", false},
		"lines at the limit":    {"data: " + half + "\ndata: " + half[1:] + "\n\n", true},
		"lines past it":         {"data: " + half + "\ndata: " + half + "\n\n", false},
	} {
		have, err := all(strings.NewReader(tt.stream))
		_, refused := errors.AsType[*provider.DecodeError](err)
		if refused == tt.want || (len(have) == 1) != tt.want {
			t.Errorf("%s: have %d events, %v", name, len(have), err)
		}
	}
}

// FuzzEvents looks for streams that give something else when they come byte by byte.
func FuzzEvents(f *testing.F) {
	f.Add("event: x\ndata: a\n\n: c\ndata:b\r\n\r\n")
	f.Fuzz(func(t *testing.T, stream string) {
		whole, err := all(strings.NewReader(stream))
		bytes, err2 := all(iotest.OneByteReader(strings.NewReader(stream)))
		if !slices.Equal(whole, bytes) || err != err2 {
			t.Errorf("have %q %v and %q %v", whole, err, bytes, err2)
		}
	})
}
