package session

import (
	"fmt"
	"io"

	"github.com/google/renameio/v2/maybe"

	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

// MaxReduction is the most bytes of NAME.reduction.json.
const MaxReduction = reduce.MaxFile

func reductionFile(name string) string { return name + ".reduction.json" }

// ReadReduction gives what was stored with Session.WriteReduction, or nil. It needs no lock.
func (d *Dir) ReadReduction(name string) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := d.open(reductionFile(name), MaxReduction)
	if err != nil {
		if isMissing(err) {
			return nil, nil
		}
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxReduction))
}

// ReadReduction gives what was stored last with WriteReduction, or nil.
func (s *Session) ReadReduction() ([]byte, error) { return s.dir.ReadReduction(s.name) }

// SetReductionAside renames the file that WriteReduction stored, since it does not belong to the
// session as that is now, and gives its new path. It takes the place of one that was set aside
// before.
func (s *Session) SetReductionAside() (path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return "", fmt.Errorf("session %q: %w", s.name, ErrClosed)
	}
	file := reductionFile(s.name)
	return s.dir.path(file + ".torn"), s.dir.root.Rename(file, file+".torn")
}

// WriteReduction stores beside the session what a model is shown less of it: in one step, so that
// the file has all of it or what it had before.
func (s *Session) WriteReduction(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return fmt.Errorf("session %q: %w", s.name, ErrClosed)
	}
	if len(text) > MaxReduction {
		return &InvalidError{File: s.dir.path(reductionFile(s.name)), Detail: tooBig(MaxReduction)}
	}
	return maybe.WriteFile(s.dir.path(reductionFile(s.name)), text, 0o600)
}
