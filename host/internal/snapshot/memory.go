package snapshot

import (
	"errors"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero/experimental"
)

const (
	// MaxSize is the most that a memory may grow to, in bytes: 65,534 pages. One page less than
	// wazero can hold, because a memory shrinks through a growth by one page.
	MaxSize = 65534 * PageSize

	// SmallImage is the size in bytes up to which copying an image whole beats looking for what
	// was written.
	SmallImage = 128 << 10

	// DefaultKeep is the private memory in bytes that stays resident with an instance.
	DefaultKeep = 16 << 20
)

// Options of a memory. Nil, and every zero field, is the documented default.
type Options struct {
	Image    *Image // what the memory starts with; nil: Min bytes of zeroes
	Min      int64  // the module's minimum in bytes, not above the image's size if there is one
	Declared int64  // the module's declared maximum in bytes; 0: none
	Keep     int64  // private bytes that stay resident after a restore; DefaultKeep
	Road     Road   // Auto; anything else is for tests, measurements and inspection

	// Charge books bytes against a budget that instances share: a guest's memory length, and after
	// a restore what it was, as far as pages above the image may stay resident. It may refuse a
	// positive number; a negative one gives back. Nil: no budget. It must be safe for concurrent
	// use if memories share it.
	Charge func(bytes int64) bool
}

// Memory is the linear memory of one instance, and the allocator that hands it to wazero.
type Memory struct {
	region
	image     *Image
	size      int // what the guest sees
	high      int // the largest size since all above the image was dropped: above it nothing is resident
	booked    int // with charge: high, at least
	limit     int // MaxSize or the caller's
	declared  int // or −1
	keep      int
	road      Road // as asked for
	forImage  Road
	forGrown  Road
	charge    func(int64) bool
	claimed   int64 // bytes, beside the memory
	denied    *Denial
	stats     Stats
	tide      tide
	known     known
	allocated bool
	shrinking bool
	closed    bool
}

var (
	_ experimental.MemoryAllocator = (*Memory)(nil)
	_ experimental.LinearMemory    = (*Memory)(nil)
)

