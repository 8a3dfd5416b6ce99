package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wasmagent/wasmagent/internal/near"
)

// Limits of what is said to who gave an unknown field.
const (
	maxFields = 20  // fields that are named
	maxNear   = 200 // fields that are tried as the one that was meant
)

// declared says which fields, sorted, there are, and which of them may have been meant.
func declared(name string, names []string, there string) string {
	text := ""
	if near := nearName(name, names); near != "" {
		text = "did you mean " + quoted(near) + "? "
	}
	list := make([]string, min(len(names), maxFields))
	for i := range list {
		list[i] = quoted(names[i])
	}
	text += there + " " + strings.Join(list, ", ")
	if more := len(names) - maxFields; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// quoted is a stranger's word in a text of ours.
func quoted(name string) string { return strconv.Quote(clip(name, maxName)) }

// nearName is the name that is a slip away from another, one in three characters, or else one that
// it begins, or "".
func nearName(name string, names []string) string {
	name = strings.ToLower(clip(name, maxName))
	best, least, longer := "", len(name)/3+1, ""
	for _, n := range names[:min(len(names), maxNear)] {
		other := strings.ToLower(clip(n, maxName))
		if far := near.Distance(name, other); far < least {
			best, least = n, far
		}
		if longer == "" && len(name) >= minBegun && strings.HasPrefix(other, name) {
			longer = n
		}
	}
	if best == "" {
		return longer
	}
	return best
}

// minBegun is how many bytes of a name say which one is meant.
const minBegun = 2
