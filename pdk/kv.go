package pdk

import (
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/guest"
)

// KVSpace is what the plugin remembers from call to call, and from one start of its host to the
// next: a space of keys and values that no other plugin sees.
//
// A call works in a transaction. It has the space for itself from its first use to its end: other
// calls wait, so what takes long is better done before. What it writes is kept, all together, if
// its handler returns a result; after an error, a panic or a limit the space is as it was.
//
// Keys are up to 512 bytes long, values up to 1 MiB; the operator limits how many there are.
type KVSpace struct{ host guest.Host }

// KV gives the plugin's space. A plugin that uses it needs kv, see Needs.
func KV(c *Call) KVSpace { return KVSpace{c.host} }

// Get reads the value of a key into what to points to. It is false, and to is left as it is, when
// there is none. Errors are *HostError, or of decoding.
func (k KVSpace) Get(key string, to any) (ok bool, err error) {
	a, err := guest.KV(k.host, &abi.KVRequest{Op: abi.KVGet, Key: key})
	if err != nil || a.Value == nil {
		return false, err
	}
	return true, Decode(a.Value, to)
}

// Set writes a value, coded as a result is: []byte and string are kept as they are.
func (k KVSpace) Set(key string, value any) error {
	raw, err := Encode(value)
	if err != nil {
		return err
	}
	_, err = guest.KV(k.host, &abi.KVRequest{Op: abi.KVSet, Key: key, Value: raw})
	return err
}

// Delete removes a key, if it is there.
func (k KVSpace) Delete(key string) error {
	_, err := guest.KV(k.host, &abi.KVRequest{Op: abi.KVDelete, Key: key})
	return err
}

// List gives the keys that begin with prefix and come after another, "" for the first ones, in the
// order of their bytes. The host gives at most 1,000 at a time, and limit is less if it is above 0;
// more tells that there are others.
func (k KVSpace) List(prefix, after string, limit int) (keys []string, more bool, err error) {
	a, err := guest.KV(k.host,
		&abi.KVRequest{Op: abi.KVList, Prefix: prefix, After: after, Limit: limit})
	return a.Keys, a.More, err
}
