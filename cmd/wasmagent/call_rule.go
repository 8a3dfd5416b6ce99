package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// effects are the words for what a tool does, the harmless first.
var effects = []string{
	abi.EffectRead.String(), abi.EffectIdempotent.String(), abi.EffectWrite.String(),
}

// callFlags are the flags of call.
type callFlags struct {
	fields        []string // -f
	key           string   // path of the idempotency key; "" is none
	effect        string   // the operator's word; "" leaves it to the tool
	retryTimeouts bool
}

func (a *app) addCallFlags(cmd *cobra.Command, flags *callFlags) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVarP(&flags.fields, "field", "f", nil,
		"put a field into the input: `name=value`, or name=@FILE for a text in a file; "+
			"a.b=value goes into an object")
	f.Var(&someText{&flags.key}, "key",
		"take the call's idempotency key from the field at this `path` of the input, hand it to "+
			"the tool, and record the call unless it only reads")
	f.Var(&someText{&flags.effect}, "effect",
		"what the tool does, whatever it says itself: the `word` read, idempotent or write")
	f.BoolVar(&flags.retryTimeouts, "retry-timeouts", false,
		"try again after a time limit of the plugin, too, where the effect allows another attempt")
	a.ledgerFlag(f, "the `file` of the ledger that records calls with a key")
	complete := cobra.FixedCompletions(effects, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("effect", complete); err != nil {
		panic(err) // a flag that is not there
	}
}

// someText is the text of a flag that decides whether a call is recorded, and where. A script whose
// variable is not set would give it as "", and must not get the call without.
type someText struct{ text *string }

func (t *someText) String() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

func (t *someText) Type() string { return "string" }

// Set implements pflag.Value.
func (t *someText) Set(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	*t.text = s
	return nil
}

// rule is what the flags decide about the tool.
func (f *callFlags) rule() (plugins.Rule, error) {
	rule := plugins.Rule{Key: f.key, RetryTimeouts: f.retryTimeouts}
	if f.key != "" && slices.Contains(strings.Split(f.key, "."), "") {
		return rule, &usageError{
			text: fmt.Sprintf("--key is a path of names, and one of %q is empty", f.key),
			hint: "such as order, or order.id for a field of an object",
		}
	}
	if f.effect == "" {
		return rule, nil
	}
	effect, ok := abi.ParseEffect(f.effect)
	if !ok {
		return rule, &usageError{text: fmt.Sprintf("--effect is one of %s, not %q",
			strings.Join(effects, ", "), f.effect)}
	}
	rule.Effect = &effect
	return rule, nil
}

// unrecorded tells that a call has a key and was not recorded, where its tool says that it does
// more than read: then its caller may count on the key.
func (f *callFlags) unrecorded(p *loader.Plugin, tool plugins.Tool) string {
	spec := tool.Spec()
	ruled := overPolicy(plugins.Rule{}, tool).Effect != nil
	if f.key == "" || f.effect != "" || spec.Effect != abi.EffectRead || ruled {
		return ""
	}
	for _, t := range p.Manifest.Tools {
		if p.Prefix+t.Name == spec.Name && t.Effect != abi.EffectRead {
			return fmt.Sprintf("not recorded: the plugin is linked to nothing that it could change, so "+
				"its tool only reads; --effect %s says otherwise", t.Effect)
		}
	}
	return ""
}

// registryFor makes the registry of one call. The ledger's file is opened, and made if need be,
// only once there is something to record.
func (a *app) registryFor(tool plugins.Tool, rule plugins.Rule) (*plugins.Registry, error) {
	rule = overPolicy(rule, tool)
	effect := tool.Spec().Effect
	if rule.Effect != nil {
		effect = *rule.Effect
	}
	if rule.Key == "" || effect == abi.EffectRead {
		if a.ledgerFile != "" {
			return nil, nothingToRecord(rule.Key)
		}
		return registryOf(tool, rule, nil)
	}
	a.record = &callLedger{openingLedger: openingLedger{app: a}}
	return registryOf(tool, rule, a.record)
}

// overPolicy puts what the flags say over what the policy says about the tool.
func overPolicy(flags plugins.Rule, tool plugins.Tool) plugins.Rule {
	ruled, ok := tool.(plugins.Ruler)
	if !ok {
		return flags
	}
	rule := ruled.Rule()
	if flags.Key != "" {
		rule.Key = flags.Key
	}
	if flags.Effect != nil {
		rule.Effect = flags.Effect
	}
	rule.RetryTimeouts = rule.RetryTimeouts || flags.RetryTimeouts
	return rule
}

// nothingToRecord refuses --ledger where it would be ignored.
func nothingToRecord(key string) error {
	if key == "" {
		return &usageError{
			text: "--ledger has nothing to record: the call has no key",
			hint: "--key PATH names the field of the input that identifies the call",
		}
	}
	return &usageError{
		text: "--ledger has nothing to record: the tool only reads",
		hint: "--effect write or --effect idempotent says that it does more",
	}
}

// registryOf makes a registry of one tool.
func registryOf(tool plugins.Tool, rule plugins.Rule, l plugins.Ledger) (*plugins.Registry, error) {
	r := plugins.NewRegistry(&plugins.Options{
		Ledger: l, Rules: map[string]plugins.Rule{tool.Spec().Name: rule},
	})
	return r, r.Add(tool)
}

// attemptsOf is how often a call's tool was run.
func attemptsOf(result plugins.Result, err error) int {
	if failed, ok := errors.AsType[*plugins.ToolError](err); ok {
		return failed.Attempts
	}
	return result.Attempts
}

// callLedger is the ledger of one call. It remembers where the call is recorded, for what is told of
// it.
type callLedger struct {
	openingLedger
	place plugins.Place // zero: nothing was recorded
	key   string
	held  bool // the call has ended, and its key waits for a person
}

// at is where the call is recorded, or "".
func (l *callLedger) at() string {
	if l == nil || l.place == (plugins.Place{}) {
		return ""
	}
	return l.place.String()
}

// Begin implements plugins.Ledger.
func (l *callLedger) Begin(ctx context.Context, in plugins.Intent) (plugins.Begun, error) {
	begun, err := l.openingLedger.Begin(ctx, in)
	if err == nil && !begun.Done {
		l.place, l.key = begun.Place, begun.Key
	}
	return begun, err
}

// End implements plugins.Ledger.
func (l *callLedger) End(ctx context.Context, id string, c plugins.Completion) error {
	err := l.openingLedger.End(ctx, id, c)
	l.held = err != nil || c.State == plugins.Unknown
	return err
}
