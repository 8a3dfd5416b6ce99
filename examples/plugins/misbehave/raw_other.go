//go:build !wasip1

package main

// Off Wasm there is no host to hand a reply to and no trap: the tools that need either do nothing.

func output([]byte) {}

func divide(a, b int64) int64 { return 0 }
