package mcp

import (
	"time"

	"golang.org/x/time/rate"
)

// news is what the log is told of a server's tools: each thing about a tool once, however often the
// server changes its list, and only so many in a while, whatever it thinks of. The source's lock is
// held.
type news struct {
	told  map[fact]bool
	limit *lineLimit
}

// fact is one thing about one tool.
type fact struct{ tool, what string }

func newNews() *news {
	limit := rate.NewLimiter(rate.Every(time.Minute/NewsPerMinute), newsBurst)
	return &news{told: map[fact]bool{}, limit: &lineLimit{limit: limit}}
}

// once calls log when this has not been said, with the number of things that the log was spared.
func (n *news) once(tool, what string, log func(dropped int64)) {
	f := fact{tool, what}
	if n.told[f] {
		return
	}
	if len(n.told) >= maxTold {
		clear(n.told) // the limit is left
	}
	n.told[f] = true
	n.limit.write(log)
}

// forget has something said again when it is so again.
func (n *news) forget(tool, what string) { delete(n.told, fact{tool, what}) }
