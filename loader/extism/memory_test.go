package extism

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/host"
)

// model is the blocks as a guest thinks of them.
type model map[uint64][]byte

// account counts what was claimed, up to a limit.
type account struct{ used, max int64 }

func (a *account) claim(n int64) error {
	if a.used+n > a.max {
		return &host.LimitError{Limit: "memory", Max: a.max, Asked: a.used + n}
	}
	a.used += n
	return nil
}

// same holds the blocks against what the guest thinks of them.
func (m *memory) same(t interface{ Fatalf(string, ...any) }, want model) {
	if len(m.blocks) != len(want) {
		t.Fatalf("%d blocks, want %d", len(m.blocks), len(want))
	}
	for at, content := range want {
		if !bytes.Equal(m.block(at), content) || m.length(at) != uint64(len(content)) {
			t.Fatalf("block at %d: %x, want %x", at, m.block(at), content)
		}
		for other := range want {
			if other > at && other < at+uint64(len(content)) {
				t.Fatalf("blocks at %d of %d bytes and at %d overlap", at, len(content), other)
			}
		}
	}
}

func TestBlocksAreAsTheirModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const maxBlocks, maxBytes = 8, 1 << 10
		paid := &account{max: maxBytes}
		m, want, b := newMemory(), model{}, bounds{math.MaxInt64, maxBlocks, paid.claim}
		offsets := func(t *rapid.T) uint64 {
			live := []uint64{0, 1, 8, 16, math.MaxUint64}
			for at := range want {
				live = append(live, at, at+1)
			}
			return live[rapid.IntRange(0, len(live)-1).Draw(t, "which")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				size := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64()).Draw(t, "size")
				at, err := m.alloc(size, &b)
				switch {
				case err != nil:
					refusal(t, err, len(want) == maxBlocks)
				case size == 0 && at != 0, size > 0 && at == 0:
					t.Fatalf("%d bytes lie at %d", size, at)
				case at != 0:
					if _, taken := want[at]; taken {
						t.Fatalf("the block at %d was given twice", at)
					}
					want[at] = make([]byte, size)
				}
			},
			"free": func(t *rapid.T) {
				at := offsets(t)
				m.release(at)
				delete(want, at)
			},
			"write": func(t *rapid.T) {
				at, fill := offsets(t), rapid.Byte().Draw(t, "fill")
				content, ok := want[at]
				view, there := m.view(at, uint64(len(content)))
				if ok && !there {
					t.Fatalf("the block at %d is not there", at)
				}
				for i := range content {
					content[i], view[i] = fill, fill
				}
			},
			"fork": func(t *rapid.T) {
				old := m
				m = m.fork()
				paid.used = 0 // by the call before
				if err := m.settle(&b); err != nil {
					t.Fatal(err)
				}
				for at := range want { // what the old one does is no more of interest
					clear(old.block(at))
				}
			},
			"": func(t *rapid.T) {
				m.same(t, want)
				if int64(len(m.arena)) != paid.used+minBlock || m.claimed != len(m.arena) {
					t.Fatalf("%d bytes, of which %d are paid for", len(m.arena), paid.used)
				}
			},
		})
	})
}

// refusal holds an error of alloc against what it may be.
func refusal(t *rapid.T, err error, full bool) {
	_, limit := errors.AsType[*host.LimitError](err)
	contract, broke := errors.AsType[*host.ContractError](err)
	if full && (!broke || !strings.Contains(contract.Detail, "more than 8 blocks")) ||
		!full && !limit {
		t.Fatalf("refused: %v", err)
	}
}

// TestBlockLimits is at the edges: at a limit and one past it.
func TestBlockLimits(t *testing.T) {
	free := func(int64) error { return nil }
	m, b := newMemory(), bounds{math.MaxInt64, MaxBlocks, free}
	for range MaxBlocks {
		if _, err := m.alloc(1, &b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.alloc(1, &b); err == nil {
		t.Errorf("block %d is to be had", MaxBlocks+1)
	}
	m.release(minBlock)
	if at, err := m.alloc(minBlock, &b); at != minBlock || err != nil {
		t.Errorf("the freed block: %d, %v", at, err)
	}

	paid := &account{max: 50}
	m, b = newMemory(), bounds{math.MaxInt64, MaxBlocks, paid.claim}
	if _, err := m.reach(100, 1, &b); err == nil || paid.used != 0 {
		t.Errorf("a reach that cannot be paid: %v", err)
	}
	if view, err := m.reach(50, 1, &b); len(view) != 1 || err != nil || paid.used != 48 {
		t.Errorf("a reach that can be paid: %v, for %d bytes", err, paid.used)
	}

	m, b = newMemory(), bounds{MaxLoadedBytes, MaxLoadedBlocks, free}
	if at, err := m.alloc(MaxLoadedBytes/2, &b); at == 0 || err != nil {
		t.Errorf("half of what loading may leave: %v", err)
	}
	for left := MaxLoadedBytes - len(m.arena); left > 0; left = MaxLoadedBytes - len(m.arena) {
		if _, err := m.alloc(uint64(1)<<(class(uint64(left)+1)-1), &b); err != nil {
			t.Fatalf("with %d bytes left: %v", left, err)
		}
	}
	if _, err := m.alloc(1, &b); err == nil {
		t.Error("one byte more than loading may leave is to be had")
	}
}

// FuzzBlocks lets operations of a guest's choice work on the table: whatever they are, it neither
// panics nor gives bytes that are not there.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("\x00\x05\x01\x08\x00\x05"))
	f.Add([]byte("\x00\x09\x02\x08\x03\xff\x01\x08\x01\x08\x00\x10\x00\xff"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		paid := &account{max: 1 << 16}
		m, b := newMemory(), bounds{math.MaxInt64, 64, paid.claim}
		for ; len(ops) >= 2; ops = ops[2:] {
			n := uint64(ops[1])
			if n > 200 {
				n = math.MaxUint64 << (n - 200)
			}
			switch ops[0] % 4 {
			case 0:
				if at, err := m.alloc(n, &b); err == nil && at != 0 && len(m.block(at)) != int(n) {
					t.Fatalf("a block of %d bytes has %d", n, len(m.block(at)))
				}
			case 1:
				m.release(n)
			case 2:
				if view, ok := m.view(n, n); ok && uint64(len(view)) != n {
					t.Fatalf("%d bytes at %d", len(view), n)
				}
			case 3:
				m, paid.used = m.fork(), 0
				if err := m.settle(&b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if int64(len(m.arena)) > paid.max+minBlock {
			t.Errorf("%d bytes", len(m.arena))
		}
	})
}
