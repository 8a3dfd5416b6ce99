package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Session is one that is locked for writing. It is safe for concurrent use.
type Session struct {
	dir      *Dir
	name     string
	header   Header
	warnings []string
	lock     *flock.Flock

	mu    sync.Mutex
	file  *os.File // nil once closed
	view  history
	meta  Meta
	lines int
	size  int64  // bytes of the whole lines
	ended bool   // the last of them has its newline
	torn  []byte // what comes after them, and must go before the next is written
	fault error  // why nothing more can be written
}

// openLocked opens a session whose lock is held. The lock stays the caller's if that fails.
func (d *Dir) openLocked(name string, lock *flock.Flock) (_ *Session, err error) {
	if _, err := d.stat(sessionFile(name), MaxFile); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(sessionFile(name), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	t, err := d.read(f, name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	told := t.Warnings[:len(t.Warnings)-len(t.view.missing())] // of those Unanswered tells
	s := &Session{dir: d, name: name, header: t.Header, warnings: told, lock: lock,
		file: f, view: t.view, lines: t.lines, size: t.size, ended: t.ended, torn: t.torn}
	if s.meta, err = d.readMeta(name); err != nil {
		s.warnings = append(s.warnings, fmt.Sprintf("%v: it is made anew", err))
	}
	for i := range t.Messages {
		s.meta.note(&t.Messages[i])
	}
	return s, nil
}

// Name is the session's name.
func (s *Session) Name() string { return s.name }

// Header is the first line of its file.
func (s *Session) Header() Header { return s.header }

// Warnings say what was left out or put right when it was opened. See Unanswered, too.
func (s *Session) Warnings() []string { return s.warnings }

// Messages is the conversation so far. It passes message.Check: a call without a result has one
// that says so.
func (s *Session) Messages() []message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.messages()
}

// Unanswered lists the calls of the last turn whose results were never stored. Messages has the
// result unknown for each; a result that is appended next takes its place.
func (s *Session) Unanswered() []message.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view.missing()
}

// Append stores messages: all of them, or none when there is an error. A message that would make
// the file an invalid one is refused with an *InvalidError. Calls that are still without a result
// when another turn begins get the result unknown.
//
// What has happened must be recorded, so a context that is done does not keep it from being stored.
func (s *Session) Append(_ context.Context, list ...message.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return fmt.Errorf("session %q: %w", s.name, ErrClosed)
	}
	if s.fault != nil {
		return s.fault
	}
	if len(list) == 0 {
		return nil
	}
	before := s.view.mark()
	text, lines, err := s.encode(list)
	if err == nil {
		err = s.write(text)
	}
	if err != nil {
		s.view = before
		return err
	}
	s.lines += lines
	s.ended = true
	for i := range list {
		s.meta.note(&list[i])
	}
	return nil
}

// encode adds messages to the view, and gives the lines that store them.
func (s *Session) encode(list []message.Message) (text []byte, lines int, err error) {
	var buf bytes.Buffer
	if !s.ended {
		buf.Write(newline)
	}
	add := func(m message.Message) error {
		start := buf.Len()
		lines++
		invalid := func(detail string) error {
			return &InvalidError{s.dir.path(sessionFile(s.name)), s.lines + lines, detail}
		}
		if err := appendLine(&buf, m); err != nil {
			return err
		}
		size := int64(buf.Len() - start)
		switch {
		case size > MaxLine:
			return invalid(fmt.Sprintf("the line would have more than %d bytes", MaxLine))
		case s.size+int64(buf.Len()) > MaxFile:
			return invalid(fmt.Sprintf("the file would have more than %d bytes", MaxFile))
		}
		if err := s.view.add(entry{m, s.size + int64(start), size}); err != nil {
			return invalid(err.Error())
		}
		return nil
	}
	for _, m := range list {
		if m.Role != message.Tool {
			for _, c := range s.view.missing() {
				if err := add(message.Interrupted(c, s.dir.opts.clock())); err != nil {
					return nil, 0, err
				}
			}
		}
		if err := add(m); err != nil {
			return nil, 0, err
		}
	}
	return buf.Bytes(), lines, nil
}

// write adds whole lines to the file, in one write. If that fails the file is as it was before.
func (s *Session) write(text []byte) (err error) {
	if err := s.cutTorn(); err != nil {
		return err
	}
	_, err = s.file.Write(text)
	if err == nil && (s.dir.opts == nil || !s.dir.opts.NoSync) {
		err = s.file.Sync()
	}
	if err == nil {
		s.size += int64(len(text))
		return nil
	}
	if undo := s.file.Truncate(s.size); undo != nil {
		s.fault = fmt.Errorf("%w; the file may end in half a line: resume the session", undo)
	}
	return errors.Join(err, s.fault)
}

// cutTorn takes the rest of a line off the end of the file, and keeps it in NAME.torn.
func (s *Session) cutTorn() error {
	if s.torn == nil {
		return nil
	}
	keep, err := s.dir.root.OpenFile(s.name+".torn", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = keep.Write(append(s.torn, '\n'))
	if err = errors.Join(err, keep.Sync(), keep.Close()); err != nil {
		return err
	}
	if err := s.file.Truncate(s.size); err != nil {
		return err
	}
	s.torn = nil
	return nil
}

// Close stores the counts and unlocks the session. It may be called twice.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	s.meta.Counts = count(s.view.closed(time.Time{}), s.size)
	err := errors.Join(s.dir.writeMeta(s.name, s.meta), s.file.Close(), s.lock.Unlock())
	s.file = nil
	return err
}
