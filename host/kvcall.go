package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
)

const (
	maxKVCall = MaxKVValue + 4*MaxKVKey // bytes of a coded request

	// kvWait is how long a call waits for those before it that use the same space.
	kvWait = 10 * time.Second
	// kvEnd is how long the end of a transaction may take.
	kvEnd = 10 * time.Second
)

// kv reads and writes the plugin's own space, in one transaction for the whole call.
func (in *instance) kv(mem guestMemory, args []uint64) int {
	return in.service(mem, args, "kv", maxKVCall, in.module.policy.Grants.KV != nil, in.remember)
}

func (in *instance) remember(b []byte) (answer []byte, err error) {
	q, err := abihost.ParseKVRequest(b)
	if err == nil {
		err = checkKV(&q)
	} else {
		err = callError(abi.Invalid, "the request cannot be read: %v", err)
	}
	if err != nil {
		return nil, err
	}
	a, err := in.consult(&q)
	if err != nil {
		return nil, err
	}
	return abi.AppendKVAnswer(nil, q.Op, &a), nil
}

// consult carries out a request that keeps the limits. Its errors are *abi.CallError.
func (in *instance) consult(q *abi.KVRequest) (a abi.KVAnswer, err error) {
	ctx, cancel := in.waiting()
	defer cancel()
	in.away(func() {
		if err = in.beginKV(ctx); err == nil {
			a, err = in.carryOut(ctx, q)
		}
	})
	in.look()
	if _, known := errors.AsType[*abi.CallError](err); err != nil && !known {
		err = in.interrupted(err, "the key-value space cannot be used now")
	}
	return a, err
}

// checkKV holds a request against the limits that are the same for all.
func checkKV(q *abi.KVRequest) error {
	for _, key := range []string{q.Key, q.Prefix, q.After} {
		if len(key) > MaxKVKey {
			return callError(abi.TooLarge, "a key of %d bytes, more than %d", len(key), MaxKVKey)
		}
	}
	switch {
	case q.Op != abi.KVList && q.Key == "":
		return callError(abi.Invalid, "the key is empty")
	case len(q.Value) > MaxKVValue:
		return callError(abi.TooLarge, "a value of %s, more than %s",
			byteText(int64(len(q.Value))), byteText(MaxKVValue))
	}
	return nil
}

// beginKV gets the space for the call.
func (in *instance) beginKV(ctx context.Context) (err error) {
	if in.run.kv != nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, kvWait)
	defer cancel()
	in.run.kv, err = in.module.policy.Grants.KV.Begin(wait)
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		return callError(abi.Busy, "other calls have had the key-value space for %v", kvWait)
	}
	return err
}

func (in *instance) carryOut(ctx context.Context, q *abi.KVRequest) (a abi.KVAnswer, err error) {
	tx := in.run.kv
	switch q.Op {
	case abi.KVGet:
		a.Value, _, err = tx.Get(ctx, q.Key)
	case abi.KVSet:
		err = in.setKV(ctx, q.Key, q.Value)
	case abi.KVDelete:
		in.run.effects.KVWrites++
		in.run.kvUsed.known = false
		err = tx.Delete(ctx, q.Key)
	case abi.KVList:
		limit := q.Limit
		if limit <= 0 || limit > MaxKVList {
			limit = MaxKVList
		}
		a.Keys, err = tx.List(ctx, q.Prefix, q.After, limit+1)
		if a.More = len(a.Keys) > limit; a.More {
			a.Keys = a.Keys[:limit]
		}
	}
	return a, err
}

// kvUsage is how much a space has in it.
type kvUsage struct {
	known bool
	keys  int
	bytes int64
}

// setKV writes a key, if the space has room for it.
func (in *instance) setKV(ctx context.Context, key string, value []byte) (err error) {
	tx, used, limits := in.run.kv, &in.run.kvUsed, in.module.limits
	if !used.known {
		if used.keys, used.bytes, err = tx.Size(ctx); err != nil {
			return err
		}
		used.known = true
	}
	before, there, err := tx.Get(ctx, key)
	if err != nil {
		return err
	}
	keys, bytes := used.keys, used.bytes+int64(len(value)-len(before))
	if !there {
		keys, bytes = keys+1, bytes+int64(len(key))
	}
	switch {
	case keys > limits.KVKeys && !there:
		return callError(abi.Quota, "the key-value space has %d keys, its limit (limits.kv_keys)",
			used.keys)
	case bytes > limits.KVBytes && bytes > used.bytes:
		return callError(abi.Quota,
			"the key-value space would have %s, more than %s (limits.kv_bytes)",
			byteText(bytes), byteText(limits.KVBytes))
	}
	in.run.effects.KVWrites++
	if err := tx.Set(ctx, key, value); err != nil {
		used.known = false
		return err
	}
	used.keys, used.bytes = keys, bytes
	return nil
}

// settle ends the call's transaction. What a call wrote is kept if its tool succeeded: a reply that
// tells of a failure leaves the space as it was.
func (in *instance) settle(keep bool) error {
	tx := in.run.kv
	if tx == nil {
		return nil
	}
	in.run.kv = nil
	commit := in.run.effects.KVWrites > 0 && keep
	ctx, cancel := context.WithTimeout(context.Background(), kvEnd)
	defer cancel()
	err := guard(func() error { return tx.End(ctx, commit) })
	switch {
	case err != nil && commit:
		return fmt.Errorf("key-value space: the call's changes cannot be kept: %w", err)
	case err != nil:
		in.module.engine.logger.Warn("key-value space: ending a transaction",
			"digest", in.module.Digest(), "error", err)
	}
	return nil
}

// succeeded reports whether a reply is a result.
func succeeded(reply []byte) bool {
	r, err := abi.ParseReply(reply)
	return err == nil && (r.Outcome == abi.OutcomeOK || r.Outcome == abi.OutcomeContent)
}
