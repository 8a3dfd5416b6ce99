package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Source gives the value of a secret. Its errors must have nothing of the value in them.
type Source func(ctx context.Context) (string, error)

// CommandTimeout is how long the command of a source may take.
const CommandTimeout = 10 * time.Second

// commandWait is how long a command's pipes may stay open after it ended or was killed.
const commandWait = time.Second

// ParseSource reads where a secret comes from: env:NAME, a variable of this process; file:PATH, all
// of a regular file; or cmd:PROGRAM ARGUMENTS, what a program prints. The program runs without a
// shell, with this process's environment and no input; arguments are what spaces separate. Paths
// are absolute. One newline at the end is dropped.
func ParseSource(text string) (Source, error) {
	kind, rest, _ := strings.Cut(text, ":")
	if rest == "" || strings.ContainsRune(rest, 0) {
		return nil, errors.New("a secret comes from env:NAME, file:PATH or cmd:PROGRAM ARGUMENTS")
	}
	switch kind {
	case "env":
		return func(context.Context) (string, error) { return fromEnvironment(rest) }, nil
	case "file":
		if !filepath.IsAbs(rest) {
			return nil, fmt.Errorf("the file %q is not an absolute path", rest)
		}
		return func(context.Context) (string, error) { return fromFile(rest) }, nil
	case "cmd":
		args := strings.Fields(rest)
		if strings.ContainsAny(rest, "'\"`$|<>&;\\*?~") {
			return nil, errors.New("a command runs without a shell: quotes, variables, pipes and " +
				"patterns belong into a script")
		}
		if len(args) == 0 || !filepath.IsAbs(args[0]) {
			return nil, errors.New("a command begins with the absolute path of its program")
		}
		return func(ctx context.Context) (string, error) { return fromCommand(ctx, args) }, nil
	}
	return nil, fmt.Errorf("%q is no source of a secret: it is env, file or cmd", kind)
}

func fromEnvironment(name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("the environment has no variable %s", name)
	}
	return trimNewline(value), nil
}

func fromFile(path string) (string, error) {
	// A pipe would block when it is opened.
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	// What is too long is read far enough to be seen as such.
	b, err := io.ReadAll(io.LimitReader(f, MaxSecret+3))
	return trimNewline(string(b)), err
}

func fromCommand(ctx context.Context, args []string) (string, error) {
	limit := &timeError{CommandTimeout, "the limit for commands that give secrets"}
	ctx, cancel := context.WithTimeoutCause(ctx, CommandTimeout, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	out := &boundedBuffer{max: MaxSecret + 3}
	cmd.Stdout, cmd.WaitDelay = out, commandWait
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		// What it wrote may be the secret: only how it ended is told.
		return "", fmt.Errorf("%s: %w", args[0], err)
	}
	return trimNewline(out.kept.String()), nil
}

// boundedBuffer keeps the first max bytes and takes the rest for nothing.
type boundedBuffer struct {
	kept bytes.Buffer // not embedded: its ReadFrom would have no bound
	max  int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), b.max-b.kept.Len())])
	return len(p), nil
}

func trimNewline(s string) string {
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}
