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
	history, warnings := Recorded(s)
	return warnings, loop.Restore(history)
}

// Recorded is a session's history as a loop that has its ID goes on with it: without the results that
// were never stored, since those calls are made again. When another program has stored later ones
// they cannot be, and a warning counts them.
func Recorded(s *session.Session) (history []message.Message, warnings []string) {
	list, open, warnings := s.Messages(), s.Unanswered(), s.Warnings()
	kept := len(list) - len(open)
	for i, c := range open {
		if list[kept+i].Result.CallID != c.ID {
			return list, append(warnings[:len(warnings):len(warnings)],
				fmt.Sprintf("calls without a result, of which nobody knows what became: %d", len(open)))
		}
	}
	return list[:kept], warnings
}
