package subagents

import (
	"fmt"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// MaxInbox is how many events an inbox holds.
const MaxInbox = 1024

// Inbox takes events from any goroutine, for one that reads them when it can. When it is full,
// pieces of text make room, the oldest first, and only then other events; a warning in their place
// says how many are missing. The zero value is ready; it is safe for concurrent use.
type Inbox struct {
	mu           sync.Mutex
	list         []message.Event
	pieces, lost int // that made room: pieces of text, other events
	ready        chan struct{}
}

// Put adds an event. It never waits.
func (b *Inbox) Put(ev message.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == MaxInbox {
		b.makeRoom()
	}
	b.list = append(b.list, ev)
	select {
	case b.signal() <- struct{}{}:
	default: // it is to be read already
	}
}

func (b *Inbox) makeRoom() {
	i := slices.IndexFunc(b.list, func(ev message.Event) bool {
		return ev.Kind == message.TextDelta || ev.Kind == message.ReasoningDelta
	})
	if i < 0 {
		i = 0
		b.lost++
	} else {
		b.pieces++
	}
	b.list = slices.Delete(b.list, i, i+1)
}

// Next gives the oldest event, if there is one.
func (b *Inbox) Next() (ev message.Event, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.pieces+b.lost > 0:
		ev = message.Event{Kind: message.Warning, Text: fmt.Sprintf("subagents told more than was "+
			"read: %d pieces of text and %d other events are left out", b.pieces, b.lost)}
		b.pieces, b.lost = 0, 0
		return ev, true
	case len(b.list) == 0:
		return ev, false
	}
	ev = b.list[0]
	b.list = slices.Delete(b.list, 0, 1)
	return ev, true
}

// Ready gives a channel that has something when there are events. Next may have read them already.
func (b *Inbox) Ready() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.signal()
}

// signal is the channel of Ready. The lock is held.
func (b *Inbox) signal() chan struct{} {
	if b.ready == nil {
		b.ready = make(chan struct{}, 1)
	}
	return b.ready
}
