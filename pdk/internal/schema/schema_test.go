package schema

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wasmagent/wasmagent/abi"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type numbers struct {
	I   int     `json:"i"`
	I8  int8    `json:"i8"`
	I32 int32   `json:"i32"`
	I64 int64   `json:"i64"`
	U   uint    `json:"u"`
	U8  uint8   `json:"u8"`
	U32 uint32  `json:"u32" max:"10"`
	U64 uint64  `json:"u64"`
	F32 float32 `json:"f32"`
	F64 float64 `json:"f64" min:"-0.5"`
}

type tagged struct {
	Filter string   `json:"filter" doc:"A \"jq\" filter." min:"1" max:"4096"`
	Mode   string   `json:"mode,omitempty" enum:"fast,safe" default:"safe" doc:"How."`
	Tags   []string `json:"tags,omitempty" enum:"a,b" min:"1" max:"3" doc:"Any of them."`
	Limit  int      `json:"limit" min:"1" max:"100" default:"10"`
	Deep   *bool    `json:"deep" default:"true"`
	Size   []int    `json:"size,omitempty" doc:"Width and height."`
}

type many struct {
	Bytes []byte             `json:"bytes"`
	Array [3]float64         `json:"array"`
	Map   map[string]float64 `json:"map" max:"5"`
	Any   any                `json:"any" doc:"Anything."`
	Raw   abi.Raw            `json:"raw"`
	List  []any              `json:"list"`
	Nulls []*int             `json:"nulls"`
	Ptrs  []*point           `json:"ptrs"`
	Time  time.Time          `json:"time"`
	Addr  netip.Addr         `json:"addr"`
	Num   json.Number        `json:"num"`
	Inner struct {
		Flag bool `json:"flag"`
	} `json:"inner"`
}

type point struct {
	X int `json:"x"`
	Y int `json:"y,omitempty"`
}

type embedding struct {
	point
	*Label
	Z int `json:"z"`
}

type Label struct {
	Text string `json:"text"`
}

type tree struct {
	Value    string  `json:"value" doc:"What the node holds."`
	Children []*tree `json:"children,omitempty"`
}

type document struct {
	Root    block        `json:"root"`
	Index   nested       `json:"index" doc:"By name."`
	Generic pair[string] `json:"generic"`
}

type block struct {
	Blocks []block   `json:"blocks"`
	Of     *document `json:"of"`
}

type nested map[string]nested

type pair[T any] struct {
	Left  *pair[T] `json:"left"`
	Value T        `json:"value"`
}

// The schemas of these types are in testdata, as a plugin tells them.
func TestGolden(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"empty":     reflect.TypeFor[struct{}](),
		"numbers":   reflect.TypeFor[numbers](),
		"tagged":    reflect.TypeFor[tagged](),
		"many":      reflect.TypeFor[many](),
		"embedding": reflect.TypeFor[embedding](),
		"tree":      reflect.TypeFor[*tree](),
		"document":  reflect.TypeFor[document](),
		"list":      reflect.TypeFor[[]point](),
		"string":    reflect.TypeFor[string](),
		"bool":      reflect.TypeFor[bool](),
		"any":       reflect.TypeFor[any](),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(typ)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := Of(typ); again != got {
				t.Errorf("the second time it is %s", again)
			}
			compile(t, got)
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != strings.TrimSpace(string(want)) {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

// compile checks that text is a schema, its references too.
func compile(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test:schema")
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// A schema of a type that holds itself says so at every depth.
func TestRecursion(t *testing.T) {
	text, err := Of(reflect.TypeFor[document]())
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, text)
	good := `{"root":{"blocks":[{"blocks":[]}]},"index":{"a":{"b":{}}},"generic":{"value":"x"}}`
	for _, c := range []struct {
		old, new string
		ok       bool
	}{
		{"", "", true},
		{`{"b":{}}`, `{"b":1}`, false},
		{`[{"blocks":[]}]`, `[{"blocks":[{}]}]`, false},
		{`"value":"x"`, `"value":"x","left":{"value":1}`, false},
		{`"value":"x"`, `"value":"x","left":{"value":"y"}`, true},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(good, c.old, c.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); (err == nil) != c.ok {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		}
	}
}

type pointer *pointer

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[chan int](), "chan int: it has no JSON form"},
		{reflect.TypeFor[uintptr](), "uintptr: it has no JSON form"},
		{reflect.TypeFor[complex128](), "complex128: it has no JSON form"},
		{reflect.TypeFor[error](), "error: it has no JSON form"},
		{reflect.TypeFor[map[int]string](), "map[int]string: the keys of an object are strings"},
		{reflect.TypeFor[pointer](), "schema.pointer: a named pointer type has no schema"},
		{reflect.TypeFor[struct{ F []func() }](), "struct { F []func() }.F: func(): it has no JSON form"},
		{reflect.TypeFor[struct{ J json.RawMessage }](), "struct { J json.RawMessage }.J: " +
			"json.RawMessage: it has a JSON form of its own, which the kit does not follow; " +
			"give the field another type"},
		{reflect.TypeFor[[]struct{ a int }](), "struct { a int }: none of its fields is exported"},
	} {
		_, err := Of(c.typ)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v\nwant %s", c.typ, err, c.want)
		}
	}
}
