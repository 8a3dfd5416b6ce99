package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

// What needs a trap, a limit or a second reply needs the sandbox; the rest is called here.
func TestNatively(t *testing.T) {
	for _, c := range []struct{ tool, args, want, kind string }{
		{"echo", `{"value":{"a":[1,2.5,"x",null]}}`, `{"a":[1,2.5,"x",null]}`, ""},
		{"keyed", `{"order":"7"}`, `{"key":"k","attempt":2}`, ""},
		{"slow", `{"ms":0}`, "", ""},
		{"log_lines", `{}`, `{}`, ""},
		{"progress", `{"count":2}`, `{}`, ""},
		{"fail", `{}`, "handler: unavailable: the teapot is empty", "handler"},
		{"fail_permanently", `{"message":"no"}`, "handler: teapot: no", "handler"},
		{"flaky", `{}`, "handler: unavailable: attempt 2 does not work", "handler"},
		{"flaky", `{"succeed_at":2}`, `{"attempt":2}`, ""},
		{"bad_input", `{"value":1}`, "invalid_input: at /value: no value is good enough", "invalid_input"},
		{"cannot_encode", `{}`, "output_serialization: /pipe: a chan int has no JSON form",
			"output_serialization"},
		{"not_a_number", `{}`, "", "output_serialization"},
		{"non_string_key", `{}`, "", "output_serialization"},
		{"not_utf8", `{}`, "", "output_serialization"},
		{"duplicate_keys", `{}`, "", "malformed_result"},
		{"not_msgpack", `{}`, "", "malformed_result"},
		{"cut_off", `{}`, "", "malformed_result"},
		{"too_deep", `{}`, "", "malformed_result"},
		{"wrong_output", `{}`, "", "malformed_result"},
		{"no_such_block", `{}`, "", "malformed_result"},
	} {
		h := pdktest.Host{Key: "k", Attempt: 2}
		got, err := h.Call(c.tool, c.args)
		var e *pdktest.Error
		if errors.As(err, &e) {
			got = e.Error()
		}
		if (e == nil) != (c.kind == "") || e != nil && e.Kind != c.kind || c.want != "" && got != c.want {
			t.Errorf("%s: %s, %v", c.tool, got, err)
		}
	}
}

func TestCancelledCallStopsEarly(t *testing.T) {
	h := pdktest.Host{Cancelled: true}
	got, err := h.Call("slow", `{"ms":3600000}`)
	if err != nil || !strings.HasSuffix(got, `"cancelled":true}`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestEveryToolIsDescribed(t *testing.T) {
	for _, s := range pdktest.Manifest().Tools {
		if len(s.Description) < 12 || s.InputSchema == "" {
			t.Errorf("%s: %q, %q", s.Name, s.Description, s.InputSchema)
		}
	}
}
