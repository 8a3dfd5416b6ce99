// Package rewrite reads and rewrites WebAssembly modules before an engine sees them.
package rewrite
