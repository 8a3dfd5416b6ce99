package kv

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/host"
)

// Memory is a space that lasts as long as it is held, for tests and for programs that keep nothing.
func Memory() host.KV {
	return &memory{turn: make(chan struct{}, 1), entries: map[string][]byte{}}
}

type memory struct {
	turn    chan struct{}
	entries map[string][]byte
}

func (m *memory) Begin(ctx context.Context) (host.KVTx, error) {
	select {
	case m.turn <- struct{}{}:
		return &memoryTx{space: m, entries: maps.Clone(m.entries)}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// memoryTx works on a copy. Values are never changed, so the copy shares them.
type memoryTx struct {
	space   *memory // nil when it has ended
	entries map[string][]byte
}

func (t *memoryTx) Get(_ context.Context, key string) ([]byte, bool, error) {
	if t.space == nil {
		return nil, false, errEnded
	}
	value, ok := t.entries[key]
	return bytes.Clone(value), ok, nil
}

func (t *memoryTx) Set(_ context.Context, key string, value []byte) error {
	if t.space == nil {
		return errEnded
	}
	t.entries[key] = bytes.Clone(value)
	return nil
}

func (t *memoryTx) Delete(_ context.Context, key string) error {
	if t.space == nil {
		return errEnded
	}
	delete(t.entries, key)
	return nil
}

func (t *memoryTx) List(_ context.Context, prefix, after string, max int) ([]string, error) {
	if t.space == nil {
		return nil, errEnded
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		if strings.HasPrefix(key, prefix) && key > after && len(keys) < max {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func (t *memoryTx) Size(context.Context) (keys int, size int64, err error) {
	if t.space == nil {
		return 0, 0, errEnded
	}
	for key, value := range t.entries {
		size += int64(len(key) + len(value))
	}
	return len(t.entries), size, nil
}

func (t *memoryTx) End(_ context.Context, commit bool) error {
	if t.space == nil {
		return errEnded
	}
	if commit {
		t.space.entries = t.entries
	}
	<-t.space.turn
	t.space = nil
	return nil
}
