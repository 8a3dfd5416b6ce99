package tokens_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
)

func TestEstimate(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "abcdefgh": 2, "abcdefghi": 3, "é": 1, "ééé": 2,
	} {
		if have := tokens.Estimate(text); have != want {
			t.Errorf("%q: %d, want %d", text, have, want)
		}
	}
}

func TestMargin(t *testing.T) {
	for in, want := range map[int]int{0: 0, 1: 2, 3: 4, 4: 5, 5: 7, 100: 125} {
		if have := tokens.Margin(in); have != want {
			t.Errorf("%d: %d, want %d", in, have, want)
		}
	}
}

// TestFits has, for each limit, the largest estimate that fits and what it is projected to.
func TestFits(t *testing.T) {
	for _, tt := range []struct{ limit, estimate, projected int }{
		{200_000, 146_892, 183_615},
		{400_000, 306_892, 383_615},
		{500_000, 386_892, 483_615},
		{1_048_576, 825_753, 1_032_192},
		{16_384, 0, 0},
	} {
		projected := tokens.Margin(tt.estimate)
		if projected != tt.projected {
			t.Errorf("limit %d: %d is projected to %d, want %d", tt.limit, tt.estimate, projected,
				tt.projected)
		}
		if !tokens.Fits(projected, tt.limit) {
			t.Errorf("limit %d: an estimate of %d does not fit", tt.limit, tt.estimate)
		}
		if tokens.Fits(tokens.Margin(tt.estimate+1), tt.limit) {
			t.Errorf("limit %d: an estimate of %d fits", tt.limit, tt.estimate+1)
		}
	}
	if have := tokens.Margin(146_893); have != 183_617 {
		t.Errorf("146,893 is projected to %d", have)
	}
	if tokens.Fits(0, tokens.Reserve-1) {
		t.Error("nothing fits where there is no room for an answer")
	}
}

// TestEstimateRequest pins that it is the JSON's bytes that count, of messages and of tools apart.
func TestEstimateRequest(t *testing.T) {
	messages := []message.Message{
		{Role: message.System, Text: "Be <brief> & kind."},
		{Role: message.User, Text: "é"},
	}
	tools := []message.Spec{
		{Name: "f", Description: "a", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "g", Schema: json.RawMessage(`{}`)},
	}
	const (
		messagesJSON = `[{"role":"system","text":"Be <brief> & kind."},{"role":"user","text":"é"}]`
		toolsJSON    = `[{"name":"f","description":"a","schema":{"type":"object"}},` +
			`{"name":"g","schema":{}}]`
	)
	m, s := tokens.Estimate(messagesJSON), tokens.Estimate(toolsJSON)
	for name, tt := range map[string]struct {
		messages []message.Message
		tools    []message.Spec
		want     int
	}{
		"nothing":     {nil, nil, tokens.Estimate("[]")},
		"messages":    {messages, nil, m},
		"no tools":    {messages, []message.Spec{}, m},
		"both":        {messages, tools, m + s},
		"only tools":  {nil, tools, tokens.Estimate("[]") + s},
		"broken JSON": {nil, []message.Spec{{Schema: json.RawMessage(`{"`)}}, 0},
	} {
		have := tokens.EstimateRequest(tt.messages, tt.tools)
		if name == "broken JSON" {
			if have < tokens.Estimate(`{"`) {
				t.Errorf("%s: only %d", name, have)
			}
			continue
		}
		if have != tt.want {
			t.Errorf("%s: %d, want %d", name, have, tt.want)
		}
		if p := tokens.Projected(tt.messages, tt.tools); p != tokens.Margin(tt.want) {
			t.Errorf("%s: projected to %d", name, p)
		}
	}
}

func TestLimits(t *testing.T) {
	limits := tokens.Limits{"large": 1_048_576, "large-mini": 400_000}
	for model, want := range map[string]int{
		"large": 1_048_576, "large-mini": 400_000,
		"large-2": 200_000, "LARGE": 200_000, "": 200_000,
	} {
		if have := limits.Of(model); have != want {
			t.Errorf("%q: %d, want %d", model, have, want)
		}
	}
	if have := tokens.Limits(nil).Of("any"); have != tokens.DefaultLimit {
		t.Errorf("no table: %d", have)
	}
}

func BenchmarkProjected(b *testing.B) {
	list := make([]message.Message, 100)
	for i := range list {
		list[i] = message.Message{Role: message.User, Text: strings.Repeat("word ", 200)}
	}
	b.ReportAllocs()
	for b.Loop() {
		tokens.Projected(list, nil)
	}
}
