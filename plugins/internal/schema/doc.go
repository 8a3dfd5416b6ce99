// Package schema holds values against JSON Schemas that may be a stranger's.
//
// [Compile] says what older drafts and OpenAPI say in today's words, where nothing is lost by that;
// normal*.go do it. A library compiles every schema, and checks those that use a rare keyword. The
// common keywords are checked here, over a value's msgpack as it is, in counted steps and without
// allocating while the value is right.
//
// [Schema.Check] is for a tool's result, and [Schema.Fit] for a call's arguments: it goes on when
// they are a slip away from right, or odd, and what it does then is in fit*.go. It reads the text
// of the arguments, since 1.10 is no longer 1.10 once it is packed.
package schema
