package schema

import (
	"fmt"
	"strings"
	"testing"
)

// mustFit is what becomes of arguments.
func mustFit(t *testing.T, schema, arguments string) (*Fitted, error) {
	t.Helper()
	packed, err := pack(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return mustCompile(t, schema).Fit([]byte(arguments), packed)
}

func TestMaxTaken(t *testing.T) {
	texts := func(n int) string { return "[" + strings.Repeat(`"1",`, n-1) + `"1"]` }
	const schema = `{"items":{"type":"integer"}}`
	fit, err := mustFit(t, schema, texts(MaxTaken))
	if err != nil || len(fit.Notes) != MaxTaken {
		t.Errorf("at the limit: %+v, %v", fit, err)
	}
	if fit, err = mustFit(t, schema, texts(MaxTaken+1)); err == nil || fit != nil {
		t.Errorf("past the limit: %+v", fit)
	}
}

func TestMaxUnknown(t *testing.T) {
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"f%d":0`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for n, want := range map[int]string{
		MaxUnknown:     "/f7: the tool",
		MaxUnknown + 1: "and 1 more field that",
		MaxUnknown + 2: "and 2 more fields that",
	} {
		fit, err := mustFit(t, `{"properties":{"a":{}}}`, fields(n))
		if err != nil || fit == nil || len(fit.Notes) != min(n, MaxUnknown+1) ||
			!strings.HasPrefix(fit.Notes[len(fit.Notes)-1], want) {
			t.Errorf("%d fields: %+v, %v", n, fit, err)
		}
	}
}

func TestMaxFitText(t *testing.T) {
	const schema = `{"properties":{"a":{"type":"integer"},"s":{}}}`
	text := func(a string, n int) string {
		head := `{"a":` + a + `,"x":1,"s":"`
		return head + strings.Repeat("s", n-len(head)-2) + `"}`
	}
	if fit, err := mustFit(t, schema, text(`"1"`, maxFitText)); err != nil || len(fit.Notes) != 2 {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := mustFit(t, schema, text(`"1"`, maxFitText+1)); err == nil {
		t.Error("past the limit: no error")
	}
	fit, err := mustFit(t, schema, text(`1`, maxFitText+1))
	if err != nil || len(fit.Notes) != 1 || fit.Notes[0] != tooMuch {
		t.Errorf("past the limit: %v", err)
	}
}

func TestMaxFitWork(t *testing.T) {
	s := mustCompile(t, `{"type":"integer"}`)
	for work, taken := range map[int]int{maxFitWork: 1, maxFitWork + 1: 0} {
		f := &fitter{work: work}
		f.value(parse(`"1"`), scope{[]*node{s.root}, []*node{s.root}})
		if len(f.taken) != taken {
			t.Errorf("after %d: %q", work, f.taken)
		}
	}
	parts := strings.Repeat(`{"items":{"type":"integer"}},`, 200)
	_, err := mustFit(t, `{"allOf":[`+parts+`true]}`, "["+strings.Repeat("1,", 400)+`"1"]`)
	if err == nil {
		t.Error("it is worked on without an end")
	}
	parts = strings.Repeat(`{"items":{"properties":{"a":{}}}},`, 200)
	fit, err := mustFit(t, `{"allOf":[`+parts+`true]}`, "["+strings.Repeat("{},", 400)+`{"b":1}]`)
	if err != nil || fit == nil || fit.Notes[0] != tooMuch {
		t.Errorf("have %+v, %v", fit, err)
	}
}

func TestMaxTakenNumber(t *testing.T) {
	for n, ok := range map[int]bool{maxTakenNumber: true, maxTakenNumber + 1: false} {
		_, err := mustFit(t, `{"type":"number"}`, `"1.`+strings.Repeat("0", n-2)+`"`)
		if (err == nil) != ok {
			t.Errorf("%d characters: %v", n, err)
		}
	}
}

func TestMaxNear(t *testing.T) {
	names := make([]string, maxNear+1)
	for i := range names {
		names[i] = fmt.Sprintf("other%03d", i)
	}
	names[maxNear-1], names[maxNear] = "colour", "flavour"
	if got := nearName("color", names); got != "colour" {
		t.Errorf("the last that is tried: %q", got)
	}
	if got := nearName("flavor", names); got != "" {
		t.Errorf("one past: %q", got)
	}
}

// A schema as deep as it may be keeps its words when today's would be too deep.
func TestNormalTooDeep(t *testing.T) {
	nest := func(n int) string {
		return strings.Repeat(`{"not":`, n) + `{"not":true,"nullable":true}` + strings.Repeat("}", n)
	}
	if s := mustCompile(t, nest(MaxDepth-3)); !strings.Contains(s.Text, "anyOf") {
		t.Errorf("at the limit: %s", s.Text)
	}
	if text := nest(MaxDepth - 2); mustCompile(t, text).Text != text {
		t.Error("past the limit")
	}
}
