// Package abi is the contract between a host and a guest: the names both sides link by, the
// manifest a plugin describes itself with, the request a call carries and the reply it ends with,
// and the msgpack coding of all four.
//
// It is spoken by both ends and so stays small: it imports nothing but the standard library, and
// neither encoding/json nor fmt, so that a Go plugin which links it keeps near 2 MB.
//
// The coding is by hand over a handful of Append functions and one [Reader]. A Reader refuses bytes
// that are not msgpack, but it is not the guard against hostile ones: a host runs
// transcode.Scan over everything a guest hands it before any decoder sees a byte.
//
// # The promise
//
// Version 1 only grows: a reader ignores keys it does not know, a writer may add keys, and no key
// changes its meaning. What cannot be said that way becomes version 2 under another import module.
package abi
