package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/excerpt"
)

func numbered(n int) []plugins.Tool {
	all := make([]plugins.Tool, n)
	for i := range all {
		all[i] = tool(spec(fmt.Sprintf("t%03d", i)), gives("1"))
	}
	return all
}

var onDemand = []string{"call_tool", "read_more", "search_tools"}

// TestWhenToSearch pins the edge at which clients see search_tools in place of the tools.
func TestWhenToSearch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		opts  *mcpserver.Options
		tools int
		want  int // of the registry's tools that are listed
		own   []string
	}{
		{"none", nil, 0, 0, nil},
		{"at the threshold", nil, mcpserver.DefaultDirectTools, mcpserver.DefaultDirectTools,
			[]string{"read_more"}},
		{"past it", nil, mcpserver.DefaultDirectTools + 1, 0, onDemand},
		{"another threshold", &mcpserver.Options{DirectTools: 2}, 2, 2, []string{"read_more"}},
		{"past that", &mcpserver.Options{DirectTools: 2}, 3, 0, onDemand},
		{"always", &mcpserver.Options{Discover: true}, 1, 0, onDemand},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serverWith(t, tt.opts, numbered(tt.tools)...)
			names := toolNames(t, ways[0].connect(t, s, nil))
			own := slices.DeleteFunc(slices.Clone(names),
				func(name string) bool { return name[0] == 't' })
			if len(names)-len(own) != tt.want || !slices.Equal(own, tt.own) {
				t.Errorf("have %v", names)
			}
		})
	}
}

func described(name, description string) plugins.Tool {
	return tool(abi.ToolSpec{Name: name, Description: description, InputSchema: pointSchema}, gives("1"))
}

type found struct {
	Name, Description, Effect string
	InputSchema               json.RawMessage
}

func TestSearchRanks(t *testing.T) {
	s, _ := serverWith(t, &mcpserver.Options{Discover: true},
		described("weather_get", "Tells the temperature and the rain of a city."),
		described("calculator", "Adds and multiplies numbers."),
		described("city_find", "Finds the coordinates of a place by its name."),
		described("notes_add", "Writes a note. Notes are kept, notes are searched."),
		described("notes_find", "Finds notes by their words."),
		described("zip", "Packs files."),
	)
	c := ways[1].connect(t, s, nil)
	for query, want := range map[string]string{
		"weather":                       "weather_get",
		"rain in a city":                "weather_get city_find",
		"calc":                          "calculator",
		"find notes":                    "notes_find notes_add city_find",
		"zip":                           "zip",
		"ZIP files":                     "zip",
		"city_find":                     "city_find",
		"adding number":                 "calculator",
		"what multiplies two numbers??": "calculator",
	} {
		res := call(t, c, "search_tools", map[string]any{"query": query})
		var hits []found
		if err := json.Unmarshal([]byte(textOf(res)), &hits); err != nil {
			t.Fatalf("%s: %v in %s", query, err, textOf(res))
		}
		var names []string
		for _, hit := range hits {
			names = append(names, hit.Name)
			if string(hit.InputSchema) != pointSchema || hit.Effect != "write" || hit.Description == "" {
				t.Errorf("%s: %+v", query, hit)
			}
		}
		if have := strings.Join(names, " "); !strings.HasPrefix(have, want) {
			t.Errorf("%q finds %s", query, have)
		}
	}
	res := call(t, c, "search_tools", map[string]any{"query": "xylophone"})
	if res.IsError || !strings.Contains(textOf(res), "None of the 6 tools") {
		t.Errorf("nothing fits: %s", textOf(res))
	}
}

func TestSearchLimits(t *testing.T) {
	all := make([]plugins.Tool, mcpserver.MaxSearchHits+10)
	big := `{"type":"object","properties":{},"title":"` + strings.Repeat("x", 20<<10) + `"}`
	for i := range all {
		all[i] = tool(abi.ToolSpec{Name: fmt.Sprintf("big_%02d", i), InputSchema: big,
			Description: strings.Repeat("öä ", 300)}, gives("1"))
	}
	s, _ := serverWith(t, nil, all...)
	c := ways[0].connect(t, s, nil)
	for _, tt := range []struct {
		args       string
		hits, full int
	}{
		{`{"query":"big"}`, 8, 1},
		{`{"query":"big","limit":1}`, 1, 1},
		{fmt.Sprintf(`{"query":"big","limit":%d}`, mcpserver.MaxSearchHits), mcpserver.MaxSearchHits, 1},
		{fmt.Sprintf(`{"query":"big","limit":%d}`, mcpserver.MaxSearchHits+1), -1, 0},
		{`{"query":"big","limit":0}`, -1, 0},
		{fmt.Sprintf(`{"query":"big%s"}`, strings.Repeat(" ", mcpserver.MaxQuery-3)), 8, 1},
		{fmt.Sprintf(`{"query":"big%s"}`, strings.Repeat(" ", mcpserver.MaxQuery-2)), -1, 0},
		{`{"query":""}`, -1, 0},
	} {
		res := call(t, c, "search_tools", json.RawMessage(tt.args))
		if res.IsError != (tt.hits < 0) {
			t.Errorf("%.40s: %.200s", tt.args, textOf(res))
		}
		if res.IsError {
			continue
		}
		var hits []found
		if err := json.Unmarshal([]byte(textOf(res)), &hits); err != nil {
			t.Fatalf("%.40s: %v", tt.args, err)
		}
		full := 0
		for _, hit := range hits {
			if hit.InputSchema != nil {
				full++
			}
		}
		if len(hits) != tt.hits || full != tt.full || len(textOf(res)) > excerpt.DefaultMax {
			t.Errorf("%.40s: %d hits, %d with schemas, %d bytes", tt.args, len(hits), full, len(textOf(res)))
		}
	}
}

