package abihost

import (
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
)

func TestCleanSchema(t *testing.T) {
	long := strings.Repeat("x", abi.MaxTextChars)
	tests := []struct{ name, in, want string }{
		{"clean", ` { "type" : "object", "description":"Rows." } `,
			` { "type" : "object", "description":"Rows." } `},
		{"empty", "", ""},
		{"not JSON", "{\"description\":\"\u202e\"", "{\"description\":\"\u202e\""},
		{"two values", "{} {\"title\":\"\u202e\"}", "{} {\"title\":\"\u202e\"}"},
		{"true", "true", "true"},
		{"a string", "\"\u202e\"", "\"\u202e\""},
		{"description", "{\"description\" : \"a\u202eb\" , \"x\":1}", `{"description" : "ab" , "x":1}`},
		{"escaped", `{"title":"\u001b[31ma\u200b<\"b\""}`, `{"title":"a<\"b\""}`},
		{"cut", `{"title":"` + long + `x"}`, `{"title":"` + long[1:] + `…"}`},
		{"not cut", `{"title":"` + long + `"}`, `{"title":"` + long + `"}`},
		{"in properties", `{"properties":{"a":{"title":"\u202e"},"b":{"description":"\u202e"}}}`,
			`{"properties":{"a":{"title":""},"b":{"description":""}}}`},
		{"property called default", `{"properties":{"default":{"title":"\u202e"}}}`,
			`{"properties":{"default":{"title":""}}}`},
		{"property called properties", `{"properties":{"properties":{"title":"\u202e"}}}`,
			`{"properties":{"properties":{"title":""}}}`},
		{"property called title", `{"properties":{"title":{"enum":["\u202e"]}}}`,
			`{"properties":{"title":{"enum":["\u202e"]}}}`},
		{"in a list", `{"allOf":[{"title":"\u202e"},true],"items":{"title":"\u202e"}}`,
			`{"allOf":[{"title":""},true],"items":{"title":""}}`},
		{"in definitions", `{"$defs":{"x":{"not":{"title":"\u202e"}}}}`,
			`{"$defs":{"x":{"not":{"title":""}}}}`},
		{"values", `{"const":{"title":"\u202e"},"enum":["\u202e",{"properties":{"title":"\u202e"}}]}`,
			`{"const":{"title":"\u202e"},"enum":["\u202e",{"properties":{"title":"\u202e"}}]}`},
		{"default", `{"default":{"description":"a\nb"},"examples":[{"title":"\u202e"}]}`,
			`{"default":{"description":"a\nb"},"examples":[{"title":"\u202e"}]}`},
		{"title is no text", `{"title":{"title":"\u202e"},"description":["\u202e"]}`,
			`{"title":{"title":""},"description":[""]}`},
		{"spaces at the ends", `{"title":" a"}`, `{"title":"a"}`},
		{"same text elsewhere", `{"pattern":"a  b","title":"a  b"}`, `{"pattern":"a  b","title":"a b"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := cleanSchema(tt.in)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again := cleanSchema(got); again != got {
				t.Errorf("cleaning again gives %s", again)
			}
		})
	}
}

func TestParseManifestCleansSchemas(t *testing.T) {
	m := fullManifest()
	m.Tools[0].InputSchema = `{"title":"\u202ea"}`
	m.Tools[0].OutputSchema = `{"title":"\u202eb"}`
	got, err := ParseManifest(abi.AppendManifest(nil, &m))
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Tools[0].InputSchema + got.Tools[0].OutputSchema; s != `{"title":"a"}{"title":"b"}` {
		t.Errorf("the schemas are %s", s)
	}
}
