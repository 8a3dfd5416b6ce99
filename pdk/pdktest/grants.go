package pdktest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk"
)

func hostError(kind abi.CallErrorKind, format string, args ...any) error {
	return &pdk.HostError{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (p *player) HTTP(q *abi.HTTPRequest) (*abi.HTTPResponse, error) {
	if p.Respond == nil {
		return nil, hostError(pdk.Denied, "the test grants no http (Host.Respond)")
	}
	resp, err := p.Respond(q)
	if _, ok := errors.AsType[*pdk.HostError](err); err != nil && !ok {
		return nil, hostError(pdk.Network, "%v", err)
	}
	return resp, err
}

// Limits of a real host's key-value space.
const (
	maxKey   = 512
	maxValue = 1 << 20
	maxList  = 1000
)

func (p *player) KV(q *abi.KVRequest) (a abi.KVAnswer, err error) {
	switch {
	case p.space == nil:
		return a, hostError(pdk.Denied, "the test grants no kv (Host.Remembers)")
	case max(len(q.Key), len(q.Prefix), len(q.After)) > maxKey || len(q.Value) > maxValue:
		return a, hostError(pdk.TooLarge, "a key has at most %d bytes, a value %d", maxKey,
			maxValue)
	case q.Key == "" && q.Op != abi.KVList:
		return a, hostError(pdk.Invalid, "the key is empty")
	}
	switch q.Op {
	case abi.KVGet:
		a.Value = p.space[q.Key]
	case abi.KVSet:
		p.space[q.Key] = slices.Clone(q.Value)
	case abi.KVDelete:
		delete(p.space, q.Key)
	case abi.KVList:
		limit := q.Limit
		if limit <= 0 || limit > maxList {
			limit = maxList
		}
		for _, key := range slices.Sorted(maps.Keys(p.space)) {
			if !strings.HasPrefix(key, q.Prefix) || key <= q.After {
				continue
			}
			if a.More = len(a.Keys) == limit; a.More {
				break
			}
			a.Keys = append(a.Keys, key)
		}
	}
	return a, nil
}
