package mcpserver

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// refusals logs what strangers do wrong, so that they cannot fill the log: of each reason a few
// lines, and then how many more there were.
type refusals struct {
	log  *slog.Logger
	life context.Context // nothing is logged after it

	mu  sync.Mutex
	all map[string]int // lines of the period that runs, by reason
}

func newRefusals(life context.Context, log *slog.Logger) *refusals {
	return &refusals{log: log, life: life, all: map[string]int{}}
}

// warn logs a line, unless there were enough of this reason, which is one of a few.
func (r *refusals) warn(reason string, args ...any) {
	if r.take(reason) {
		r.log.Warn(reason, args...)
	}
}

// take counts a line and reports whether it is to be logged.
func (r *refusals) take(reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[reason]++
	if r.all[reason] == 1 {
		time.AfterFunc(RefusalPeriod, func() { r.sum(reason) })
	}
	return r.all[reason] <= RefusalLines
}

// sum ends a period with the number of its lines that were not logged.
func (r *refusals) sum(reason string) {
	r.mu.Lock()
	more := r.all[reason] - RefusalLines
	delete(r.all, reason)
	r.mu.Unlock()
	if more > 0 && r.life.Err() == nil {
		r.log.Warn(reason+": more of them", "count", more, "in", RefusalPeriod)
	}
}

// maxLibraryLine is how many bytes are logged of what a library says. It is enough for a stack.
const maxLibraryLine = 8 << 10

// library is the logger of the libraries that speak the protocols. What they say from a warning up
// is passed on: below, they tell of each request, and above, a client may be who makes them say it.
func (r *refusals) library() *slog.Logger {
	return slog.New(libraryLog{r.log.Handler(), r})
}

type libraryLog struct {
	slog.Handler
	refusals *refusals
}

func (l libraryLog) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && l.Handler.Enabled(ctx, level)
}

func (l libraryLog) Handle(ctx context.Context, line slog.Record) error {
	if !l.refusals.take("a protocol's library warns") {
		return nil
	}
	line.Level = min(line.Level, slog.LevelWarn) // a client made it say so
	line.Message = line.Message[:min(len(line.Message), maxLibraryLine)]
	return l.Handler.Handle(ctx, line)
}

func (l libraryLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return libraryLog{l.Handler.WithAttrs(attrs), l.refusals}
}

func (l libraryLog) WithGroup(name string) slog.Handler {
	return libraryLog{l.Handler.WithGroup(name), l.refusals}
}

// logged is a stranger's text as it is logged: cut, and quoted if a terminal or a reader of the log
// could take it for something else.
func logged(text string) string {
	text = text[:min(len(text), MaxLogged)]
	if abi.CleanText(text, MaxLogged) != text {
		return strconv.QuoteToASCII(text)
	}
	return text
}
