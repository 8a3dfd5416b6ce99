package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/plugins"
)

// agentFlags are the flags of what runs a model.
type agentFlags struct {
	set *pflag.FlagSet // to ask which were given

	provider, model, baseURL, keyEnv, system, approval string

	maxTurns, contextLimit, budgetSteps int
	budgetTokens                        int64
	budgetDollars                       float64
	budgetTime                          time.Duration
	parallel                            bool

	keys, effects   []string // --key, --effect: TOOL=…
	session, resume string
}

// providers are the words of --provider; script takes a file.
var providers = []string{"openai", "anthropic", "script:"}

// settingFlags are the flags that stand for keys of the configuration.
func (a *app) settingFlags(cmd *cobra.Command, flags *agentFlags) {
	f := cmd.Flags()
	f.SortFlags = false
	flags.set = f
	f.StringVar(&flags.provider, "provider", "",
		"who answers, a `word`: openai, anthropic, or script:FILE, which plays a file and asks no model")
	f.StringVar(&flags.model, "model", "", "the `model`")
	f.StringVar(&flags.baseURL, "base-url", "", "the `address` of another server with the same API")
	f.StringVar(&flags.keyEnv, "key-env", "",
		"the environment `variable` with the key, which another server needs to be given")
	f.StringVar(&flags.system, "system", "", "the system prompt: `text`, or @FILE")
	f.IntVar(&flags.maxTurns, "max-turns", 0, "at most this `number` of round trips with the model")
	f.StringVar(&flags.approval, "approval", "",
		"which calls to ask for, a `word`: never, on_request (those that do more than read) or "+
			"untrusted (all)")
	f.BoolVar(&flags.parallel, "parallel", false,
		"run calls of one turn side by side where their tools only read")
	f.IntVar(&flags.budgetSteps, "budget-steps", 0, "stop after this `number` of requests")
	f.Int64Var(&flags.budgetTokens, "budget-tokens", 0, "stop after this `number` of tokens")
	f.Float64Var(&flags.budgetDollars, "budget-dollars", 0,
		"stop after this `amount`; needs the model's prices in the configuration")
	f.DurationVar(&flags.budgetTime, "budget-time", 0, "stop after this `duration`")
	for name, words := range map[string][]string{
		"provider": providers, "approval": {"never", "on_request", "untrusted"},
	} {
		complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoSpace)
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // a flag that is not there
		}
	}
}

// runFlags are the flags of what runs a model and its tools.
func (a *app) runFlags(cmd *cobra.Command, flags *agentFlags) {
	a.settingFlags(cmd, flags)
	f := cmd.Flags()
	f.IntVar(&flags.contextLimit, "context-limit", 0,
		"send nothing that does not fit into so many `tokens` (else as configured for the model)")
	f.StringVar(&flags.session, "session", "",
		"record the conversation as a new session of this `name`")
	f.StringVar(&flags.resume, "resume", "", "go on with the session of this `name`")
	f.StringArrayVar(&flags.keys, "key", nil,
		"`TOOL=PATH`: the field at this path of a tool's input says which calls are one; repeatable")
	f.StringArrayVar(&flags.effects, "effect", nil,
		"`TOOL=WORD`: what a tool does, whatever it says: read, idempotent or write; repeatable")
	a.ledgerFlag(f, "the `file` of the ledger that records calls with a key, and those of sessions")
	if err := cmd.RegisterFlagCompletionFunc("resume", a.completeSessions); err != nil {
		panic(err) // a flag that is not there
	}
}

// overrides are what the flags say about the configuration.
func (a *app) overrides(flags *agentFlags) ([]config.Override, error) {
	kind, file, isScript := strings.Cut(flags.provider, ":")
	if isScript && (kind != "script" || file == "") {
		return nil, &usageError{
			text: fmt.Sprintf("--provider is openai, anthropic or script:FILE, not %q", flags.provider)}
	}
	system, err := a.textOrFile(flags.system)
	if err != nil {
		return nil, err
	}
	var list []config.Override
	for _, o := range []struct {
		flag, key string
		value     any
	}{
		{"provider", "provider.kind", kind},
		{"model", "provider.model", flags.model},
		{"base-url", "provider.base_url", flags.baseURL},
		{"key-env", "provider.key_env", flags.keyEnv},
		{"system", "core.system", system},
		{"max-turns", "core.max_iterations", flags.maxTurns},
		{"approval", "core.approvals", flags.approval},
		{"parallel", "core.parallel_tool_calls", flags.parallel},
		{"budget-steps", "budgets.steps", flags.budgetSteps},
		{"budget-tokens", "budgets.tokens", flags.budgetTokens},
		{"budget-dollars", "budgets.dollars", flags.budgetDollars},
		{"budget-time", "budgets.wall_time", flags.budgetTime.String()},
	} {
		if flags.set.Changed(o.flag) {
			list = append(list, config.Override{Key: o.key, Value: o.value, From: "--" + o.flag})
		}
	}
	if isScript {
		list = append(list, config.Override{Key: "provider.script", Value: file, From: "--provider"})
	}
	return list, nil
}

