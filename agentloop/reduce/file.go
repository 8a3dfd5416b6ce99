package reduce

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wasmagent/wasmagent/internal/misfit"
)

const (
	fileFormat  = "wasmagent.reduction"
	fileVersion = 1
)

// MaxFile is the most bytes that the stored form of a log has.
const MaxFile = 8 << 20

// file is the stored form.
type file struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Records Log    `json:"records"`
}

// Encode gives the stored form of a log.
func Encode(log Log) []byte {
	text, err := json.Marshal(file{fileFormat, fileVersion, append(Log{}, log...)})
	if err != nil {
		panic(err) // there is nothing in a log that has no JSON form
	}
	return append(text, '\n')
}

// Decode reads the stored form. What it does not know it ignores. Its error is an *Error.
func Decode(text []byte) (Log, error) {
	bad := func(format string, args ...any) (Log, error) {
		return nil, &Error{Fault: ErrLog, Detail: fmt.Sprintf(format, args...)}
	}
	if len(text) > MaxFile {
		return bad("it has more than %d bytes", MaxFile)
	}
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return bad("%s", misfit.Text(err))
	}
	switch {
	case f.Format != fileFormat:
		return bad("the format is %q, not %q", f.Format, fileFormat)
	case f.Version != fileVersion:
		return bad("the unknown version %d: this program reads version %d", f.Version, fileVersion)
	}
	if err := f.Records.check(); err != nil {
		return nil, err
	}
	return f.Records, nil
}

// check holds a log against its own rules.
func (l Log) check() *Error {
	if len(l) > MaxRecords {
		return &Error{Fault: ErrLog, Detail: fmt.Sprintf("it has more than %d entries", MaxRecords)}
	}
	ids, free := map[string]bool{}, 0
	for i := range l {
		r := &l[i]
		detail := r.check()
		switch {
		case detail != "":
		case ids[r.ID]:
			detail = "its id is there twice"
		case r.Pointer.Message < free || i > 0 && compare(l[i-1], *r) >= 0:
			detail = "it is not after the entry before"
		}
		if detail != "" {
			return &Error{ID: r.ID, Fault: ErrLog, Detail: fmt.Sprintf("entry %d: %s", i+1, detail)}
		}
		ids[r.ID] = true
		if r.Kind == Turns {
			free = r.end()
		}
	}
	return nil
}

// check tells what is wrong with a record by itself, or "".
func (r *Record) check() string {
	p := &r.Pointer
	s, ok := Parse(r.Placeholder)
	switch {
	case !idPattern.MatchString(r.ID) || number(r.ID) == 0:
		return fmt.Sprintf("%q is no id", r.ID)
	case !slices.Contains(kinds, r.Kind):
		return fmt.Sprintf("the unknown kind %q", r.Kind)
	case !ok || s.ID != r.ID || s.Kind != r.Kind:
		return "its placeholder is not its stub"
	case !digestPattern.MatchString(p.SHA256) || p.SHA256[:4] != r.ID[6:]:
		return "its digest is not that of its id"
	case !inRange(p.Message) || !inRange(p.Messages) || !inRange(p.Call) || !inRange(p.Span.From) ||
		!inRange(p.Span.To) || p.Span.To < p.Span.From:
		return "a number of its pointer is out of range"
	case (r.Kind == Turns) != (p.Messages > 0) || p.Call > 0 && r.Kind != Input:
		return "its pointer is not one of its kind"
	}
	return ""
}

// inRange bounds numbers so that their sums are none that overflow.
func inRange(n int) bool { return n >= 0 && n <= 1<<30 }
