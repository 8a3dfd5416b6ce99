package sdk

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// Native is the format of our own session files.
const Native = "wasmagent"

// Exporter writes a conversation in a format. While a run is at work, the last calls may have no
// results yet.
type Exporter func(w io.Writer, id string, messages []message.Message) error

// Export implements Agent.
func (l *Local) Export(w io.Writer, format string) error {
	l.mu.Lock()
	err := l.started()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	write := l.opts.Exporters[format]
	if format == "" || format == Native {
		write = exportNative
	}
	if write == nil {
		known := append(slices.Sorted(maps.Keys(l.opts.Exporters)), Native)
		return refuse(agentloop.SdkUnsupportedAction, "nobody writes the format %q; known are %s",
			format, strings.Join(known, ", "))
	}
	if err := write(w, l.id, l.opened.Loop.History()); err != nil {
		return named(err)
	}
	return nil
}

func exportNative(w io.Writer, id string, messages []message.Message) error {
	return session.Write(w, id, time.Now(), messages)
}
