// Package session keeps conversations in files, so that a run can be resumed, forked, looked at and
// put away.
//
// A [Dir] is a folder. In it the session NAME is the file NAME.jsonl: a header line, then one
// [message.Message] a line. Lines are only ever added, whole, with one write for each
// [Session.Append]; that file is the truth. Beside it lie NAME.meta.json (what can change and can
// be made anew: title, model, archived, counts), NAME.lock, and NAME.torn if a line ever had to be
// cut off.
//
// A session that is being written is locked: a second [Dir.Resume], of this process or another, is
// a [*BusyError]. Reading ([Dir.Read], [Dir.List], [Dir.Fork]) needs no lock.
//
// What a crash can leave behind is put right as far as that loses nothing. A last line that was not
// written whole is left out with a warning, and kept in NAME.torn when the session is written
// again. A call without a result has the result [message.Unknown] in the view, which is stored with
// the next Append. So the messages of a session that can be read always pass [message.Check]. All
// else that is wrong with a file is an [*InvalidError] that names the line.
//
// Fields that this version does not know are ignored, and kept where lines are copied by a fork.
package session
