package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// forgetTyped takes back what was typed before a question was shown: it is no answer to it.
func forgetTyped(in io.Reader) {
	if f, ok := in.(*os.File); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // no terminal: nothing to take
	}
}