// textOrFile is a flag's text, or that of the file behind its @.
func (a *app) textOrFile(arg string) (string, error) {
	if !strings.HasPrefix(arg, "@") {
		return arg, nil
	}
	b, err := a.readArg(arg)
	return string(b), err
}

// configuration reads the configuration, with what the flags say on top. Flags that are wrong are a
// usage error; a file that is wrong is the host's configuration.
func (a *app) configuration(flags *agentFlags) (*config.Config, error) {
	opts := &config.Options{File: a.configFile}
	if flags != nil {
		var err error
		if opts.Overrides, err = a.overrides(flags); err != nil {
			return nil, err
		}
	}
	c, err := config.Load(opts)
	if err == nil {
		return c, nil
	}
	if wrong, ok := errors.AsType[*config.Error](err); ok && wrong.File == "" {
		return nil, &usageError{text: err.Error()}
	}
	if a.configFile != "" && errors.Is(err, os.ErrNotExist) {
		return nil, &usageError{text: fmt.Sprintf("no configuration file %s", a.configFile)}
	}
	return nil, &hinted{err, `"wasmagent config --help" and docs/config.md tell what a file may say`}
}

// rules are what --key and --effect decide about tools.
func (f *agentFlags) rules() (map[string]plugins.Rule, error) {
	rules := map[string]plugins.Rule{}
	for _, each := range []struct {
		flag string
		list []string
	}{{"key", f.keys}, {"effect", f.effects}} {
		for _, text := range each.list {
			tool, word, ok := strings.Cut(text, "=")
			if !ok || tool == "" || word == "" {
				return nil, &usageError{text: fmt.Sprintf("--%s %q is not TOOL=%s", each.flag, text,
					map[string]string{"key": "PATH", "effect": "WORD"}[each.flag])}
			}
			rule := rules[tool]
			if each.flag == "key" {
				rule.Key = word
			} else if effect, ok := abi.ParseEffect(word); ok {
				rule.Effect = &effect
			} else {
				return nil, &usageError{text: fmt.Sprintf("--effect %s is one of %s, not %q", tool,
					strings.Join(effects, ", "), word)}
			}
			rules[tool] = rule
		}
	}
	return rules, nil
}

// approvalOf is what the configuration says about who decides on calls.
func approvalOf(c *config.Config) agentloop.Approval {
	verdicts := map[string]agentloop.Verdict{
		"allow": agentloop.Allow, "ask": agentloop.AskFirst, "deny": agentloop.Deny}
	return agentloop.Approval{
		Mode: agentloop.Mode(c.Core.Approvals),
		Rule: func(q agentloop.Question) agentloop.Verdict {
			return verdicts[c.Tools.Approvals[q.Call.Name]]
		},
	}
}

// budgetOf is what the configuration says that runs may take.
func budgetOf(c *config.Config) agentloop.Budget {
	b := agentloop.Budget{Steps: c.Budgets.Steps, Tokens: c.Budgets.Tokens,
		Dollars: c.Budgets.Dollars, Wall: c.Budgets.WallTime}
	b.Prices = pricesOf(&c.Provider, c.Provider.Model)
	return b
}

func pricesOf(p *config.Provider, model string) agentloop.Prices {
	if price := p.Prices[model]; price != nil {
		return agentloop.Prices{Input: price.Input, Output: price.Output, Cached: price.Cached}
	}
	return agentloop.Prices{}
}

// needsModel tells of what a configuration lacks to run a model, and of what needs none.
func needsModel(cfg *config.Config, err error) error {
	hint := "--model names it, or model in the section [provider] of " + config.UserFile()
	if errors.Is(err, config.ErrNoProvider) {
		hint = "--provider openai (or any server with its API: --base-url) or --provider anthropic, " +
			"with --model; or kind and model in the section [provider] of " + config.UserFile() +
			`. These need no model: "wasmagent call", "wasmagent demo", and "wasmagent run --provider ` +
			`script:FILE"`
	}
	text := err.Error()
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		text = wrong.Detail
		switch wrong.Key {
		default:
			if strings.HasPrefix(wrong.Key, "capabilities.subagents.") {
				text = wrong.Error()
				hint = "the prices of a model are in dollars for a million tokens, in " + config.UserFile()
			}
		case "budgets.dollars":
			text = "a budget in dollars " + wrong.Detail
			hint = fmt.Sprintf("the section [provider.prices.%q] of %s has them: input and output, for a "+
				"million tokens", cfg.Provider.Model, config.UserFile())
			if cfg.Provider.Model == "" {
				hint = "--model names a model whose prices count for the script"
			}
		case "provider.script":
			hint = "--provider script:FILE names it"
		}
	}
	return &usageError{text: text, hint: hint}
}
