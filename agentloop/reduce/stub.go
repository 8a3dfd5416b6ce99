package reduce

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Stub is the line that stands for what was reduced.
type Stub struct {
	Kind    Kind
	ID      string
	Summary string // printable ASCII without ]
}

// MaxSummary is the most bytes of a stub's summary.
const MaxSummary = 160

var (
	kinds         = []Kind{Output, Duplicate, Input, Turns}
	idPattern     = regexp.MustCompile(`^r[0-9]{4}-[0-9a-f]{4}$`)
	digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
	stubParts     = regexp.MustCompile(`^\[reduced ([a-z]+) (r[0-9]{4}-[0-9a-f]{4}): ([ -\\^-~]+)\]$`)
)

// String is the stub as a view has it. Parse is its inverse.
func (s Stub) String() string { return fmt.Sprintf("[reduced %s %s: %s]", s.Kind, s.ID, s.Summary) }

// Parse reads a stub, and nothing else: ok tells whether the line is one. Whoever wrote the line,
// it stands for something only where a log has it.
func Parse(line string) (s Stub, ok bool) {
	m := stubParts.FindStringSubmatch(line)
	if m == nil || len(m[3]) > MaxSummary || !slices.Contains(kinds, Kind(m[1])) {
		return Stub{}, false
	}
	return Stub{Kind(m[1]), m[2], m[3]}, true
}

// makeID gives the id of the record with this number, whose original has this digest.
func makeID(number int, digest string) string { return fmt.Sprintf("r%04d-%s", number, digest[:4]) }

// number is the number in an id.
func number(id string) int {
	n, err := strconv.Atoi(id[1:5])
	if err != nil || n < 1 || n > MaxRecords {
		return 0
	}
	return n
}

// summary makes a text fit for a stub.
func summary(format string, args ...any) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == ']' {
			return '?'
		}
		return r
	}, fmt.Sprintf(format, args...))
	return text[:min(len(text), MaxSummary)]
}

// maxWord is how many bytes of a tool's name a summary has.
const maxWord = 40

func word(name string) string { return name[:min(len(name), maxWord)] }

// reducedKey and beginsKey are those of the object that stands for reduced arguments.
const (
	reducedKey = "reduced"
	beginsKey  = "begins"
)