// New reserves a memory that may grow to limit bytes and gives it its first size. An error is a
// [*Denial] if a limit or the budget refuses that size.
func New(limit int64, o *Options) (*Memory, error) {
	if o == nil {
		o = &Options{}
	}
	m := &Memory{
		limit:    wholePages(min(limit, MaxSize)),
		declared: -1,
		keep:     wholePages(min(o.keep(), MaxSize)),
		road:     o.Road,
		charge:   o.charge(),
	}
	if o.Declared > 0 {
		m.declared = wholePages(min(o.Declared, MaxSize))
	}
	first := o.Min
	if o.Image != nil {
		if first > o.Image.Size() {
			return nil, fmt.Errorf("snapshot: a minimum of %d bytes is above the image's %d",
				first, o.Image.Size())
		}
		first = o.Image.Size()
	}
	if first < 0 || first%PageSize != 0 {
		return nil, fmt.Errorf("snapshot: a minimum of %d bytes is not whole pages", first)
	}
	if err := m.reserve(min(m.limit, m.most())); err != nil {
		return nil, fmt.Errorf("snapshot: reserve %d bytes: %w", m.limit, err)
	}
	m.setRoad(nil)
	if d := m.growTo(uint64(first)); d != nil {
		return nil, errors.Join(d, m.Close())
	}
	if o.Image != nil {
		if err := m.adopt(o.Image); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

func (o *Options) keep() int64 {
	if o.Keep > 0 {
		return o.Keep
	}
	return DefaultKeep
}

func (o *Options) charge() func(int64) bool {
	if o.Charge != nil {
		return o.Charge
	}
	return func(int64) bool { return true }
}

// wholePages rounds down, to what this system's int can hold.
func wholePages(n int64) int { return int(max(0, min(n, math.MaxInt)) / PageSize * PageSize) }

// most is what the module itself allows.
func (m *Memory) most() int {
	if m.declared < 0 {
		return math.MaxInt
	}
	return m.declared
}

func (m *Memory) setRoad(i *Image) {
	m.forImage, m.forGrown = m.road, m.road
	if m.road != Auto {
		return
	}
	m.forImage, m.forGrown = best(), best()
	if i != nil && i.size <= SmallImage {
		m.forImage = Copy
	}
}

// Adopt makes a memory that was photographed a clone of its own image: from here on it can be
// restored. The guest must not have run since the image was made.
func (m *Memory) Adopt(i *Image) error {
	if m.closed {
		return ErrClosed
	}
	if m.image != nil || i.size != m.size {
		return fmt.Errorf("snapshot: an image of %d bytes does not fit this memory of %d",
			i.size, m.size)
	}
	return m.adopt(i)
}

func (m *Memory) adopt(i *Image) error {
	if err := i.retain(); err != nil {
		return err
	}
	if err := m.mapImage(i); err != nil {
		return errors.Join(fmt.Errorf("snapshot: map image: %w", err), i.release())
	}
	m.image = i
	m.setRoad(i)
	return nil
}

// Allocate hands the memory to the instance that wazero is making. It may be asked once.
func (m *Memory) Allocate(_, _ uint64) experimental.LinearMemory {
	if m.allocated || m.closed {
		panic("snapshot: a memory is for one instance")
	}
	m.allocated = true
	return m
}

// Reallocate grows the memory to size bytes and returns it, or nil if a limit forbids that; see
// [Memory.Denied]. While the memory is being restored it returns it with the image's size.
func (m *Memory) Reallocate(size uint64) []byte {
	if m.closed {
		return nil
	}
	if m.shrinking {
		m.shrinking = false
		m.size = m.image.size
		return m.bytes(m.size)
	}
	if d := m.growTo(size); d != nil {
		m.denied = d
		return nil
	}
	return m.bytes(m.size)
}

// growTo does nothing for a size that the memory already has: instantiating a clone asks for the
// module's minimum.
func (m *Memory) growTo(size uint64) *Denial {
	if size <= uint64(m.size) {
		return nil
	}
	d := &Denial{Asked: int64(min(size, math.MaxInt64))}
	switch {
	case size > uint64(m.most()):
		d.Reason, d.Max = Declared, int64(m.declared)
		return d
	case size+uint64(m.claimed) > uint64(m.limit):
		d.Asked = int64(min(size+uint64(m.claimed), math.MaxInt64))
		d.Reason, d.Max = Policy, int64(m.limit)
		return d
	}
	if !m.book(max(m.booked, int(size))) {
		d.Reason = Budget
		return d
	}
	if err := m.commit(int(size)); err != nil {
		m.book(m.high)
		d.Reason, d.Err = System, err
		return d
	}
	m.size = int(size)
	m.high = max(m.high, m.size)
	return nil
}

// Claim books bytes that the host keeps for the guest beside the memory. They count as if it had
// grown by as many, until [Memory.Disclaim]; nothing is booked if a limit refuses them.
func (m *Memory) Claim(bytes int64) *Denial {
	d := &Denial{Asked: int64(m.size) + m.claimed + bytes}
	switch {
	case bytes < 0 || d.Asked < bytes || d.Asked > int64(m.limit):
		d.Reason, d.Max, d.Asked = Policy, int64(m.limit), max(d.Asked, bytes)
		return d
	case !m.charge(bytes):
		d.Reason = Budget
		return d
	}
	m.claimed += bytes
	return nil
}

// Disclaim gives back all that was claimed.
func (m *Memory) Disclaim() {
	if m.claimed != 0 {
		m.charge(-m.claimed)
		m.claimed = 0
	}
}

// book changes what is booked. It can fail only for more than there was.
func (m *Memory) book(bytes int) bool {
	if bytes != m.booked && !m.charge(int64(bytes-m.booked)) {
		return false
	}
	m.booked = bytes
	return true
}

// Size is the length that the guest sees, in bytes.
func (m *Memory) Size() int64 { return int64(m.size) }

// Denied is the last growth since the last restore that was refused, or nil. A growth past 65,535
// pages is refused by wazero and not known here.
func (m *Memory) Denied() *Denial { return m.denied }

// Free is called by wazero when the instance closes.
func (m *Memory) Free() { _ = m.Close() }

// Close unmaps the memory, gives its charge back and lets go of its image. Closing again does
// nothing.
func (m *Memory) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	m.Disclaim()
	m.book(0)
	err := m.unmap()
	if m.image != nil {
		err = errors.Join(err, m.image.release())
	}
	return err
}
