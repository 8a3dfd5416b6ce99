//go:build !unix

package mount

const nonblock = 0
