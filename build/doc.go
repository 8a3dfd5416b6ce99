// Package build makes plugins ready to be used.
//
// [Compile] compiles a Go package for wasip1 with the flags that a plugin needs; [CompileAll] does
// it for several at once and shares what they have in common. [Stamp] describes a finished module
// in the sandbox and writes what it said into its custom section wasmagent.manifest, which no Go
// tool chain can do: a stamped plugin is listed and reviewed without running a byte of it.
package build
