package loader

import (
	"context"
	"sync"
)

// DefaultCodeMemory is Options.CodeMemory when that is 0, in bytes.
const DefaultCodeMemory = 512 << 20

// shelf keeps the compiled plugins of a directory within a budget. When there are more, those that
// have idled longest are closed; their next call compiles them again, or reads them from the cache.
// What runs stays, and so does the plugin used last, however large it is.
type shelf struct {
	max     int64          // bytes
	closing sync.WaitGroup // plugins that were taken off and are being closed

	mu      sync.Mutex
	flights map[*flight]struct{} // those with a module
	used    int64                // bytes
	now     int64                // counts calls
	closed  bool
}

func newShelf(max int64) *shelf { return &shelf{max: max, flights: map[*flight]struct{}{}} }

// enter counts a call in. It reports false for a flight that was taken off the shelf: there has to
// be another.
func (s *shelf) enter(f *flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.gone {
		return false
	}
	s.now++
	f.calls, f.used = f.calls+1, s.now
	return true
}

// leave counts a call out, and makes room if that was wanting.
func (s *shelf) leave(f *flight) {
	s.mu.Lock()
	f.calls--
	idle := s.makeRoom()
	s.mu.Unlock()
	s.end(idle)
}

// put puts a flight that has its module on the shelf.
func (s *shelf) put(f *flight) {
	s.mu.Lock()
	f.size = f.module.Size()
	s.used += f.size
	s.flights[f] = struct{}{}
	idle := s.makeRoom()
	s.mu.Unlock()
	s.end(idle)
}

// makeRoom takes idle flights off the shelf until the others fit, the one used longest ago first.
func (s *shelf) makeRoom() (idle []*flight) {
	for s.used > s.max && !s.closed {
		f := s.oldest()
		if f == nil {
			break
		}
		f.gone = true
		delete(s.flights, f)
		s.used -= f.size
		s.closing.Add(1)
		idle = append(idle, f)
	}
	return idle
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

// close waits for those that are being closed. Nothing is taken off any more.
func (s *shelf) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.closing.Wait()
}
