package ledger

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Limits of what is recorded, in bytes.
const (
	MaxRun    = 128                              // of a run's name
	MaxScope  = 4 << 10                          // of a scope
	MaxKey    = 4<<10 + abi.MaxToolNameBytes + 1 // of a key, which begins with its tool's name
	MaxCallID = 256                              // of a call's ID; longer ones are cut
	MaxReason = 1 << 10                          // of an operator's reason
	MaxInput  = plugins.MaxInput                 // of a call's arguments
	MaxOutput = 64 << 20                         // of a result, all its blocks together
)

var runName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._:@+=-]{0,%d}$`, MaxRun-1))

// checkRun refuses a name that is hard to type, to tell from another or to put into a file's name.
func checkRun(name string) error {
	switch {
	case len(name) > MaxRun:
		return &LimitError{"run's name", len(name), MaxRun}
	case !runName.MatchString(name):
		return fmt.Errorf("the run's name %q has other characters than A-Z a-z 0-9 . _ : @ + = - "+
			"or begins with a sign", name)
	}
	return nil
}

// checkIntent refuses what cannot be recorded.
func checkIntent(in *plugins.Intent) error {
	if in.Run != "" {
		if err := checkRun(in.Run); err != nil {
			return err
		}
	}
	if (in.Run == "") != (in.Position == 0) || in.Position < 0 {
		return fmt.Errorf("a call of the run %q has the position %d", in.Run, in.Position)
	}
	for _, c := range []LimitError{
		{"scope", len(in.Scope), MaxScope},
		{"tool's name", len(in.Tool), abi.MaxToolNameBytes},
		{"key", len(in.Key), MaxKey},
		{"input", len(in.Input), MaxInput},
	} {
		if c.Size > c.Max {
			return &c
		}
	}
	return nil
}

// clipID cuts a call's ID, which is only there to be shown.
func clipID(id string) string {
	if len(id) <= MaxCallID {
		return id
	}
	cut := MaxCallID
	for cut > 0 && !utf8.RuneStart(id[cut]) {
		cut--
	}
	return strings.Clone(id[:cut])
}

// checkCompletion makes of a result that is too large one that nobody knows: the call did happen,
// and cannot be copied.
func checkCompletion(c *plugins.Completion) error {
	n := size(c.Output)
	if c.Err != nil || n <= MaxOutput {
		return nil
	}
	err := &LimitError{"result", int(n), MaxOutput}
	*c = plugins.Completion{State: plugins.Unknown, Err: err, Attempts: c.Attempts}
	return fmt.Errorf("recorded without its result: %w", err)
}

// isRefusal reports whether err says that another call or run is in the way, and not that something
// is wrong with the ledger.
func isRefusal(err error) bool {
	_, collision := errors.AsType[*plugins.CollisionError](err)
	_, inFlight := errors.AsType[*plugins.InFlightError](err)
	_, busy := errors.AsType[*plugins.RunBusyError](err)
	_, diverged := errors.AsType[*plugins.DivergedError](err)
	_, parked := errors.AsType[*plugins.ReconciliationError](err)
	return collision || inFlight || busy || diverged || parked
}
