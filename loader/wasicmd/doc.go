// Package wasicmd makes tools of WASI commands: programs that were compiled for WebAssembly and
// know nothing of plugins, such as interpreters and converters.
//
// A command is a module that exports _start. Each call is one run of it, from its first
// instruction, in a fresh memory, under the limits and grants of the plugin's policy. The name of
// the program, argument 0, is the plugin's.
//
// # What goes in
//
// Without a word of the operator's a command is one tool of the file's name, and takes
//
//	{"args": ["-n", "3"], "stdin": "what it reads"}
//
// where stdin may be any JSON: a text is read as it is, anything else as JSON. The policy may
// declare tools instead, each with its own schema and its own arguments: see loader.Function. In
// those {NAME} stands for a property of the input, {{ and }} for braces. A property never becomes
// more than the argument that it stands in, since no shell reads them. An argument with a property
// that the input lacks, or that is null, is left out.
//
// # What comes out
//
// Standard output is the result: JSON as it is, any other text as a string. Where the command
// exits with another code than 0 it has failed, and says why on standard error, the end of which
// is in the error. That is the guest's own report, of the code exit_N, and permanent: a code does
// not say that another time may go better.
package wasicmd
