package loader

import (
	"bytes"

	"github.com/wasmagent/wasmagent/abi"
)

// maxPrinted is the longest line of a guest's stdout or stderr that is logged, in bytes. A longer
// one is logged in pieces.
const maxPrinted = 4 << 10

// printed cuts what a guest prints during a call into lines for the log.
type printed struct {
	log   func(stream, line string)
	parts [2][]byte // the lines that have no end yet, of stdout and stderr
}

var streams = [2]string{"stdout", "stderr"}

// write takes bytes as they come.
func (p *printed) write(stderr bool, b []byte) {
	which := 0
	if stderr {
		which = 1
	}
	part := append(p.parts[which], b...)
	for {
		n := bytes.IndexByte(part, '\n')
		switch {
		case n >= 0 && n <= maxPrinted:
			p.line(which, part[:n])
			part = part[n+1:]
		case len(part) > maxPrinted:
			p.line(which, part[:maxPrinted])
			part = part[maxPrinted:]
		default:
			p.parts[which] = part
			return
		}
	}
}

// end logs what no line break ended.
func (p *printed) end() {
	for which, part := range p.parts {
		p.line(which, part)
	}
}

func (p *printed) line(which int, b []byte) {
	if text := abi.CleanText(string(b), maxPrinted); text != "" {
		p.log(streams[which], text)
	}
}
