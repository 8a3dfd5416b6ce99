package sdk

import (
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// Record has a loop's conversation recorded in a session, and go on where the session stopped: with
// what is in it, and first with the calls whose results were never stored. They are made again at
// their places, and the ledger of the loop's tools says what becomes of each. The warnings are
// those of the session, for Opened.
func Record(loop *agentloop.Loop, s *session.Session) (warnings []string, err error) {
	loop.Store, loop.ID = s, s.Header().ID
	warnings = s.Warnings()
	history, left := unfinished(s)
	if left > 0 {
		warnings = append(warnings[:len(warnings):len(warnings)],
			fmt.Sprintf("calls without a result, of which nobody knows what became: %d", left))
	}
	return warnings, loop.Restore(history)
}

// unfinished is a session's messages without the results that were never stored. When another
// program has stored later ones the calls cannot be made again: left counts them.
func unfinished(s *session.Session) (history []message.Message, left int) {
	list, open := s.Messages(), s.Unanswered()
	kept := len(list) - len(open)
	for i, c := range open {
		if list[kept+i].Result.CallID != c.ID {
			return list, len(open)
		}
	}
	return list[:kept], 0
}
