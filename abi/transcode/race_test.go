//go:build race

package transcode

// The race detector makes sync.Pool forget things on purpose.
const raceEnabled = true
