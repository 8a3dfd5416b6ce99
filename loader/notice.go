package loader

import (
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// notices hears from the system that something happened in a directory. What did, and to which file
// in the end, is for a look to find out: a hint may be missing, late, or one of thousands.
type notices struct {
	dirty chan struct{} // has one element when something happened
	opts  *Options

	system  *fsnotify.Watcher // nil: there is none
	ended   chan struct{}     // closed when it is heard no more
	places  map[string]identity
	trouble string // the last, told once

	// The directory's own comings and goings show in its parent, where much else may happen.
	parent, name string
	allOfParent  atomic.Bool
}

// newNotices begins to listen. Where that is impossible, follow says so.
func newNotices(origin string, opts *Options) *notices {
	n := &notices{dirty: make(chan struct{}, 1), opts: opts, places: map[string]identity{}}
	if abs, err := filepath.Abs(origin); err == nil {
		origin = abs
	}
	n.parent, n.name = filepath.Dir(origin), filepath.Base(origin)
	if real, err := filepath.EvalSymlinks(n.parent); err == nil {
		n.parent = real
	}
	if opts != nil && opts.blind {
		return n
	}
	system, err := fsnotify.NewWatcher()
	if err != nil {
		n.complain(err)
		return n
	}
	n.system, n.ended = system, make(chan struct{})
	go n.listen()
	return n
}

// listen turns all that is heard into one word, and never keeps the system waiting.
func (n *notices) listen() {
	defer close(n.ended)
	events, faults := n.system.Events, n.system.Errors
	for events != nil || faults != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if filepath.Dir(e.Name) != n.parent || filepath.Base(e.Name) == n.name ||
				n.allOfParent.Load() {
				n.tell()
			}
		case _, ok := <-faults: // such as hints that were lost
			if !ok {
				faults = nil
			} else {
				n.tell()
			}
		}
	}
}

func (n *notices) tell() {
	select {
	case n.dirty <- struct{}{}:
	default: // somebody has yet to hear of the one before
	}
}

// follow listens at these places and at no others. It reports whether it can hear all that happens
// there, and whether a place is new: what happened there before was not heard.
func (n *notices) follow(places map[string]bool) (all, news bool) {
	if n.system == nil {
		return false, false
	}
	want, all := n.resolve(places)
	have := map[string]bool{} // a place that went is not there any more
	for _, path := range n.system.WatchList() {
		have[path] = true
	}
	for path, id := range n.places {
		if want[path] != id || !have[path] {
			_ = n.system.Remove(path) // there is none if the system noticed
			delete(n.places, path)
		}
	}
	for path, id := range want {
		if _, ok := n.places[path]; ok {
			continue
		}
		if err := n.system.Add(path); err != nil {
			all = false
			n.complain(err)
			continue
		}
		n.places[path], news = id, true
	}
	return all, news
}

// resolve gives the real paths of places, and of the directory's parent. all is false when one of
// them is not there, or is one of which the system hears nothing.
func (n *notices) resolve(places map[string]bool) (want map[string]identity, all bool) {
	want, all = map[string]identity{}, true
	for place := range maps.Keys(places) {
		real, err := filepath.EvalSymlinks(place)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		info, statErr := os.Stat(real)
		if err != nil || statErr != nil || remote(real) {
			all = false
		}
		if err == nil && statErr == nil && info.IsDir() {
			id := identify(info)
			want[real] = identity{Dev: id.Dev, Ino: id.Ino}
		}
	}
	_, ok := want[n.parent]
	n.allOfParent.Store(ok)
	if info, err := os.Stat(n.parent); err == nil && !ok {
		id := identify(info)
		want[n.parent] = identity{Dev: id.Dev, Ino: id.Ino}
	}
	return want, all
}

// complain says why the directory is looked at from time to time.
func (n *notices) complain(err error) {
	if err.Error() != n.trouble {
		n.opts.logger().Info("the system tells of no changes here: looking from time to time",
			"reason", err)
	}
	n.trouble = err.Error()
}

func (n *notices) close() {
	if n.system == nil {
		return
	}
	if err := n.system.Close(); err != nil {
		n.opts.logger().Warn("watch not closed", "error", err)
	}
	<-n.ended
}
