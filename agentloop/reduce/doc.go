// Package reduce shows a model less of a long conversation than is recorded, in a way that can be
// undone.
//
// The record, a list of messages, is never touched. [Project] makes a view of it: a list that a
// provider takes like any other, in which long or old things have given way to a stub, one line of
// ASCII such as
//
//	[reduced output r0003-5e1f: 19456 of 20480 bytes left out]
//
// and a [Log], in which each stub has a [Record]: its id, its kind, the place of the original in
// the record, and that original's SHA-256. There are four kinds:
//
//	output     the result of a call is longer than Policy.Trigger: its first Policy.Keep bytes stay
//	duplicate  a result is the same as an earlier one
//	input      the arguments of a call are longer than Policy.Trigger: an object has their beginning
//	turns      old messages, as a whole: their calls together with their results
//
// The system prompt and what the user said last always stay, and the last Policy.Protect results
// stay unless nothing else helps.
//
// # The same view again
//
// Project is a plain function of its arguments, and what the log has is kept: the same record and
// log give the same view, byte for byte, and a conversation that grows has its view changed at its
// end only, as caches of prompts like it. [Fit] is for a view that must get smaller: it tries
// tighter and tighter policies until one fits, and leaves some room, so that the next turns change
// nothing again.
//
// # Undoing it
//
// [Invert] gives the record back from a view and its log, [InvertOne] a single original, and
// [Verify] tells of each entry of a log whether it can be undone. Nothing is ever given back in
// part: each original is held against its SHA-256 first, and what is wrong is an [*Error] that
// names the id.
//
// A line that looks like a stub is one only where the log has it. What a tool or a user writes is
// never taken for a stub, whatever it looks like.
package reduce
