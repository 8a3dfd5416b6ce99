// Package loader turns a directory of plugins into verified tools.
//
// A plugin is a file DIR/NAME.wasm or a folder DIR/NAME with a plugin.wasm inside. Its identity is
// that NAME, never a word of its own. Of a [Kind] that is a [Bundler] it can also be a manifest:
// DIR/NAME.KIND.json, which speaks for a NAME.wasm beside it, or DIR/NAME/manifest.json. Its digest
// is then of all that the manifest names. [OpenDir] looks at every one and gives a [Dir]: the good
// plugins with their tools, and the others each with the reason why it offers none. One broken
// plugin never hides another.
//
// # What is read, and when something runs
//
// Listing runs as little as it can. A stamped plugin tells its tools in a custom section, which is
// read and not run; any other is compiled and described once. What was learned is kept in the
// cache directory under the file's identity (device, inode, size, times), so that the next start
// lists a thousand plugins without opening one. The list is sealed with a key from the state
// directory: a list that somebody else wrote counts as none.
//
// A plugin is compiled when one of its tools is first called. The bytes that are compiled are the
// bytes that are hashed; when they are not the bytes that were listed, the call is refused.
//
// What was compiled stays for the next call, up to Options.CodeMemory for all plugins together.
// Then those that idle longest are closed, and come back when they are called: read, hashed and
// held against the list again.
//
// # Changes
//
// [Dir.Watch] follows what happens to the files, and tells it as [Change]: what came, what went, and
// what does not serve, each with its reason. A call finishes on the version that it found, the next
// uses the new one. A version that does not load leaves the one before serving, and so does one
// that the operator has not allowed; [Plugin.Held] tells of both. What serves can be loaded again
// although its file has changed: its bytes are kept in the cache directory, up to 1 GiB for all
// directories together.
//
// The system's hints say when to look, and where there are none, on file systems of other machines
// or past a limit, a look every two seconds does. A [LockFile] counts as it is now. Options.Policies
// are asked about new versions, but what an operator changes takes a new start.
//
// # Authority
//
// Nothing inside a plugin directory is authority. A policy or an approvals file found there is
// reported and ignored. What a plugin may do is what Options.Policies decides, which is asked about
// each; the package policy has one that reads an operator's file. A plugin that needs more than it
// is granted, or that nobody approved of, is refused with a [NotAllowedError] that says what to
// type. It is never run with a part of its grants.
//
// A [LockFile] in the directory pins the plugins that lie there: it can refuse, and never permit.
//
// # Names
//
// Two plugins of one directory that claim the same tool name lose it both: whoever came first
// would otherwise be decided by a file name. In a watched directory one did come first, and keeps
// it. [Plugin.Withheld] names both files. A tool whose schema does not compile is withheld, too,
// and claims no name. That is found out when the plugin is read, and kept with the list.
package loader
