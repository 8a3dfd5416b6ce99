package build

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// maxOutput is how many bytes of the go command's output an error keeps.
const maxOutput = 16 << 10

// killDelay is how long the go command may take to end its own children once it is interrupted.
const killDelay = 2 * time.Second

// find finds the go command.
func (c *compiler) find() error {
	if c.tool == "" {
		c.tool = "go"
	}
	path, err := exec.LookPath(c.tool)
	if errors.Is(err, exec.ErrNotFound) {
		return ErrNoGo
	}
	c.tool = path
	return err
}

// run runs the go command for wasip1 in dir and gives what it wrote to stdout. A workspace around
// dir and flags meant for other builds are left out: they would make another plugin of the same
// source. Import paths that -v prints go to seen.
func (c *compiler) run(ctx context.Context, dir string, args []string, seen func(string)) (
	string, error) {
	cmd := exec.CommandContext(ctx, c.tool, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOWASM=")
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = killDelay
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", err
	}
	said := readVerbose(stderr, seen)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", &CompileError{Dir: dir, Output: said}
	}
	return strings.Join(strings.Fields(stdout.String()), ""), nil
}

// interrupt asks p to end, where the system can ask.
func interrupt(p *os.Process) error {
	if err := p.Signal(os.Interrupt); err == nil {
		return nil
	}
	return p.Kill()
}

// readVerbose reads what go build -v writes: import paths, which go to seen, and what the command
// has to say, of which the last maxOutput bytes are kept.
func readVerbose(r io.Reader, seen func(string)) string {
	var said []byte
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		switch path := strings.TrimSpace(line); {
		case path == "":
		case strings.ContainsAny(path, " :#"):
			said = append(said, line...)
			said = said[max(0, len(said)-maxOutput):]
		case seen != nil:
			seen(path)
		}
		if err != nil {
			return string(bytes.TrimSpace(said))
		}
	}
}

// Toolchain names the go command's version in dir and the flags that plugins are compiled with. Two
// compiles of one source by one tool chain give the same bytes.
func Toolchain(ctx context.Context, dir string, opts *Options) (string, error) {
	c := &compiler{}
	if opts != nil {
		c.tool = opts.Go
	}
	if err := c.find(); err != nil {
		return "", err
	}
	version, err := c.run(ctx, dir, []string{"env", "GOVERSION"}, nil)
	return version + " " + strings.Join(flags, " "), err
}
