package extism

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/loader/extism/internal/sdkwire"
)

// maxComplaint is how much of what a process writes to stderr is kept, in bytes.
const maxComplaint = 4 << 10

// sdkProcess runs the SDK. One goroutine uses it at a time.
type sdkProcess struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	complain *complaint
	most     int64 // bytes of a frame's body
	wait     func() error
	killed   bool // or about to be
}

// startSDK starts a process and opens it with the plugin. ctx is its opening's.
func startSDK(ctx context.Context, p *sdkPool) (_ *sdkProcess, err error) {
	s := &sdkProcess{cmd: exec.Command(p.command[0], p.command[1:]...), complain: &complaint{},
		most: max(p.limits.Output, p.limits.Request)}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = os.TempDir(), []string{}, s.complain
	s.cmd.WaitDelay = waitDelay
	detach(s.cmd)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := startApart(s.cmd); err != nil {
		return nil, fmt.Errorf("command of the engine %s: %w", EngineSDK, err)
	}
	s.wait = sync.OnceValue(s.cmd.Wait)
	defer s.killedBy(ctx)()
	err = sdkwire.Send(s.in, sdkwire.Open, p.opening, p.wasm)
	var verdict sdkwire.Verdict
	if err == nil {
		_, err = s.receive(sdkwire.Ready, &verdict)
	}
	if err == nil {
		if err = verdict.Err(); err != nil {
			err = &host.LoadError{Stage: "compile", Err: errors.New(abi.CleanText(err.Error(), 500))}
		}
	}
	if err != nil {
		s.end()
		return nil, s.broken(err)
	}
	return s, nil
}

// waitDelay is how long the ends of a process's pipes are waited for once it has ended: what it has
// begun itself may hold them.
const waitDelay = 5 * time.Second

// startApart starts a process from a thread that no caller keeps for himself: the system ends the
// process with the thread that has begun it.
func startApart(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() { started <- cmd.Start() }()
	return <-started
}

// killedBy lets ctx end the process, until stop. What came before that counts, but the process is
// not used again.
func (s *sdkProcess) killedBy(ctx context.Context) (stop func()) {
	end := context.AfterFunc(ctx, func() { _ = s.cmd.Process.Kill() })
	return func() { s.killed = s.killed || !end() }
}

// end kills the process, which has nothing to lose.
func (s *sdkProcess) end() {
	_ = s.cmd.Process.Kill() // it may be gone
	_ = s.wait()
}

// broken is an error of a process that has ended, with its last words.
func (s *sdkProcess) broken(err error) error {
	if _, ok := errors.AsType[*host.LoadError](err); ok {
		return err
	}
	detail := fmt.Sprintf("its process in the engine %s ended: %v", EngineSDK, err)
	if first, _, _ := strings.Cut(string(s.complain.b), "\n"); first != "" {
		detail += ": " + abi.CleanText(first, 200)
	}
	return &host.ContractError{Detail: detail}
}

func (s *sdkProcess) receive(kind sdkwire.Kind, head any) (sdkwire.Frame, error) {
	f, err := sdkwire.Receive(s.out, s.most)
	if err == nil {
		err = f.Expect(kind, head)
	}
	return f, err
}

// send gives the process a job. One that cannot take it has not begun it, and is ended.
func (s *sdkProcess) send(ctx context.Context, job *sdkJob) error {
	defer s.killedBy(ctx)()
	err := sdkwire.Send(s.in, sdkwire.Call, sdkwire.Calling{Export: job.export}, job.input)
	if err != nil {
		s.end()
		return s.broken(err)
	}
	return nil
}

// call waits for the job that was sent. With an error, which is the process's, that is ended.
func (s *sdkProcess) call(ctx context.Context, job *sdkJob) (
	output []byte, v sdkwire.Verdict, err error) {
	defer s.killedBy(ctx)()
	defer func() {
		if err != nil {
			s.end()
			err = s.broken(err)
		}
	}()
	for {
		f, err := sdkwire.Receive(s.out, s.most)
		if err != nil {
			return nil, v, err
		}
		switch {
		case f.Kind == sdkwire.Done:
			err := f.Expect(sdkwire.Done, &v)
			return f.Body, v, err
		case job.call == nil:
			return nil, v, fmt.Errorf("a frame of kind %d while loading", f.Kind)
		}
		if err := job.call.serve(ctx, s, &f); err != nil {
			return nil, v, err
		}
	}
}

// sdkCall is what a call of a tool does for its guest.
type sdkCall struct {
	module *sdkModule
	obs    *host.Observer
	stats  *host.CallStats
}

// serve answers what a guest asks while it runs.
func (c *sdkCall) serve(ctx context.Context, s *sdkProcess, f *sdkwire.Frame) error {
	if f.Kind == sdkwire.Log {
		var line sdkwire.Line
		if err := f.Expect(sdkwire.Log, &line); err != nil {
			return err
		}
		c.log(&line)
		return nil
	}
	var req egress.Request
	if err := f.Expect(sdkwire.Fetch, &req); err != nil {
		return err
	}
	req.Body = f.Body
	answer, body := c.fetch(ctx, &req)
	return sdkwire.Send(s.in, sdkwire.Fetched, answer, body)
}

func (c *sdkCall) log(line *sdkwire.Line) {
	switch {
	case !c.module.lines.Allow():
		c.stats.Dropped++
	case c.obs != nil && c.obs.Log != nil:
		c.obs.Log(line.Level, abi.CleanText(c.scrub(line.Text), maxLogLine))
	}
}

// maxLogLine is how long a log line may be, in characters.
const maxLogLine = 4096

// fetch sends a request through the policy's rules.
func (c *sdkCall) fetch(ctx context.Context, req *egress.Request) (*sdkwire.Answer, []byte) {
	resp, err := c.module.policy.Grants.HTTP.Do(ctx, req)
	refusal, known := errors.AsType[*egress.Error](err)
	if !known || refusal.Sent {
		c.stats.Effects.Requests++
	}
	switch {
	case known:
		err = failed("http_request",
			&abi.CallError{Kind: abi.CallErrorKind(refusal.Kind), Message: refusal.Error()})
		failure, _ := errors.AsType[*abi.Failure](err)
		return &sdkwire.Answer{Failure: failure}, nil
	case err != nil:
		return &sdkwire.Answer{Failure: &abi.Failure{
			Message: "http_request: no request can be sent now"}}, nil
	}
	return &sdkwire.Answer{Status: resp.Status, Headers: resp.Headers}, resp.Body
}

// scrub takes secrets out of what the guest says.
func (c *sdkCall) scrub(text string) string {
	if keeper, ok := c.module.policy.Grants.HTTP.(interface{ Scrub(string) string }); ok {
		return keeper.Scrub(text)
	}
	return text
}

// scrubbed does so with the guest's own report.
func (c *sdkCall) scrubbed(err error) error {
	if f, ok := err.(*abi.Failure); ok {
		f.Message = c.scrub(f.Message)
	}
	return err
}

// complaint is the beginning of what a process writes to stderr.
type complaint struct{ b []byte }

func (c *complaint) Write(b []byte) (int, error) {
	c.b = append(c.b, b[:min(len(b), maxComplaint-len(c.b))]...)
	return len(b), nil
}
