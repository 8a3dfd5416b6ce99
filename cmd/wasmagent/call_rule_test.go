package main

import (
	"reflect"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// The flags of call decide about the tool, and without them nothing is decided.
func TestCallRule(t *testing.T) {
	for _, c := range []struct {
		flags callFlags
		want  plugins.Rule
	}{
		{callFlags{}, plugins.Rule{}},
		{callFlags{key: "order.id"}, plugins.Rule{Key: "order.id"}},
		{callFlags{effect: "read"}, plugins.Rule{Effect: new(abi.EffectRead)}},
		{callFlags{effect: "idempotent", retryTimeouts: true},
			plugins.Rule{Effect: new(abi.EffectIdempotent), RetryTimeouts: true}},
		{callFlags{effect: "write"}, plugins.Rule{Effect: new(abi.EffectWrite)}},
	} {
		got, err := c.flags.rule()
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %+v, %v, want %+v", c.flags, got, err, c.want)
		}
	}
	for _, word := range []string{"Write", "write ", "none"} {
		if _, err := (&callFlags{effect: word}).rule(); err == nil {
			t.Errorf("--effect %q is taken", word)
		}
	}
}
