package abi

import "errors"

// The coding of the contract's shapes. Writers append to dst and return it; they emit the shortest
// form of every value. Parsers copy nothing: strings and Raw values of the answer that are byte
// slices alias b.

// ParseRequest reads a request. Unknown keys are ignored.
func ParseRequest(b []byte) (Request, error) { return Request{}, errors.ErrUnsupported }

// AppendRequest appends r's msgpack form. DeadlineMS, IdempotencyKey and Host are left out when
// zero.
func AppendRequest(dst []byte, r *Request) []byte { return dst }

// ParseReply reads a reply. It is an error unless exactly one of the outcome keys is there.
func ParseReply(b []byte) (Reply, error) { return Reply{}, errors.ErrUnsupported }

// AppendReply appends r's msgpack form.
func AppendReply(dst []byte, r *Reply) []byte { return dst }

// AppendManifest appends m's msgpack form; equal manifests give equal bytes.
func AppendManifest(dst []byte, m *Manifest) []byte { return dst }

// ParseEffect gives the effect of a wire word; "" is write.
func ParseEffect(s string) (Effect, bool) { return EffectWrite, false }

// String gives the wire word: write, read or idempotent.
func (e Effect) String() string { return "" }
