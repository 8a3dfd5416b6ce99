// Package kv is where plugins remember: a [Store] has a space of keys and values for each, in a
// folder that any number of processes share. [Memory] is one that ends with its process.
//
// Each space is a SQLite file of its own, that only its owner can read, named by a hash of the
// scope: what one plugin keeps open or breaks is nothing to another, and to forget a plugin is to
// remove its file. A call has its space for itself from its first look at it to its end, in this
// process and against others, so that what it reads is still so when it writes. What a call wrote
// is on the disk when it is told that it was kept; what it wrote and did not keep is nowhere.
//
// Quotas are not kept here: the host holds every write against them.
package kv
