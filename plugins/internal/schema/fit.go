package schema

import (
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

// Limits of how much a call's arguments are helped.
const (
	MaxTaken   = 32      // values that are taken for what they are not quite
	MaxUnknown = 8       // undeclared fields that are noted one by one
	maxFitText = 1 << 20 // bytes of arguments that are looked through
	maxFitWork = 400_000 // times that a value is put beside a schema meanwhile
)

// Fitted is what has become of arguments, or what is to be said about them.
type Fitted struct {
	Text   []byte  // as JSON; nil: they are what they were
	Packed abi.Raw // the same as msgpack
	Notes  []string
}

// Fit holds a call's arguments, which are given as text and packed, against the schema. Values
// whose type is wrong and whose meaning is plain are taken for what they mean, all of them or none:
// the arguments pass as a whole after that, else what was wrong with them stays wrong. Fields that
// the schema does not know, where it lists some and forbids none, are noted. It gives nil when
// there is nothing to say.
func (s *Schema) Fit(text []byte, packed abi.Raw) (*Fitted, error) {
	odd, err := s.look(packed)
	if err == nil && odd == 0 {
		return nil, nil
	}
	if len(text) > maxFitText {
		if odd&oddField == 0 || err != nil {
			return nil, err
		}
		return &Fitted{Notes: []string{tooMuch}}, nil
	}
	f := &fitter{}
	root := parse(string(text))
	f.value(root, scope{[]*node{s.root}, []*node{s.root}})
	if taken := s.taken(f, root); taken != nil {
		return taken, nil
	}
	if notes := f.unknownNotes(); err == nil && odd&oddField != 0 && len(notes) > 0 {
		return &Fitted{Notes: notes}, nil
	}
	return nil, err
}

// taken is what the fitter has made of the arguments, if they pass as that.
func (s *Schema) taken(f *fitter, root *value) *Fitted {
	if len(f.taken) == 0 || len(f.taken) > MaxTaken || f.tired() {
		return nil
	}
	text := root.append(nil)
	packed, err := transcode.AppendMsgpack(nil, text)
	if err != nil || s.Check(packed) != nil {
		return nil
	}
	return &Fitted{text, packed, append(f.taken, f.unknownNotes()...)}
}

// odd is what a check notices of a value that passes.
type odd uint8

const (
	oddField  odd = 1 << iota // a field that a list of fields does not have
	oddNumber                 // a float that is whole, where an integer is wanted
)

// look is Check that tells of what is odd. It may say so of what is not.
func (s *Schema) look(v abi.Raw) (odd, error) {
	odd, err := checkCommon(s.root, v)
	if s.common {
		return odd, err
	}
	return odd, s.Check(v) // the common keywords are enough to see what is odd
}
