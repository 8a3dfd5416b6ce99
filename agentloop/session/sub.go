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
// or begins it. Its calls are recorded in the same ledger. Errors are those of Resume.
//
// It is named after this one, or by a digest where that would be too long, or is somebody else's
// already: of an earlier session with this one's name, say.
func (s *Session) Sub(agent string) (*Session, error) {
	name := s.name + "-" + strings.ReplaceAll(agent, ".", "-")
	if checkName(name) == nil {
		if sub, err := s.sub(name, agent); !errors.Is(err, errStranger) {
			return sub, err
		}
	}
	sum := sha256.Sum256([]byte(s.header.ID + " " + agent))
	return s.sub("sub-"+hex.EncodeToString(sum[:16]), agent)
}

// errStranger is a session that is not the subagent's whose name it has.
var errStranger = errors.New("it is the session of somebody else")

// sub gives the subagent's session that has a name.
func (s *Session) sub(name, agent string) (*Session, error) {
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
		return nil, errors.Join(fmt.Errorf("session %q: %w", name, errStranger), sub.Close())
	}
	return sub, nil
}
