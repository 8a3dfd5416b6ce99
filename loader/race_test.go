//go:build race

package loader_test

// The race detector makes sync.Pool forget things on purpose.
const raceEnabled = true
