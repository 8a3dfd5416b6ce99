// Notes remembers short texts from one conversation to the next, in the plugin's own key-value
// space.
package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one note and of one call.
const (
	maxText  = 10_000 // characters of a note
	maxTags  = 10     // of a note
	maxTag   = 50     // characters of a tag
	maxFound = 100    // notes that one call gives
	maxIDs   = 99_999_999
)

func init() {
	pdk.Plugin("notes", "1.0.0")
	pdk.Needs(abi.Needs{KV: &abi.KVNeed{}})
	pdk.Register(pdk.Tool{
		Name: "note_add",
		Description: "Remember a short text for later conversations: a fact, a decision, what the user " +
			"prefers. Give it tags to find it by. Gives the note's number.",
	}, add)
	pdk.Register(pdk.Tool{
		Name: "note_find",
		Description: "Find notes, the newest first: all, or those with a tag, or with a text in them. " +
			"Look here before asking the user what may have been said before.",
		Effect: pdk.Read,
	}, find)
	pdk.Register(pdk.Tool{
		Name:        "note_remove",
		Description: "Forget a note, by its number. It is no error if there is none any more.",
		Effect:      pdk.Idempotent,
	}, remove)
}

func main() {}

// Note is a text that is kept.
type Note struct {
	ID    int      `json:"id"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags,omitempty"`
	Added string   `json:"added" doc:"when, in UTC"`
}

// The space has the notes, and the number of the last one.
const (
	notesPrefix = "note/"
	lastKey     = "last"
)

func key(id int) string { return fmt.Sprintf("%s%08d", notesPrefix, id) }

// Added is the result of note_add.
type Added struct {
	ID int `json:"id"`
}

// AddInput is the arguments of note_add.
type AddInput struct {
	Text string   `json:"text" doc:"what to remember, in a few sentences that can be read alone"`
	Tags []string `json:"tags,omitempty" doc:"words to find it by, e.g. project, person"`
}

// now is when a note is added.
var now = time.Now

func add(c *pdk.Call, in AddInput) (Added, error) {
	if err := check(in); err != nil {
		return Added{}, err
	}
	kv, last := pdk.KV(c), 0
	if _, err := kv.Get(lastKey, &last); err != nil {
		return Added{}, err
	}
	if last++; last > maxIDs {
		return Added{}, &pdk.Failure{Code: "full", Message: "there are no more numbers",
			Permanent: true}
	}
	note := Note{ID: last, Text: in.Text, Tags: in.Tags, Added: now().UTC().Format(time.RFC3339)}
	if err := kv.Set(key(last), note); err != nil {
		return Added{}, err
	}
	return Added{last}, kv.Set(lastKey, last)
}

func check(in AddInput) error {
	switch n := utf8.RuneCountInString(in.Text); {
	case strings.TrimSpace(in.Text) == "":
		return pdk.InvalidInput("/text", "is empty")
	case n > maxText:
		return pdk.InvalidInput("/text", fmt.Sprintf("%d characters, at most %d", n, maxText))
	case len(in.Tags) > maxTags:
		return pdk.InvalidInput("/tags", fmt.Sprintf("%d tags, at most %d", len(in.Tags), maxTags))
	}
	for i, tag := range in.Tags {
		if n := utf8.RuneCountInString(tag); n == 0 || n > maxTag {
			return pdk.InvalidInput("/tags/"+strconv.Itoa(i),
				fmt.Sprintf("from 1 to %d characters", maxTag))
		}
	}
	return nil
}

// FindInput is the arguments of note_find.
type FindInput struct {
	Tag      string `json:"tag,omitempty" doc:"only notes with this tag"`
	Contains string `json:"contains,omitempty" doc:"only notes with this text in them, in any case"`
	Limit    int    `json:"limit,omitempty" min:"1" max:"100" default:"20" doc:"at most so many notes"`
	Before   int    `json:"before,omitempty" min:"1" doc:"only notes with a smaller number, to see older ones"`
}

// Found is the result of note_find.
type Found struct {
	Notes []Note `json:"notes"`
	More  bool   `json:"more" doc:"there are older ones: call again with before set to the last number here"`
}

func find(c *pdk.Call, in FindInput) (Found, error) {
	if in.Limit < 1 || in.Limit > maxFound {
		return Found{}, pdk.InvalidInput("/limit", fmt.Sprintf("from 1 to %d", maxFound))
	}
	keys, err := keysBefore(pdk.KV(c), in.Before)
	if err != nil {
		return Found{}, err
	}
	found := Found{Notes: []Note{}}
	for _, key := range slices.Backward(keys) {
		var note Note
		if _, err := pdk.KV(c).Get(key, &note); err != nil {
			return Found{}, err
		}
		if !fits(&note, in) {
			continue
		}
		if found.More = len(found.Notes) == in.Limit; found.More {
			break
		}
		found.Notes = append(found.Notes, note)
	}
	return found, nil
}

// keysBefore gives the keys of all notes with a smaller number, the oldest first.
func keysBefore(kv pdk.KVSpace, before int) (all []string, err error) {
	for more, after := true, ""; more; {
		var keys []string
		if keys, more, err = kv.List(notesPrefix, after, 0); err != nil {
			return nil, err
		}
		for _, k := range keys {
			if before > 0 && k >= key(before) {
				return all, nil
			}
			all = append(all, k)
			after = k
		}
	}
	return all, nil
}

func fits(note *Note, in FindInput) bool {
	return (in.Tag == "" || slices.Contains(note.Tags, in.Tag)) &&
		strings.Contains(strings.ToLower(note.Text), strings.ToLower(in.Contains))
}

// RemoveInput is the arguments of note_remove.
type RemoveInput struct {
	ID int `json:"id" min:"1"`
}

// Removed is the result of note_remove.
type Removed struct {
	Removed bool `json:"removed" doc:"false: there was no such note"`
}

func remove(c *pdk.Call, in RemoveInput) (Removed, error) {
	var note Note
	ok, err := pdk.KV(c).Get(key(in.ID), &note)
	if err != nil || !ok {
		return Removed{}, err
	}
	return Removed{true}, pdk.KV(c).Delete(key(in.ID))
}
