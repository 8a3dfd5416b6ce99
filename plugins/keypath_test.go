package plugins

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

func TestParseKeyPath(t *testing.T) {
	names := func(n int) string { return strings.Repeat("a.", n-1) + "a" }
	for path, good := range map[string]bool{
		"id": true, "order.id": true, " id ": true, "a b.c": true, "items.0": true, "größe": true,
		names(64): true,
		"":        false, ".": false, "a.": false, ".a": false, "a..b": false, names(65): false,
	} {
		p, err := parseKeyPath(path)
		if (err == nil) != good {
			t.Errorf("%q: have %v, want good %v", path, err, good)
		}
		if good && p.String() != path {
			t.Errorf("%q became %q", path, p)
		}
	}
}

func TestDerive(t *testing.T) {
	long := strings.Repeat("k", maxKeyBytes)
	tests := []struct{ name, path, input, key, detail string }{
		{"string", "id", `{"id":"a1"}`, "t:a1", ""},
		{"colon", "id", `{"id":"a:b"}`, "t:a:b", ""},
		{"blank string", "id", `{"id":"  "}`, "t:  ", ""},
		{"escapes", "id", `{"id":"\u00e9\n\""}`, "t:é\n\"", ""},
		{"longest string", "id", `{"id":"` + long + `"}`, "t:" + long, ""},
		{"integer", "id", `{"id":42}`, "t:42", ""},
		{"zero", "id", `{"id":0}`, "t:0", ""},
		{"negative", "id", `{"id":-7}`, "t:-7", ""},
		{"past 2^53", "id", `{"id":9007199254740993}`, "t:9007199254740993", ""},
		{"smallest", "id", `{"id":-9223372036854775808}`, "t:-9223372036854775808", ""},
		{"largest", "id", `{"id":18446744073709551615}`, "t:18446744073709551615", ""},
		{"float", "id", `{"id":1.5}`, "t:1.5", ""},
		{"float, written longer", "id", `{"id":15e-1}`, "t:1.5", ""},
		{"integral float", "id", `{"id":1.0}`, "t:1.0", ""},
		{"integral exponent", "id", `{"id":1e3}`, "t:1000.0", ""},
		{"large float", "id", `{"id":1e21}`, "t:1e+21", ""},
		{"small float", "id", `{"id":1e-7}`, "t:1e-7", ""},
		{"minus zero", "id", `{"id":-0}`, "t:-0.0", ""},
		{"nested", "order.ref.id", `{"order":{"ref":{"id":"x"}}}`, "t:x", ""},
		{"number as a name", "items.0", `{"items":{"0":"x"}}`, "t:x", ""},
		{"other order", "id", `{"z":[{}],"id":"a1","b":null}`, "t:a1", ""},

		{"empty string", "id", `{"id":""}`, "",
			`it is an empty string; want a non-empty string or a number; ` +
				`the arguments have the fields "id"`},
		{"too long a string", "id", `{"id":"` + long + `k"}`, "",
			`it is a string of 4097 bytes; a key has at most 4096; the arguments have the fields "id"`},
		{"null", "id", `{"id":null,"b":1}`, "",
			`it is null; want a non-empty string or a number; the arguments have the fields "b", "id"`},
		{"boolean", "id", `{"id":true}`, "",
			`it is a boolean; want a non-empty string or a number; the arguments have the fields "id"`},
		{"array", "id", `{"id":["x"]}`, "",
			`it is an array; want a non-empty string or a number; the arguments have the fields "id"`},
		{"object", "id", `{"id":{}}`, "",
			`it is an object; want a non-empty string or a number; the arguments have the fields "id"`},
		{"absent", "id", `{"z":1,"a":2,"m":3}`, "",
			`there is no field "id"; the arguments have the fields "a", "m", "z"`},
		{"absent from nothing", "id", `{}`, "",
			`there is no field "id"; the arguments have no fields`},
		{"absent below", "order.id", `{"order":{"ID":1}}`, "",
			`"order" has no field "id"; the arguments have the fields "order"`},
		{"through a string", "order.id.x", `{"order":{"id":"x"}}`, "",
			`"order.id" is a string, not an object; the arguments have the fields "order"`},
		{"through an array", "items.0", `{"items":["x"]}`, "",
			`"items" is an array, not an object; the arguments have the fields "items"`},
		{"not an object", "id", `["id"]`, "", `the arguments are an array, not an object`},
		{"null arguments", "id", `null`, "", `the arguments are null, not an object`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, err := parseKeyPath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			key, err := path.derive("t", packed(t, test.input))
			if key != test.key {
				t.Errorf("key %q, want %q (%v)", key, test.key, err)
			}
			if test.detail == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused, ok := errors.AsType[*KeyError](err)
			if !ok {
				t.Fatalf("want a *KeyError, have %v", err)
			}
			if want := (KeyError{Path: test.path, Detail: test.detail}); *refused != want {
				t.Errorf("have %+v,\nwant %+v", *refused, want)
			}
		})
	}
}

func TestDeriveListsAFewFields(t *testing.T) {
	fields := map[string]int{}
	for c := 'a'; c <= 'z'; c++ {
		fields[string(c)] = 1
	}
	input, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	path, err := parseKeyPath("id")
	if err != nil {
		t.Fatal(err)
	}
	_, err = path.derive("t", packed(t, string(input)))
	if err == nil || !strings.HasSuffix(err.Error(), `"s", "t" and 6 more`) {
		t.Errorf("have %v", err)
	}
}

// packed is a JSON text as the registry hands it on.
func packed(t *testing.T, text string) abi.Raw {
	t.Helper()
	raw, err := transcode.AppendMsgpack(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
