// Patch compares texts and applies unified diffs, so that an agent can change a large text by
// sending only what changes.
package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one call.
const (
	maxTextBytes = 4 << 20 // bytes of a text
	maxDiffBytes = 1 << 20 // bytes of a diff, given or made
	maxContext   = 20      // unchanged lines around a change
)

func init() {
	pdk.Plugin("patch", "1.0.0")
	pdk.Register(pdk.Tool{
		Name: "diff_texts",
		Description: "Compare two versions of a text line by line and return a unified diff " +
			"with counts. Use it to show or check what changed. Equal texts give an empty diff.",
		Effect: pdk.Read,
	}, diffTexts)
	pdk.Register(pdk.Tool{
		Name: "apply_patch",
		Description: "Apply a unified diff to a text and return the new text. All hunks apply or " +
			"none does. Context must match exactly; a hunk whose line number is off is still " +
			"applied if its lines are at exactly one place nearby. A conflict names the hunk, " +
			"the line, and both texts.",
		Effect: pdk.Read,
	}, applyPatch)
}

func main() {}

// DiffInput is the arguments of diff_texts.
type DiffInput struct {
	Old     string `json:"old" doc:"the text before the change"`
	New     string `json:"new" doc:"the text after the change"`
	OldName string `json:"old_name,omitempty" default:"a" doc:"name in the --- line"`
	NewName string `json:"new_name,omitempty" default:"b" doc:"name in the +++ line"`
	Context int    `json:"context,omitempty" min:"0" max:"20" default:"3" doc:"unchanged lines to show around each change"`
}

// DiffOutput is the result of diff_texts.
type DiffOutput struct {
	Diff    string `json:"diff" doc:"unified diff; empty when the texts are equal"`
	Hunks   int    `json:"hunks" doc:"number of blocks in the diff"`
	Added   int    `json:"added" doc:"lines added"`
	Removed int    `json:"removed" doc:"lines removed"`
}

func diffTexts(_ *pdk.Call, in DiffInput) (DiffOutput, error) {
	for _, text := range []struct{ pointer, value string }{{"/old", in.Old}, {"/new", in.New}} {
		if err := checkSize(text.pointer, text.value, maxTextBytes); err != nil {
			return DiffOutput{}, err
		}
	}
	for _, name := range []struct{ pointer, value string }{
		{"/old_name", in.OldName}, {"/new_name", in.NewName},
	} {
		if strings.ContainsAny(name.value, "\r\n") {
			return DiffOutput{}, pdk.InvalidInput(name.pointer, "a name is one line")
		}
	}
	if in.Context < 0 || in.Context > maxContext {
		return DiffOutput{}, pdk.InvalidInput("/context", fmt.Sprintf("from 0 to %d", maxContext))
	}
	a, b := splitLines(in.Old), splitLines(in.New)
	hunks := hunksOf(a, b, diffLines(a, b), in.Context)
	out := DiffOutput{Hunks: len(hunks)}
	out.Added, out.Removed = count(hunks)
	out.Diff = unified(in.OldName, in.NewName, hunks)
	if len(out.Diff) > maxDiffBytes {
		return DiffOutput{}, &pdk.Failure{Code: "too_large", Permanent: true, Message: fmt.Sprintf(
			"the diff has %d bytes, at most %d are returned; compare smaller parts",
			len(out.Diff), maxDiffBytes)}
	}
	return out, nil
}

// ApplyInput is the arguments of apply_patch.
type ApplyInput struct {
	Text    string `json:"text" doc:"the whole text to change"`
	Diff    string `json:"diff" doc:"unified diff of one text, with @@ -1,3 +1,4 @@ headers; --- and +++ lines may be left out"`
	Reverse bool   `json:"reverse,omitempty" doc:"undo the diff instead of applying it"`
}

// ApplyOutput is the result of apply_patch.
type ApplyOutput struct {
	Text    string `json:"text" doc:"the changed text"`
	Hunks   int    `json:"hunks" doc:"hunks applied: all of the diff"`
	Added   int    `json:"added" doc:"lines added"`
	Removed int    `json:"removed" doc:"lines removed"`
	Moved   []move `json:"moved,omitempty" doc:"hunks found at another line than their header says"`
}

func applyPatch(_ *pdk.Call, in ApplyInput) (ApplyOutput, error) {
	if err := checkSize("/text", in.Text, maxTextBytes); err != nil {
		return ApplyOutput{}, err
	}
	if err := checkSize("/diff", in.Diff, maxDiffBytes); err != nil {
		return ApplyOutput{}, err
	}
	hunks, err := parse(in.Diff)
	if err != nil {
		return ApplyOutput{}, pdk.InvalidInput("/diff", err.Error())
	}
	if in.Reverse {
		for i := range hunks {
			hunks[i] = hunks[i].reversed()
		}
	}
	text, moved, err := apply(in.Text, hunks)
	if err != nil {
		return ApplyOutput{}, failure(err)
	}
	out := ApplyOutput{Text: text, Hunks: len(hunks), Moved: moved}
	out.Added, out.Removed = count(hunks)
	return out, nil
}

// failure tells a conflict with its facts, so that a program can act on it too.
func failure(err error) error {
	var c *conflict
	if !errors.As(err, &c) {
		return err
	}
	details, err := pdk.Encode(c)
	if err != nil {
		return err
	}
	return &pdk.Failure{Code: "conflict", Message: c.Error(), Permanent: true, Details: details}
}

func checkSize(pointer, text string, limit int) error {
	if len(text) <= limit {
		return nil
	}
	return pdk.InvalidInput(pointer, fmt.Sprintf("%d bytes, at most %d", len(text), limit))
}

func count(hunks []hunk) (added, removed int) {
	for _, h := range hunks {
		for _, l := range h.lines {
			switch l.op {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return added, removed
}
