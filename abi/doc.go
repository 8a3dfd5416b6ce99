// Package abi is the contract between a host and a guest: the names both sides link by, the
// manifest a plugin describes itself with, the request a call carries and the reply it ends with,
// and the msgpack coding of all four.
//
// It is spoken by both ends and so stays small: it imports nothing but the standard library, and
// neither encoding/json nor fmt, so that a Go plugin which links it keeps near 2 MB.
//
// The coding is by hand over a handful of Append functions and one [Reader]. A Reader refuses bytes
// that are not msgpack and allocates nothing on their word, but it finds no duplicate keys and lets
// strings pass that are not UTF-8: a host runs transcode.Scan over everything a guest hands it
// before any decoder sees a byte. Words of a guest that people or models will read go through
// [CleanText] first.
//
// # The promise
//
// Version 1 only grows: a reader ignores keys it does not know, a writer may add keys, and no key
// changes its meaning. What cannot be said that way becomes version 2 under another import module.
package abi
