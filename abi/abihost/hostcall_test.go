package abihost

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

func TestParseHTTPRequest(t *testing.T) {
	for _, want := range []abi.HTTPRequest{
		{Method: "GET", URL: "https://a.test/", Headers: []abi.HTTPHeader{}},
		{Method: "POST", URL: "x", Headers: []abi.HTTPHeader{{Name: "A", Value: "1"},
			{Name: "A", Value: "2"}},
			Body: []byte("b"), TimeoutMS: 100},
	} {
		got, err := ParseHTTPRequest(abi.AppendHTTPRequest(nil, &want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	for text, want := range map[string]abi.HTTPRequest{
		"\x81\xa3url\xa1x":                  {URL: "x"},
		"\x82\xa3url\xa1x\xa4body\xa1b":     {URL: "x", Body: []byte("b")},
		"\x82\xa3url\xa1x\xa5later\x91\x01": {URL: "x"},
		"\x82\xa3url\xa1x\xa4body\xc0":      {URL: "x"},
	} {
		if got, err := ParseHTTPRequest([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestParseKVRequest(t *testing.T) {
	for _, want := range []abi.KVRequest{
		{Op: abi.KVGet, Key: "k"},
		{Op: abi.KVDelete, Key: "k"},
		{Op: abi.KVSet, Key: "k", Value: abi.Raw{0xc0}},
		{Op: abi.KVSet, Key: "k", Value: abi.Raw("\x82\xa1a\x01\xa1b\xc4\x01x")},
		{Op: abi.KVList},
		{Op: abi.KVList, Prefix: "p", After: "a", Limit: 5},
	} {
		got, err := ParseKVRequest(abi.AppendKVRequest(nil, &want))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
}

func TestKVValueIsACopy(t *testing.T) {
	b := abi.AppendKVRequest(nil, &abi.KVRequest{Op: abi.KVSet, Key: "k",
		Value: abi.Raw{0xa1, 'x'}})
	q, err := ParseKVRequest(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if string(q.Value) != "\xa1x" || q.Key != "k" {
		t.Errorf("%+v", q)
	}
}

func TestBadHostCalls(t *testing.T) {
	headers := "\x82\xa3url\xa1x\xa7headers"
	for text, says := range map[string]string{
		"":                             "",
		"\xdd\xff\xff\xff\xff":         "",
		strings.Repeat("\x91", 100):    "",
		"\x82\xa3url\xa1x\xa3url\xa1y": "",
		"\x80":                         "url: is missing",
		"\x90":                         "want a map",
		"\x81\x01\x01":                 "not a string",
		"\x81\xa3url\x01":              "url: want a string",
		"\x81\xa3url\xa1\xff":          "not UTF-8",
		headers + "\x01":               "headers: want an array",
		headers + "\x91\x01":           "entry 0 is not",
		headers + "\x91\x91\xa1a":      "entry 0 is not",
		headers + "\x92\x92\xa1a\xa1b\x92\xa1a\x01":                       "entry 1 has",
		headers + "\xdc\x03\xe9" + strings.Repeat("\x92\xa1a\xa1b", 1001): "more than 1000",
		"\x82\xa3url\xa1x\xa4body\x01":                                    "body: want bin",
		"\x82\xa3url\xa1x\xaatimeout_ms\xff":                              "outside 0",
	} {
		checkBad(t, text, says, func(b []byte) error { _, err := ParseHTTPRequest(b); return err })
	}
	for text, says := range map[string]string{
		"":                                  "",
		"\x81\xa2op\x01":                    "op: want a string",
		"\x81\xa2op\xa3ask":                 "none of get, set",
		"\x81\xa2op\xa3get":                 "key: is missing",
		"\x82\xa2op\xa3get\xa3key\xc4\x01k": "key: want a string",
		"\x82\xa2op\xa3set\xa3key\xa1k":     "value: is missing",
		"\x82\xa2op\xa4list\xa5limit\xff":   "outside 0",
		"\x82\xa2op\xa4list\xa6prefix\x01":  "prefix: want a string",
	} {
		checkBad(t, text, says, func(b []byte) error { _, err := ParseKVRequest(b); return err })
	}
}

func checkBad(t *testing.T, text, says string, parse func([]byte) error) {
	t.Helper()
	err := parse([]byte(text))
	var syntax *transcode.SyntaxError
	var field *FieldError
	if !errors.As(err, &syntax) && !errors.As(err, &field) || (says == "") != (syntax != nil) ||
		!strings.Contains(err.Error(), says) {
		t.Errorf("%.60q: %v; want %q", text, err, says)
	}
}
