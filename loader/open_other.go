//go:build !unix

package loader

const openNonblock = 0
