package misfit_test

import (
	"encoding/json"
	"testing"

	"github.com/wasmagent/wasmagent/internal/misfit"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                 `an array does not fit here`,
		`{"a":{"b":[true]}}`: `a boolean does not fit the field "a.b"`,
		`{"a":"x"}`:          `a string does not fit the field "a"`,
		`{"n":1.5}`:          `a number does not fit the field "n"`,
		`{"n":{}}`:           `an object does not fit the field "n"`,
		`{"n":`:              `unexpected end of JSON input`,
	} {
		var v struct {
			A struct {
				B []string `json:"b"`
			} `json:"a"`
			N int `json:"n"`
		}
		if have := misfit.Text(json.Unmarshal([]byte(text), &v)); have != want {
			t.Errorf("%s: have %q, want %q", text, have, want)
		}
	}
}
