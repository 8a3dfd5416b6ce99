package loader

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// watcher finds out what is different in a directory. It belongs to one goroutine.
type watcher struct {
	dir  *Dir
	told func(Change)

	seen    map[string]sight  // at the last look, by path
	taken   map[string]string // the keys of what the Dir was made of, by path
	locked  identity          // of the lock when it was read
	trouble string            // with the directory itself, told once
}

// sight is what was seen of a file.
type sight struct {
	path   string
	p      *plugin   // made to read it; nil: nothing lies there
	key    string    // tells one version from another; "": nothing lies there
	digest string    // of what was read
	files  fileState // when they were read
	sure   bool      // as long as that holds, so do the bytes
}

func newWatcher(d *Dir, told func(Change)) *watcher {
	w := &watcher{dir: d, told: told, seen: map[string]sight{}, taken: map[string]string{}}
	for _, p := range d.plugins {
		s := p.seen
		s.path, s.p, s.key, s.digest = p.Path, p, p.key(), p.Digest
		w.seen[s.path] = s
		w.taken[s.path] = s.key
		if p.Held != nil { // of an earlier watch: what is there is news to this one
			w.taken[s.path] = "held"
		}
	}
	return w
}

// key tells one version from another: by its bytes, the place that counts for what it may do, and
// what a lock has against it; or by what keeps it from being read.
func (p *plugin) key() string {
	if p.Digest == "" {
		return p.Err.Error()
	}
	return p.keyOf(p.Digest)
}

func (p *plugin) keyOf(digest string) string {
	key := digest + " " + p.Dir
	if err := p.lock.check(p.Name, digest); err != nil {
		key += " " + err.Error()
	}
	return key
}

// look takes what is not as it was, and was the same at the last look. It reports whether something
// has yet to settle. The error is ctx's.
func (w *watcher) look(ctx context.Context) (again bool, err error) {
	found, err := w.scan()
	if err != nil {
		if err.Error() != w.trouble {
			w.dir.opts.logger().Warn("plugin directory not read", "dir", w.dir.origin, "error", err)
		}
		w.trouble = err.Error()
		return false, nil
	}
	w.trouble = ""
	w.lock(found)
	next, dirs := map[string]sight{}, map[string]string{}
	for _, c := range found {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		next[c.path] = w.see(c, dirs)
	}
	for path := range w.taken {
		if _, there := next[path]; !there {
			next[path] = sight{path: path, sure: true}
		}
	}
	var changed []sight
	for _, path := range slices.Sorted(maps.Keys(next)) {
		s := next[path]
		was, known := w.seen[path]
		settled := known && was.key == s.key
		again = again || !settled || !s.sure
		if settled && s.key != w.taken[path] {
			changed = append(changed, s)
		}
	}
	w.seen = next
	if len(changed) == 0 {
		return again, nil
	}
	moved, err := w.take(ctx, changed)
	return again || moved, err
}

// scan lists what lies there. A directory that is gone is one without plugins.
func (w *watcher) scan() ([]candidate, error) {
	found, err := w.dir.scan()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoPlugin) {
		return nil, nil
	}
	w.firstStays(found)
	return found, err
}

// firstStays lets a plugin serve on when a namesake comes to lie beside it.
func (w *watcher) firstStays(found []candidate) {
	serving := map[string]bool{}
	for _, p := range w.dir.plugins {
		serving[p.Path] = p.Err == nil
	}
	for i := range found {
		c := &found[i]
		clash, ok := c.err.(*CollisionError)
		if !ok {
			continue
		}
		if serving[c.path] {
			c.err = nil
		} else if k := slices.IndexFunc(clash.Paths, func(p string) bool { return serving[p] }); k >= 0 {
			with := *clash
			with.Kept = with.Paths[k]
			c.err = &with
		}
	}
}

// see looks at one file, and reads it only if it may have changed. dirs has the real paths of
// directories that were asked for.
func (w *watcher) see(c candidate, dirs map[string]string) sight {
	was, link := w.seen[c.path], filepath.Dir(c.path)
	if dirs[link] == "" {
		dirs[link] = realDir(c.path)
	}
	if c.err == nil && was.sure && was.p != nil && was.p.Dir == dirs[link] {
		if info, err := os.Stat(c.path); err == nil && was.files.holds(info) {
			return w.again(c, was)
		}
	}
	p := newPlugin(c, w.dir)
	s := sight{path: c.path, p: p, sure: true}
	if p.Err != nil {
		s.key = p.Err.Error()
		return s
	}
	at := w.dir.opts.clock()
	src, err := p.read()
	if err != nil {
		p.Err = p.fault(err)
		s.key = p.Err.Error()
		return s
	}
	s.digest, s.files, s.sure = digestOf(src.wasm), src.state(), !src.any(fresh, at)
	s.key = p.keyOf(s.digest)
	return s
}

// fresh is young, except that a file from the future is not: it would be read at every look.
func fresh(info fs.FileInfo, at time.Time) bool {
	since := func(t time.Time) time.Duration { return at.Sub(t).Abs() }
	return since(info.ModTime()) < racyWindow || since(time.Unix(0, identify(info).CTime)) < racyWindow
}

// again gives the sight of a file that is as it was, which a lock may judge in another way now.
func (w *watcher) again(c candidate, was sight) sight {
	if was.p.lock == w.dir.lock {
		return was
	}
	was.p = newPlugin(c, w.dir)
	if was.key = was.p.keyOf(was.digest); was.p.Err != nil {
		was.key = was.p.Err.Error()
	}
	return was
}

// lock reads the directory's lock, if it may have changed.
func (w *watcher) lock(found []candidate) {
	if len(found) == 0 {
		return
	}
	at := w.dir.opts.clock()
	var id identity
	info, err := os.Stat(lockPath(found[0].path))
	if err == nil && !fresh(info, at) {
		id = identify(info)
	}
	if id == (identity{}) || id != w.locked {
		w.dir.lock = lockOf(found[0].path)
	}
	w.locked = id
}

// places are the directories whose files decide what is seen.
func (w *watcher) places() map[string]bool {
	all := map[string]bool{w.dir.origin: true}
	for path, s := range w.seen {
		all[filepath.Dir(path)] = true
		for part := range s.files.Parts {
			all[filepath.Dir(part)] = true
		}
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if file, err := filepath.EvalSymlinks(path); err == nil {
			all[filepath.Dir(file)] = true
		}
	}
	return all
}
