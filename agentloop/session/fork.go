package session

import (
	"bytes"
	"os"
)

// Fork makes a new session of the first messages of another, at of them, 0 for all, and locks it.
// A call whose result is not among them gets the result unknown: in the other session it was made,
// or may have been, and must not be made again by itself.
func (d *Dir) Fork(name, fork string, at int) (*Session, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := d.open(sessionFile(name), MaxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := d.read(f, name)
	if err != nil {
		return nil, err
	}
	if at < 0 || at > len(t.Messages) {
		return nil, &RangeError{Name: name, At: at, Messages: len(t.Messages)}
	}
	if at == 0 {
		at = len(t.Messages)
	}
	now := d.opts.clock()
	var first history
	for _, e := range t.view.closed(now)[:at] {
		if err := first.add(e); err != nil {
			return nil, err
		}
	}
	lines, err := copyLines(f, first.closed(now))
	if err != nil {
		return nil, err
	}
	m, err := d.readMeta(name)
	if err != nil {
		m = Meta{} // it is made anew
	}
	m.Archived = false
	h := Header{Source: t.Header.Source, Parent: &Parent{ID: t.Header.ID, Name: name, Messages: at},
		Ledger: t.Header.Ledger}
	return d.create(fork, h, m, lines)
}

// copyLines copies lines as they are, with all that this version does not know.
func copyLines(f *os.File, list []entry) ([]byte, error) {
	var text bytes.Buffer
	for i := range list {
		e := &list[i]
		if e.size == 0 {
			if err := appendLine(&text, e.Message); err != nil {
				return nil, err
			}
			continue
		}
		line := make([]byte, e.size)
		if _, err := f.ReadAt(line, e.offset); err != nil {
			return nil, err
		}
		text.Write(bytes.TrimSuffix(line, newline))
		text.Write(newline)
	}
	return text.Bytes(), nil
}
