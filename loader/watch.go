package loader

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

const (
	// settleTime is how long a file has to stay as it is to count.
	settleTime = racyWindow
	// pollTime is how often a directory is looked at that no system tells about: because the number
	// of watches is limited, or the files lie on another machine.
	pollTime = 2 * time.Second
	// idlePolls is how many times rarer a directory is looked at that a system does tell about.
	idlePolls = 15
)

// Change is what was found to be different in a watched directory.
type Change struct {
	Added    []string // the plugins that serve now and did not, by name, sorted
	Replaced []string // those of which another version serves
	Removed  []string // those that serve no more
	// Refused is why what lies there now does not serve: for each such plugin a *LoadError or a
	// *NotAllowedError, and for each such tool a *SpecError or a *CollisionError. A plugin's version
	// from before serves on; see Plugin.Held.
	Refused []error

	Old, New []plugins.Tool // the tools that went and those that came, for plugins.Registry.Replace
}

func (c *Change) empty() bool {
	return len(c.Added)+len(c.Replaced)+len(c.Removed)+len(c.Refused)+len(c.Old)+len(c.New) == 0
}

// ErrWatched is a directory that somebody watches already.
var ErrWatched = errors.New("the directory is watched already")

// Watch follows what happens to the files, from when the Dir was opened until ctx ends or the Dir
// closes, which waits for that. It returns when it has begun: from then on every version that is
// listed can be called, though its file may be another by now, or gone. The error is ctx's,
// ErrWatched, host.ErrClosed, or of the cache directory.
//
// A file counts when it was the same twice, a tenth of a second apart: one that is being written
// does not, and nor does one that is gone for a moment. A new version is described, held against
// what the operator allows and compiled before it serves; if any of that fails, the version from
// before serves on. What is new then goes to told, which puts it where calls find it, and returns
// before anything else is looked at. After that the old version is closed, as soon as the calls
// that have found it are through. told must not close the Dir; nil wants to know nothing.
//
// The operator's word does not change while a program runs: Options.Policies answers as it did.
func (d *Dir) Watch(ctx context.Context, told func(Change)) error {
	if !d.watch.TryLock() {
		select {
		case <-d.ending:
			return host.ErrClosed
		default:
			return ErrWatched
		}
	}
	w := newWatcher(d, told)
	if err := w.keepAll(ctx); err != nil {
		d.watch.Unlock()
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-d.ending:
			cancel(host.ErrClosed)
		case <-ctx.Done():
		}
	}()
	go func() {
		defer d.watch.Unlock()
		defer cancel(nil)
		w.run(ctx)
	}()
	return nil
}

// run looks at the directory whenever something seems to have happened there.
func (w *watcher) run(ctx context.Context) {
	n := newNotices(w.dir.origin, w.dir.opts)
	defer n.close()
	settle, poll := w.dir.opts.intervals()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		again, err := w.look(ctx)
		if err != nil {
			return // ctx has ended
		}
		all, news := n.follow(w.places())
		wait := poll
		if again || news { // what is watched only now may have changed before it was
			wait = settle
		} else if all {
			wait = poll * idlePolls
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			continue
		case <-n.dirty:
		}
		timer.Reset(settle) // more is likely to follow
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

func (o *Options) intervals() (settle, poll time.Duration) {
	settle, poll = settleTime, pollTime
	if o != nil && o.settle > 0 {
		settle = o.settle
	}
	if o != nil && o.poll > 0 {
		poll = o.poll
	}
	return settle, poll
}

// keepAll keeps the bytes of what serves, as far as there is room for them.
func (w *watcher) keepAll(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.dir.versions.start(); err != nil {
		return err
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(w.dir.opts.workers())
	var sum int64
	for _, p := range w.dir.plugins {
		if p.Err != nil {
			continue
		}
		if sum += p.Size; sum > maxVersions/2 {
			break
		}
		group.Go(func() error {
			p.keep() // one that has changed is found at the first look
			return context.Cause(gctx)
		})
	}
	return group.Wait()
}

// keep keeps the bytes that were listed. It reports false when the file has others by now.
func (p *plugin) keep() bool {
	if p.versions.has(p.Digest) {
		return true
	}
	src, err := p.read()
	if err != nil || digestOf(src.wasm) != p.Digest {
		return false
	}
	if err := p.versions.put(p.Digest, src.wasm); err != nil {
		p.opts.logger().Warn("version not kept", "plugin", p.Name, "error", err)
	}
	return true
}
