package mcp

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/wasmagent/wasmagent/abi"
)

// link is a way to a server: the transport, and over stdio the process at its other end.
type link struct {
	transport sdk.Transport
	proc      *process // nil over HTTP
}

// process is a server's command while it runs. It has the rights of whoever runs this program.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *tail
	done   chan struct{} // closed when it has ended and all of stderr is read
	state  error         // how it ended; read it after done

	mu    sync.Mutex
	ended bool // and its number may be another's by now
}

// startProcess starts a command with nothing but the given environment.
func startProcess(source *Source, env []string) (p *process, err error) {
	var opened []*os.File
	defer func() {
		if err != nil {
			for _, f := range opened {
				f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				opened = append(opened, r, w)
			}
		}
		return r, w
	}
	childIn, stdin := pipe()
	stdout, childOut := pipe()
	stderr, childErr := pipe()
	if err != nil {
		return nil, err
	}
	server := &source.server
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Env = append([]string{}, env...) // not nil, which would be this program's own
	cmd.Dir = server.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, childErr
	ownGroup(cmd)
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	for _, f := range []*os.File{childIn, childOut, childErr} {
		f.Close()
	}
	p = &process{cmd: cmd, stdin: stdin, stdout: stdout, done: make(chan struct{}),
		stderr: &tail{source: source, lines: newLineLimit()}}
	go p.watch(stderr)
	return p, nil
}

// watch waits for the command's end. What it has started itself ends with it; what has left its
// group and still holds its pipes is not waited for.
func (p *process) watch(stderr *os.File) {
	var read sync.WaitGroup
	read.Go(func() { p.stderr.read(stderr) })
	p.state = p.reap()
	time.AfterFunc(stuckGrace, func() { p.stdout.Close() })
	late := time.AfterFunc(stuckGrace, func() { stderr.Close() })
	read.Wait()
	late.Stop()
	stderr.Close()
	close(p.done)
}

// link is the transport over the command's pipes.
func (p *process) link(s *sieve) *link {
	return &link{proc: p, transport: &lines{sieve: s, in: p.stdout, out: patient{p.stdin}}}
}

// stop ends the command as the protocol wants it: by the end of its stdin, then by a signal, then
// for good. It may be called by many.
func (p *process) stop(grace time.Duration) {
	p.stdin.Close()
	if p.endsWithin(grace) {
		return
	}
	p.signal(terminateGroup)
	if !p.endsWithin(grace) {
		p.kill()
		<-p.done
	}
}

// kill ends the command and all that it started.
func (p *process) kill() { p.signal(killGroup) }

func (p *process) signal(send func(*os.Process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		send(p.cmd.Process)
	}
}

func (p *process) endsWithin(d time.Duration) bool { return closesWithin(p.done, d) }

// patient is a command's stdin. A command that does not read for WriteTimeout is taken for stuck,
// and its connection ends.
type patient struct{ *os.File }

func (w patient) Write(b []byte) (int, error) {
	_ = w.SetWriteDeadline(time.Now().Add(WriteTimeout)) // where pipes have none, Close is left
	return w.File.Write(b)
}

// tail logs what a command prints to stderr and keeps its end.
type tail struct {
	source *Source
	lines  *lineLimit

	mu   sync.Mutex
	kept []byte
}

// read reads on when a line is dropped: a command whose stderr is full would stand still.
func (t *tail) read(from io.Reader) {
	in := bufio.NewReaderSize(from, 4<<10)
	for {
		l, err := readLine(in, 2*MaxLineChars)
		shown := t.source.shown
		if l.long {
			shown = t.source.shownHead
		}
		if text := shown(string(l.text), MaxLineChars); text != "" {
			t.keep(text)
			t.lines.write(func(dropped int64) {
				logLine(t.source.log, slog.LevelInfo, text, "stderr", dropped)
			})
		}
		if err != nil {
			return
		}
	}
}

func logLine(log *slog.Logger, level slog.Level, text, stream string, dropped int64) {
	attrs := []any{"stream", stream}
	if dropped > 0 {
		attrs = append(attrs, "dropped", dropped)
	}
	log.Log(context.Background(), level, text, attrs...)
}

func (t *tail) keep(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(append(t.kept, ' '), text...)
	t.kept = t.kept[max(0, len(t.kept)-MaxTail):]
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return abi.CleanText(string(t.kept), MaxTail)
}

// lineLimit lets LinesPerSecond lines through and counts the others.
type lineLimit struct {
	limit   *rate.Limiter
	dropped atomic.Int64
}

func newLineLimit() *lineLimit {
	return &lineLimit{limit: rate.NewLimiter(LinesPerSecond, LinesPerSecond)}
}

// write calls f, if one more line may be written, with the number of those that were not.
func (l *lineLimit) write(f func(dropped int64)) {
	if !l.limit.Allow() {
		l.dropped.Add(1)
		return
	}
	f(l.dropped.Swap(0))
}
