package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole command: it carries out args and gives the exit code. Results go to out and
// everything else to err, so that a pipe sees results only. An interrupt cancels what is going on;
// a second one ends the process the hard way.
func run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	a := &app{in: in, out: out, err: err}
	defer a.close()
	root := a.command()
	root.SetArgs(args)
	cmd, e := root.ExecuteContextC(ctx)
	return a.finish(cmd.CommandPath(), e)
}
