package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Sub gives the session of a subagent of this one, locked: it goes on with the one that is there,
// or begins it. Its calls are recorded in the same ledger. Errors are those of Resume; a session of
// somebody else's that has its name is one that matches fs.ErrExist.
func (s *Session) Sub(agent string) (*Session, error) {
	name := subName(s.name, agent)
	parent := Parent{ID: s.header.ID, Name: s.name, Agent: agent}
	sub, err := s.dir.Resume(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.dir.create(name, Header{Source: sourceOwn, Parent: &parent, Ledger: s.header.Ledger},
			Meta{}, nil)
	}
	if err != nil {
		return nil, err
	}
	if p := sub.header.Parent; p == nil || p.ID != parent.ID || p.Agent != agent {
		err := fmt.Errorf("session %q is not that of subagent %s of session %q: %w", name, agent, s.name,
			fs.ErrExist)
		return nil, errors.Join(err, sub.Close())
	}
	return sub, nil
}

// subName names the session of a subagent after its parent's, or by a digest where that is too
// long.
func subName(parent, agent string) string {
	name := parent + "-" + strings.ReplaceAll(agent, ".", "-")
	if checkName(name) == nil {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "sub-" + hex.EncodeToString(sum[:16])
}
