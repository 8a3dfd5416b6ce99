package abi

import (
	"errors"
	"reflect"
	"testing"
)

func TestHTTPResponseRoundTrip(t *testing.T) {
	for _, want := range []HTTPResponse{
		{Status: 204, Body: []byte{}},
		{Status: 200, URL: "https://a.test/", Headers: []HTTPHeader{{"A", "1"}, {"A", "2"}},
			Body: []byte("text"), Truncated: true},
	} {
		got, err := ParseHTTPResponse(AppendHTTPResponse(nil, &want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestKVAnswerRoundTrip(t *testing.T) {
	for _, test := range []struct {
		op   KVOp
		want KVAnswer
	}{
		{KVGet, KVAnswer{}},
		{KVGet, KVAnswer{Value: Raw{0xc0}}},
		{KVGet, KVAnswer{Value: Raw{0x91, 0x01}}},
		{KVSet, KVAnswer{}},
		{KVDelete, KVAnswer{}},
		{KVList, KVAnswer{}},
		{KVList, KVAnswer{Keys: []string{"a", "b"}, More: true}},
	} {
		got, err := ParseKVAnswer(AppendKVAnswer(nil, test.op, &test.want))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.op, got, err, test.want)
		}
	}
}

func TestCallErrors(t *testing.T) {
	b := AppendCallError(nil, &CallError{Kind: Denied, Message: "not here"})
	_, httpErr := ParseHTTPResponse(b)
	_, kvErr := ParseKVAnswer(b)
	for _, err := range []error{httpErr, kvErr} {
		var e *CallError
		if !errors.As(err, &e) || e.Message != "not here" || !errors.Is(err, Denied) ||
			errors.Is(err, Busy) ||
			err.Error() != "denied: not here" {
			t.Errorf("%v", err)
		}
	}
	// A later host may say more, and less.
	for text, want := range map[string]string{
		"\x81\xa5error\x80": "internal: ",
		"\x82\xa5extra\x91\x01\xa5error\x83\xa4kind\xa5later\xa7message\xa1m\xa4more\x01": "later: m",
	} {
		if _, err := ParseKVAnswer([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	for _, text := range []string{"", "\xc0", "\x80\x00", "\x81", "\x81\x01\x01",
		"\x81\xa5error\x01",
		"\x81\xa5error\x81\xa4kind\x01", "\x81\xa5error\x81\x01\x01", "\x81\xa5error\x81\xa1a",
		"\x81\xa5extra"} {
		for name, parse := range map[string]func([]byte) error{
			"http": func(b []byte) error { _, err := ParseHTTPResponse(b); return err },
			"kv":   func(b []byte) error { _, err := ParseKVAnswer(b); return err },
		} {
			var e *DecodeError
			if err := parse([]byte(text)); !errors.As(err, &e) {
				t.Errorf("%s %q: %v", name, text, err)
			}
		}
	}
	for _, text := range []string{"\x80", "\x81\xa6status\xa1a",
		"\x82\xa6status\x01\xa7headers\x01",
		"\x82\xa6status\x01\xa7headers\x91\x91\xa1a",
		"\x82\xa6status\x01\xa7headers\x91\x92\xa1a\x01",
		"\x82\xa6status\x01\xa7headers\x91\x92\x01\xa1a", "\x82\xa6status\x01\xa4body\xa1a"} {
		if _, err := ParseHTTPResponse([]byte(text)); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
