package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// recordJSON is one record of a run: what was written when a call began, when it ended, and when an
// operator decided something.
type recordJSON struct {
	Number   int             `json:"number"`
	Kind     string          `json:"kind"`
	Place    string          `json:"place,omitempty"` // "": it is about the whole run
	At       time.Time       `json:"at"`
	Who      string          `json:"who"`
	Tool     string          `json:"tool,omitempty"`
	Effect   string          `json:"effect,omitempty"`
	Scope    string          `json:"scope,omitempty"`
	Key      string          `json:"key,omitempty"`
	CallID   string          `json:"call_id,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Outcome  string          `json:"outcome,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Content  []blockJSON     `json:"content,omitempty"`
	Error    *failureJSON    `json:"error,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	From     string          `json:"from,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Hash     string          `json:"hash"`
	Tampered string          `json:"tampered,omitempty"` // what is wrong with the record
}

// failureJSON is how a call failed, as it was recorded.
type failureJSON struct {
	Kind    string `json:"kind,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Message string `json:"message"`
}

// outcomes are the words for what became of a call and its key.
var outcomes = [...]string{
	plugins.Unknown: "unknown", plugins.Done: "done", plugins.Released: "released",
}

func newRecordJSON(r *ledger.Record) recordJSON {
	j := recordJSON{
		Number: r.Number, Kind: r.Kind, Place: placeText(r.Run, r.Position), At: r.At, Who: r.Who,
		Tool: r.Tool, Scope: r.Scope, Key: r.Key, CallID: r.CallID,
		Input: rawJSON(r.Input), Value: rawJSON(r.Output.Value), Content: blocksJSON(r.Output.Content),
		Attempts: r.Attempts, Reason: r.Reason, Hash: fmt.Sprintf("%x", r.Hash),
	}
	switch r.Kind {
	case ledger.KindIntent:
		j.Effect = r.Effect.String()
	case ledger.KindCompletion, ledger.KindResolution:
		j.Outcome = outcomes[min(r.State, plugins.Released)]
	case ledger.KindCopy:
		j.From = r.From.String()
	}
	if f := r.Failure; f != nil {
		j.Error = &failureJSON{Kind: f.Kind, Cause: f.Cause, Message: f.Text}
	}
	return j
}

// rawJSON gives what was recorded as JSON: a text that somebody has made none of is a string.
func rawJSON(b []byte) json.RawMessage { return schemaJSON(string(b)) }

// placeText names a call of a run; "" when it is none.
func placeText(run string, position int) string {
	if position == 0 {
		return ""
	}
	return plugins.Place{Run: run, Position: position}.String()
}
