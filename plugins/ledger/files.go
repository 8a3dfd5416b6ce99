package ledger

import (
	"fmt"
	"os"
)

// anchor is a file that must stay where it was when the ledger was opened. SQLite goes on writing
// to one that has lost its name, where nobody will look for it.
type anchor struct {
	path string
	info os.FileInfo
}

// anchors are the files of a ledger that is open. A file system without shared
// memory has no write-ahead log.
func anchors(path string) ([]anchor, error) {
	var all []anchor
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		if os.IsNotExist(err) && p != path {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, anchor{p, info})
	}
	return all, nil
}

// hasLog reports whether a ledger has a write-ahead log that is not empty.
func hasLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// inPlace tells which file of the ledger is not where others look for it, its owner's mark too:
// without that, others take the calls of this process for those of a dead one.
func (l *SQLite) inPlace() error {
	for _, a := range l.anchors {
		now, err := os.Stat(a.path)
		if err != nil || !os.SameFile(a.info, now) {
			return fmt.Errorf("%w: %s", ErrMoved, a.path)
		}
	}
	if !l.owner.exists() {
		return fmt.Errorf("%w: %s", ErrMoved, l.owner.file(l.owner.name))
	}
	return nil
}
