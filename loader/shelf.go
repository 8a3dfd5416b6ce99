package loader

import (
	"context"
	"errors"
	"sync"

	"github.com/wasmagent/wasmagent/host"
)

// DefaultCodeMemory is Options.CodeMemory when that is 0, in bytes.
const DefaultCodeMemory = 512 << 20

// shelf keeps the compiled plugins of a directory within a budget. When there are more, those that
// have idled longest are closed; their next call compiles them again, or reads them from the cache.
// What runs stays, and so does the plugin used last, however large it is. A plugin that another
// version has replaced goes as soon as it idles.
type shelf struct {
	max     int64          // bytes
	closing sync.WaitGroup // plugins that were taken off and are being closed

	mu      sync.Mutex
	flying  map[*flight]struct{} // those that compile
	flights map[*flight]struct{} // those with a module
	used    int64                // bytes
	now     int64                // counts calls
	closed  bool
}

func newShelf(max int64) *shelf {
	return &shelf{max: max, flying: map[*flight]struct{}{}, flights: map[*flight]struct{}{}}
}

// errGone is a flight that was taken off the shelf: there has to be another.
var errGone = errors.New("off the shelf")

// enter counts a call in.
func (s *shelf) enter(f *flight) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.gone {
		return errGone
	}
	return s.count(f)
}

// start counts the first call of a flight in, which is to compile now.
func (s *shelf) start(f *flight) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.count(f)
	if err == nil {
		s.flying[f] = struct{}{}
	}
	return err
}

func (s *shelf) count(f *flight) error {
	if s.closed {
		return host.ErrClosed
	}
	s.now++
	f.calls, f.used = f.calls+1, s.now
	return nil
}

// fail ends a flight that did not get its module.
func (s *shelf) fail(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flying, f)
}

// leave counts a call out, and makes room if that was wanting.
func (s *shelf) leave(f *flight) {
	s.mu.Lock()
	f.calls--
	idle := s.spare(f)
	s.mu.Unlock()
	s.end(idle)
}

// put puts a flight that has its module on the shelf.
func (s *shelf) put(f *flight) {
	s.mu.Lock()
	delete(s.flying, f)
	f.size = f.module.Size()
	s.used += f.size
	s.flights[f] = struct{}{}
	idle := s.spare(f)
	s.mu.Unlock()
	s.end(idle)
}

// retire closes a replaced plugin when the calls that have found it are through.
func (s *shelf) retire(p *plugin) {
	p.mu.Lock()
	f := p.flight
	p.mu.Unlock()
	s.mu.Lock()
	p.retired = true
	idle := s.spare(f)
	s.mu.Unlock()
	s.end(idle)
}

// spare takes off the shelf what is to go: a flight whose plugin has been replaced, and others
// until the rest fit, the one used longest ago first.
func (s *shelf) spare(f *flight) (idle []*flight) {
	if s.closed {
		return nil
	}
	if _, here := s.flights[f]; here && f.calls == 0 && f.plugin.retired {
		s.take(f)
		idle = append(idle, f)
	}
	for s.used > s.max {
		f := s.oldest()
		if f == nil {
			break
		}
		s.take(f)
		idle = append(idle, f)
	}
	return idle
}

func (s *shelf) take(f *flight) {
	f.gone = true
	delete(s.flights, f)
	s.used -= f.size
	s.closing.Add(1)
}

// oldest is the idle flight used longest ago, if that is not the one used last.
func (s *shelf) oldest() (oldest *flight) {
	for f := range s.flights {
		if f.calls == 0 && f.used < s.now && (oldest == nil || f.used < oldest.used) {
			oldest = f
		}
	}
	return oldest
}

// end closes what was taken off the shelf.
func (s *shelf) end(idle []*flight) {
	for _, f := range idle {
		f.plugin.forget(f)
		if err := f.module.Close(context.Background()); err != nil {
			f.plugin.opts.logger().Warn("closing an idle plugin", "plugin", f.plugin.Name, "error", err)
		}
		s.closing.Done()
	}
}

// close ends the compiles that run, and closes all plugins when their calls are through. Nothing
// gets on or off the shelf any more.
func (s *shelf) close() error {
	s.mu.Lock()
	s.closed = true
	var all []*flight
	for _, flights := range []map[*flight]struct{}{s.flying, s.flights} {
		for f := range flights {
			all = append(all, f)
		}
	}
	s.mu.Unlock()
	var errs []error
	for _, f := range all {
		errs = append(errs, f.close())
	}
	s.closing.Wait()
	return errors.Join(errs...)
}
