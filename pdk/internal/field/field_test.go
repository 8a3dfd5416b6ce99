package field

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"
)

type Base struct {
	ID, Both string
}

type Other struct {
	Both string
	X    int
}

type Clock struct{ time.Time }

type lower struct {
	Seen int
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		v    any
		want []string // names, those of optional fields after a question mark
	}{
		{struct{}{}, nil},
		{struct {
			A int
			b int
			C int `json:"-"`
			D int `json:"d,omitempty"`
			E int `json:",omitzero"`
			F *int
			G int `default:"1"`
		}{}, []string{"A", "?d", "?E", "?F", "?G"}},
		{struct {
			Base
			X int
		}{}, []string{"ID", "Both", "X"}},
		{struct {
			Base
			Both int
		}{}, []string{"ID", "Both"}}, // the outer one is taken
		{struct{ *Base }{}, []string{"?ID", "?Both"}},
		{struct {
			Base `json:"base"`
		}{}, []string{"base"}},
		{struct{ lower }{}, []string{"Seen"}},
		{struct{ time.Time }{}, []string{"Time"}}, // travels as text, and so is one value
		{struct{ json.Number }{}, []string{"Number"}},
	} {
		s, err := Of(reflect.TypeOf(c.v))
		if err != nil {
			t.Errorf("%T: %v", c.v, err)
			continue
		}
		var names []string
		for i, f := range s.Fields {
			name := f.Name
			if f.Optional {
				name = "?" + name
			}
			names = append(names, name)
			if at, ok := s.Lookup([]byte(f.Name)); !ok || at != i {
				t.Errorf("%T: %s is found at %d, %t", c.v, f.Name, at, ok)
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%T: %v, want %v", c.v, names, c.want)
		}
	}
}

type Self struct{ *Self }

func TestOfErrors(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string // the field, and what is wrong
	}{
		{struct {
			Base
			Other
		}{}, ": two fields travel as Both"},
		{reflect.Zero(reflect.StructOf([]reflect.StructField{ // go vet refuses to see it written out
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
			{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
		})).Interface(), ": two fields travel as x"},
		{struct{ a int }{}, ": none of its fields is exported"},
		{struct{ *lower }{}, "lower: an embedded pointer must be to an exported struct"},
		{Self{}, ": a struct cannot embed itself"},
		{struct {
			A int `json:"a,string"`
		}{}, "A: json option string is not known; use omitempty or omitzero"},
		{struct {
			A string `enum:"a, b"`
		}{}, "A: enum: words are separated by a comma alone"},
		{struct {
			A int `enum:"1,two"`
		}{}, "A: enum: \"two\" does not fit the type int"},
		{struct {
			A int8 `max:"128"`
		}{}, "A: max: \"128\" does not fit the type int8"},
		{struct {
			A bool `min:"0"`
		}{}, "A: min: a bool has no min"},
		{struct {
			A string `max:"-1"`
		}{}, "A: max: \"-1\" does not fit the type uint32"},
		{struct {
			A float64 `min:"NaN"`
		}{}, "A: min: \"NaN\" does not fit the type float64"},
		{struct {
			A bool `default:"yes"`
		}{}, "A: default: \"yes\" does not fit the type bool"},
		{struct {
			A []int `default:"1"`
		}{}, "A: default: \"1\" does not fit the type []int"},
		{struct {
			A time.Time `default:"now"`
		}{}, "A: default: \"now\" does not fit the type time.Time"},
		{struct {
			A string `enum:"a,b" default:"c"`
		}{}, "A: default: c is not in enum"},
	} {
		_, err := Of(reflect.TypeOf(c.v))
		var e *Error
		if !errors.As(err, &e) || e.Struct != reflect.TypeOf(c.v).String() ||
			e.Field+": "+e.Detail != c.want {
			t.Errorf("%T:\n%v\nwant %s", c.v, err, c.want)
		}
	}
}

func TestTags(t *testing.T) {
	s, err := Of(reflect.TypeFor[struct {
		A *int     `enum:"1,2" default:"2"`
		B []string `enum:"x,\"" min:"1" max:"3"`
		C float64  `min:"-0.5" max:"1e3" default:".5"`
		D string   `default:""`
		E uint8    `max:"255"`
	}]())
	if err != nil {
		t.Fatal(err)
	}
	type tags struct {
		enum              []string
		min, max, initial string
	}
	for i, want := range []tags{
		{[]string{"1", "2"}, "", "", "2"},
		{[]string{`"x"`, `"\""`}, "1", "3", ""},
		{nil, "-0.5", "1000", "0.5"},
		{nil, "", "", `""`},
		{nil, "", "255", ""},
	} {
		f := s.Fields[i]
		if got := (tags{f.Enum, f.Min, f.Max, f.Default}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", f.Name, got, want)
		}
	}
	if got := s.Fields[0].Preset.Int(); got != 2 {
		t.Errorf("preset %d", got)
	}
}

func TestFormOf(t *testing.T) {
	for _, c := range []struct {
		v    any
		want Form
	}{
		{1, Plain},
		{&time.Time{}, Plain}, // the pointer; what it points to has a form
		{time.Time{}, Time},
		{netip.Addr{}, Text},
		{json.Number(""), Number},
		{json.RawMessage{}, OwnJSON},
		{Clock{}, OwnJSON}, // what it embeds gives it time's methods, but not its meaning
		{lower{}, Plain},
	} {
		if got := FormOf(reflect.TypeOf(c.v)); got != c.want {
			t.Errorf("%T: %d, want %d", c.v, got, c.want)
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	for _, s := range []string{"", `a"b\c`, "\n\t\r\x00\x1f", "é\u2028</script>", "\xff"} {
		var back string
		quoted := AppendQuoted(nil, s)
		want := s
		if s == "\xff" {
			want = "\uFFFD"
		}
		if err := json.Unmarshal(quoted, &back); err != nil || back != want {
			t.Errorf("%q: %s, %v", s, quoted, err)
		}
	}
}
