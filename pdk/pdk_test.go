package pdk_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

type none struct{}

// mode says how the tool "outcome" ends.
type mode struct {
	Mode string `json:"mode"`
}

var errPlain = errors.New("it rained")

func init() {
	pdk.Needs(abi.Needs{Config: []abi.ValueNeed{{Name: "unit"}}})
	pdk.Register(pdk.Tool{Name: "outcome"}, outcome)
	pdk.Register(pdk.Tool{Name: "told", Effect: pdk.Idempotent}, told)
	pdk.Register(pdk.Tool{Name: "blocks"}, func(_ *pdk.Call, in struct {
		Texts []string `json:"texts"`
	}) (pdk.Content, error) {
		var c pdk.Content
		for _, s := range in.Texts {
			c = append(c, pdk.Text(s))
		}
		return c, nil
	})
	pdk.Register(pdk.Tool{Name: "raw"},
		func(_ *pdk.Call, in pdk.Raw) (pdk.Raw, error) { return in, nil })
	pdk.Register(pdk.Tool{Name: "by_hand", InputSchema: `{"type":"object","required":["n"]}`,
		OutputSchema: `{"type":"object","required":["m"]}`},
		func(_ *pdk.Call, in map[string]any) (map[string]any, error) { return in, nil })
}

func outcome(_ *pdk.Call, in mode) (any, error) {
	switch in.Mode {
	case "error":
		return nil, fmt.Errorf("no picnic: %w", errPlain)
	case "failure":
		details, err := pdk.Encode([]int{1})
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("lost: %w", &pdk.Failure{Code: "c", Message: "m", Permanent: true,
			Details: details})
	case "input":
		return nil, fmt.Errorf("lost: %w", pdk.InvalidInput("/mode", "not that"))
	case "decode":
		var n int
		return nil, pdk.Decode(pdk.Raw{0xc3}, &n)
	case "channel":
		return make(chan int), nil
	}
	return "fine", nil
}

func told(c *pdk.Call, _ none) (map[string]any, error) {
	c.Debug("d")
	c.Info("i")
	c.Warn("w")
	c.Error("e")
	c.Progress(1, 2, "half")
	var unit string
	found, err := c.Config("unit", &unit)
	if err != nil {
		return nil, err
	}
	ms, limited := c.Remaining()
	return map[string]any{"id": c.ID, "key": c.Key, "attempt": c.Attempt, "unit": unit, "found": found,
		"limited": limited, "sane": ms >= 0 && ms <= 60_000, "cancelled": c.Cancelled()}, nil
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		tool, args string
		want       string // the result
		kind       string // or the kind of the error
		failure    *pdk.Failure
	}{
		{"outcome", `{"mode":"ok"}`, `"fine"`, "", nil},
		{"outcome", `{"mode":"error"}`, "", "handler", &pdk.Failure{Message: "no picnic: it rained"}},
		{"outcome", `{"mode":"failure"}`, "", "handler",
			&pdk.Failure{Code: "c", Message: "m", Permanent: true, Details: pdk.Raw{0x91, 0x01}}},
		{"outcome", `{"mode":"input"}`, "", "invalid_input",
			&pdk.Failure{Pointer: "/mode", Message: "not that"}},
		{"outcome", `{"mode":"decode"}`, "", "handler",
			&pdk.Failure{Message: "want an integer, have a bool"}},
		{"outcome", `{"mode":"channel"}`, "", "output_serialization",
			&pdk.Failure{Message: "a chan int has no JSON form"}},
		{"outcome", `{"mode":1}`, "", "invalid_input", nil},
		{"outcome", `{}`, "", "invalid_input", nil},
		{"outcome", `{"mode":"ok","mode":"ok"}`, "", "invalid_input", nil},
		{"outcome", `[`, "", "invalid_input", nil},
		{"blocks", `{"texts":["<a>","b"]}`, `[{"type":"text","text":"<a>"},{"type":"text","text":"b"}]`,
			"", nil},
		{"blocks", `{"texts":[]}`, "", "output_serialization",
			&pdk.Failure{Message: "the content has no blocks"}},
		{"raw", `{"a":[1,2.5,null]}`, `{"a":[1,2.5,null]}`, "", nil},
		{"raw", `[]`, "", "invalid_input", nil}, // arguments are an object even then
		{"by_hand", `{"n":1,"m":2}`, `{"m":2,"n":1}`, "", nil},
		{"by_hand", `{"n":1}`, "", "malformed_result", nil},
		{"by_hand", `{}`, "", "invalid_input", nil},
		{"nowhere", `{}`, "", "unknown_tool", nil},
	} {
		got, err := pdktest.Call(c.tool, c.args)
		if c.kind == "" {
			if err != nil || got != c.want {
				t.Errorf("%s %s: %s, %v", c.tool, c.args, got, err)
			}
			continue
		}
		var e *pdktest.Error
		if !errors.As(err, &e) || e.Kind != c.kind {
			t.Errorf("%s %s: %s, %v, want %s", c.tool, c.args, got, err, c.kind)
		}
		var f *pdk.Failure
		if errors.As(err, &f); !reflect.DeepEqual(f, c.failure) {
			t.Errorf("%s %s: %+v, want %+v", c.tool, c.args, f, c.failure)
		}
	}
}

