package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins/ledger"
)

func (a *app) ledgerReleaseCommand() *cobra.Command {
	var tool, scope, reason string
	cmd := &cobra.Command{
		Use:   "release KEY",
		Short: "Free a key, so that the next call with it runs",
		Long: `Free a key, whatever became of the call that holds it: the next call with it runs, even
if an earlier one is recorded as done. To record what became of a call, use "resolve"
instead. A call that is still running keeps its key. Two tools, or two plugin
directories, can have keys of the same text; then --tool or --scope says which. A key with
characters that cannot be typed is taken in quotes, with escapes, as "show" prints it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && keyOf(args[0]) == "" {
				return &usageError{text: "an empty key is none"}
			}
			return takes(1, 1, "one key")(cmd, args)
		},
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := func(c ledger.Claim) bool {
				return (tool == "" || c.Tool == tool) &&
					(!cmd.Flags().Changed("scope") || c.Scope == scope)
			}
			return a.ledgerRelease(cmd.Context(), keyOf(args[0]), wanted, reason)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&tool, "tool", "", "the `name` of the tool whose key it is")
	f.StringVar(&scope, "scope", "",
		"the `scope` of the key, such as DIRECTORY#PLUGIN for the command's own calls")
	f.StringVar(&reason, "reason", "", "a `text` to record with it")
	return cmd
}

func (a *app) ledgerRelease(ctx context.Context, key string, wanted func(ledger.Claim) bool,
	reason string) error {
	l, err := a.ledgerThatIs(ctx, nil)
	if err != nil {
		return err
	}
	claims, err := heldKeys(ctx, l, key)
	if err != nil {
		return err
	}
	var found []ledger.Claim
	for _, c := range claims {
		if wanted(c) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return a.noSuchKey(ctx, l, key, claims)
	} else if len(found) > 1 {
		return &usageError{
			text: fmt.Sprintf("the key %s is held %d times", quotedKey(key), len(found)),
			hint: "say which: " + claimsText(found),
		}
	}
	c := found[0]
	if err := l.Release(ctx, c.Scope, c.Tool, c.Key, reason); err != nil {
		return undecided(err)
	}
	return a.printChange(
		changeJSON{Did: "released", Place: c.Holder.String(), Tool: c.Tool, Scope: c.Scope, Key: c.Key},
		"released the key %s, which %s held: the next call of %s with it runs", quotedKey(c.Key),
		c.Holder, c.Tool)
}

// heldKeys lists the claims of a key, or of all.
func heldKeys(ctx context.Context, l *ledger.SQLite, key string) ([]ledger.Claim, error) {
	var all []ledger.Claim
	for c, err := range l.Claims(ctx, key) {
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// noSuchKey is a key that nobody holds, or none of those that are wanted.
func (a *app) noSuchKey(ctx context.Context, l *ledger.SQLite, key string,
	claims []ledger.Claim) error {
	if len(claims) > 0 {
		return &notFoundError{
			text: fmt.Sprintf("that tool or scope does not hold the key %s", quotedKey(key)),
			hint: "it is held by " + claimsText(claims),
		}
	}
	all, err := heldKeys(ctx, l, "")
	if err != nil {
		return err
	}
	hint := `a key begins with its tool's name, such as pay:7; ` + a.quoted("show", "RUN") +
		" shows those of a run"
	for _, c := range all { // a key that is only similar is another payment
		if c.Key == c.Tool+":"+key {
			hint = fmt.Sprintf("a key begins with its tool's name: did you mean %s?", quotedKey(c.Key))
		}
	}
	return &notFoundError{text: fmt.Sprintf("nobody holds the key %s", quotedKey(key)), hint: hint}
}

// maxClaims is how many holders of a key an error names.
const maxClaims = 10

// claimsText tells claims of one key apart, by the flags that do.
func claimsText(claims []ledger.Claim) string {
	var words []string
	for _, c := range claims[:min(len(claims), maxClaims)] {
		words = append(words, fmt.Sprintf("--tool %s --scope %s (%s)", shellQuote(c.Tool),
			shellQuote(c.Scope), c.Holder))
	}
	text := strings.Join(words, " or ")
	if more := len(claims) - maxClaims; more > 0 {
		text += fmt.Sprintf(" or %d more", more)
	}
	return text
}
