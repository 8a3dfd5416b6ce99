// Package schema holds values against JSON Schemas that may be a stranger's.
//
// A library compiles every schema, and checks those that use a rare keyword. The common keywords are
// checked here, over a value's msgpack as it is, in counted steps and without allocating while the
// value is right.
package schema