// What a schema refuses is told with its place, as the host tells it.
func TestSchemaErrorText(t *testing.T) {
	for args, want := range map[string]string{
		`{"mode":1}`:              "invalid_input: at /mode: got number, want string",
		`{"mode":"ok","a/b~c":1}`: "invalid_input: at the top: additional properties 'a/b~c' not allowed",
		`[]`:                      "invalid_input: at the top: got array, want object",
	} {
		if _, err := pdktest.Call("outcome", args); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func TestCall(t *testing.T) {
	h := pdktest.Host{Key: "k", Attempt: 2, Deadline: time.Minute, Cancelled: true,
		Config: map[string]any{"unit": "ml"}}
	got, err := h.Call("told", `{}`)
	want := `{"attempt":2,"cancelled":true,"found":true,"id":"test","key":"k","limited":true,` +
		`"sane":true,"unit":"ml"}`
	if err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if logs := strings.Join(h.Logs, ", "); logs != "debug: d, info: i, warn: w, error: e" {
		t.Errorf("logs %s", logs)
	}
	if !reflect.DeepEqual(h.Progress, []abi.Progress{{Done: 1, Total: 2, Message: "half"}}) {
		t.Errorf("progress %v", h.Progress)
	}

	got, err = pdktest.Call("told", `{}`)
	want = `{"attempt":1,"cancelled":false,"found":false,"id":"test","key":"","limited":false,` +
		`"sane":true,"unit":""}`
	if err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	h = pdktest.Host{Config: map[string]any{"unit": 3}}
	_, err = h.Call("told", `{}`)
	if err == nil || err.Error() != "handler: want a string, have an integer" {
		t.Errorf("config of a wrong type: %v", err)
	}
}

func TestManifest(t *testing.T) {
	specs := map[string]abi.ToolSpec{}
	m := pdktest.Manifest()
	for _, s := range m.Tools {
		specs[s.Name] = s
	}
	if m.Name != "calculator" || len(m.Needs.Config) != 1 {
		t.Errorf("%+v", m)
	}
	if s := specs["told"]; s.Effect != pdk.Idempotent || s.OutputSchema !=
		`{"type":"object","additionalProperties":{}}` {
		t.Errorf("%+v", s)
	}
	if s := specs["raw"]; s.Effect != pdk.Write || s.InputSchema != "" || s.OutputSchema != "" {
		t.Errorf("%+v", s)
	}
	if s := specs["blocks"]; s.OutputSchema != "" {
		t.Errorf("content has the schema %s", s.OutputSchema)
	}
	if s := specs["by_hand"]; s.InputSchema != `{"type":"object","required":["n"]}` {
		t.Errorf("%+v", s)
	}
}

func handler[In, Out any](*pdk.Call, In) (out Out, err error) { return out, nil }

func TestRegisterPanics(t *testing.T) {
	for _, c := range []struct {
		register func()
		want     string
	}{
		{func() { pdk.Register(pdk.Tool{Name: "Upper"}, handler[none, none]) }, "pdk: the tool name"},
		{func() { pdk.Register(pdk.Tool{Name: "told"}, handler[none, none]) },
			`pdk: the tool "told" is registered twice`},
		{func() { pdk.Register(pdk.Tool{Name: "x"}, handler[string, none]) },
			"pdk: tool x: arguments are an object: take a struct or a map, not a string"},
		{func() { pdk.Register(pdk.Tool{Name: "x"}, handler[time.Time, none]) },
			"pdk: tool x: arguments are an object: take a struct or a map, not a time.Time"},
		{func() { pdk.Register(pdk.Tool{Name: "x"}, handler[none, chan int]) },
			"pdk: tool x: chan int: it has no JSON form"},
		{func() { pdk.Register(pdk.Tool{Name: "x"}, handler[struct{ F func() }, none]) },
			"pdk: tool x: struct { F func() }.F: func(): it has no JSON form"},
		{func() { pdk.Plugin("other", "2") }, "pdk: Plugin was called twice"},
		{func() { pdk.Plugin("", "2") }, "pdk: a plugin needs a name"},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, c.want) {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			c.register()
		}()
	}
}
