// Package interchange carries conversations from and to the session files of other agents: Claude
// Code and Codex.
//
// [Read] turns such a file into messages, and [Write] turns messages into such a file. Both are
// pure: nothing is opened, and nothing is run.
//
// # Reading
//
// A reader is lenient. What it does not know, be it a field, a line or a kind of line, it keeps:
// each message carries the lines that it was read from in its Meta, under the name of the format,
// and lines that belong to no message go with the one before them. Meta is stored with a session
// and never sent to a provider. [Imported].Notes says what is kept and not part of the
// conversation: branches that were left, subagents, what a compaction has replaced.
//
// What cannot be said is an [*Error] that names the line: a message whose shape is not known, a
// line that is too long, a circle where a tree should be. Results are put in the order of their
// calls, and a call without one gets the result [message.Unknown]. So what Read gives always
// passes [message.Check].
//
// # Writing
//
// Messages that are as they were read are written as the very lines that they were read from, byte
// for byte. Others, such as those of a session that began here or was gone on with, are written in
// the format's own words; what it has no words for stands beside them in the field "wasmagent",
// which other programs ignore. Everything that is written is read again and held against the
// messages before Write returns, so a file that would not give them back is an error.
//
// The same conversation always gives the same bytes: IDs are made of the session's, and times are
// those of the messages.
package interchange