// TestCallToolIsTheSameCall pins that a call by call_tool passes the same gates as a call by name.
func TestCallToolIsTheSameCall(t *testing.T) {
	key := map[string]plugins.Rule{"pay": {Key: "order"}}
	pay := tool(abi.ToolSpec{Name: "pay", Effect: abi.EffectRead,
		InputSchema:  `{"type":"object","properties":{"n":{"type":"integer"}}}`,
		OutputSchema: `{"type":"integer"}`}, gives("7"))
	registry := plugins.NewRegistry(&plugins.Options{Rules: key})
	if err := registry.Add(pay); err != nil {
		t.Fatal(err)
	}
	direct := mcpserver.New(registry, nil)
	defer direct.Close()
	search := mcpserver.New(registry, &mcpserver.Options{Discover: true})
	defer search.Close()
	byName, byCall := ways[0].connect(t, direct, nil), ways[0].connect(t, search, nil)
	for _, args := range []string{`{"order":"1","n":1}`, `{"order":"1","n":"2"}`, `{"n":1}`, `{"n":"x"}`,
		`{}`, `{"order":"1","order":"2"}`} {
		one := call(t, byName, "pay", json.RawMessage(args))
		two := call(t, byCall, "call_tool", json.RawMessage(`{"name":"pay","arguments":`+args+`}`))
		if two.StructuredContent != nil {
			t.Errorf("%s: structured content without a schema", args)
		}
		one.StructuredContent = nil
		if strings.Contains(args, `"order":"2"`) { // found in the arguments of call_tool itself
			if !one.IsError || !two.IsError {
				t.Errorf("a field twice: %v, %v", one.IsError, two.IsError)
			}
			continue
		}
		have, _ := json.Marshal(two)
		want, _ := json.Marshal(one)
		if !bytes.Equal(have, want) {
			t.Errorf("%s: %s by name, %s by call_tool", args, want, have)
		}
	}
	for args, want := range map[string]string{
		`{}`:                             `the field "name" is missing`,
		`{"name":[]}`:                    "at /name",
		`{"name":"pay","arguments":[1]}`: "at /arguments",
		`{"name":"pay","args":{}}`:       "unknown field",
		`{"name":"nobody"}`:              `no tool "nobody"`,
		`{"name":"call_tool"}`:           `no tool "call_tool"`,
		`{"name":"read_more"}`:           `no tool "read_more"`,
	} {
		if res := call(t, byCall, "call_tool", json.RawMessage(args)); !res.IsError ||
			!strings.Contains(textOf(res), want) || res.Meta[mcpserver.MetaError] == nil {
			t.Errorf("%s: %s", args, textOf(res))
		}
	}
}

// TestOurNamesWin pins which of two tools a name means, and that the other one can be reached.
func TestOurNamesWin(t *testing.T) {
	theirs := func(name string) plugins.Tool {
		return tool(spec(name), func(context.Context, plugins.Call) (plugins.Output, error) {
			return value(`"theirs"`), nil
		})
	}
	for _, tt := range []struct {
		name  string
		opts  *mcpserver.Options
		tools []string
		list  string
		warn  int
	}{
		{"direct", nil, []string{"read_more", "a"}, "a call_tool read_more", 1},
		{"direct, both", nil, []string{"read_more", "call_tool"}, "call_tool read_more", 2},
		{"no collision", nil, []string{"search_tools", "call_tool"}, "call_tool read_more search_tools", 0},
		{"on demand", &mcpserver.Options{Discover: true}, onDemand, "call_tool read_more search_tools", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			opts := mcpserver.Options{}
			if tt.opts != nil {
				opts = *tt.opts
			}
			opts.Logger = logTo(&log)
			var all []plugins.Tool
			for _, name := range tt.tools {
				all = append(all, theirs(name))
			}
			s, _ := serverWith(t, &opts, all...)
			c := ways[0].connect(t, s, nil)
			if have := strings.Join(toolNames(t, c), " "); have != tt.list {
				t.Errorf("have %s", have)
			}
			if n := strings.Count(log.String(), "a tool of the server has this name"); n != tt.warn {
				t.Errorf("%d warnings: %s", n, log.String())
			}
			if tt.warn == 0 {
				if res := call(t, c, "call_tool", nil); textOf(res) != "theirs" {
					t.Errorf("call_tool is ours: %s", textOf(res))
				}
				return
			}
			for _, name := range tt.tools {
				res := call(t, c, "call_tool", map[string]any{"name": name})
				if textOf(res) != "theirs" {
					t.Errorf("%s by call_tool: %s", name, textOf(res))
				}
			}
			if res := call(t, c, "read_more", map[string]any{"handle": "x"}); textOf(res) == "theirs" {
				t.Error("read_more is theirs")
			}
		})
	}
}
