package transcode

import (
	"bytes"
	"hash/maphash"
)

const (
	minSlots  = 64      // slots of a new key set
	keepSlots = 1 << 15 // slots of the largest key set that is kept for another document
)

// A keySet holds the keys of all large maps of one document, each under its map's id, so that a
// duplicate is found in constant time however the maps nest. The seed makes collisions
// unpredictable: a guest cannot choose keys that all fall into one slot. Nothing is cleared between
// documents, since ids go on rising: a slot with an id from before is free.
type keySet struct {
	seed  maphash.Seed
	slots []slot // a power of two, never full
	used  int    // slots of this document
	first uint32 // the first id of this document; 0 is no id
	next  uint32
}

type slot struct {
	id   uint32
	hash uint32
	key  span
}

func newKeySet() keySet {
	return keySet{seed: maphash.MakeSeed(), slots: make([]slot, minSlots), next: 1}
}

// begin forgets the document before. A document has fewer maps than half the ids, so they last.
func (s *keySet) begin() {
	if s.next > 1<<31 {
		clear(s.slots)
		s.next = 1
	}
	s.first, s.used = s.next, 0
}

func (s *keySet) small() bool { return len(s.slots) <= keepSlots }

func (s *keySet) newMap() uint32 {
	s.next++
	return s.next - 1
}

// add puts the key that lies in buf at key under map id and reports whether it was not there. The
// same buf, longer perhaps, must be given until the map ends.
func (s *keySet) add(id uint32, buf []byte, key span) bool {
	if s.used >= len(s.slots)/4*3 {
		s.grow()
	}
	text := buf[key.start:key.end]
	h := maphash.Bytes(s.seed, text)
	h = (h ^ uint64(id)*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd >> 32
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		t := &s.slots[i]
		switch {
		case t.id < s.first:
			*t = slot{id, uint32(h), key}
			s.used++
			return true
		case t.id == id && t.hash == uint32(h) && bytes.Equal(buf[t.key.start:t.key.end], text):
			return false
		}
	}
}

func (s *keySet) grow() {
	old := s.slots
	s.slots = make([]slot, 2*len(old))
	mask := uint64(len(s.slots) - 1)
	for _, t := range old {
		if t.id < s.first {
			continue
		}
		i := uint64(t.hash) & mask
		for s.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = t
	}
}
