// Command bench measures the price of a sandboxed call beside the ways that others go, for the same
// guests and payloads in one run, and says which of the project's performance gates are held.
// README.md says how to run and how to read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/loader/extism/sdkchild"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errOut io.Writer) int {
	if isChild() {
		serveGRPC()
		return 0
	}
	if slices.Equal(args, []string{sdkVerb}) {
		return sdkchild.Serve(os.Stdin, out, errOut)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parseOptions(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if err := bench(ctx, o, out); err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return 1
	}
	return 0
}

// options are the command's flags.
type options struct {
	rounds int
	quick  bool
	only   string
}

func parseOptions(args []string, errOut io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errOut)
	f.IntVar(&o.rounds, "rounds", 0, "interleaved rounds, of which the median counts "+
		"(default 21, or 3 with -quick)")
	f.BoolVar(&o.quick, "quick", false, "small samples: shows that it works, proves nothing")
	f.StringVar(&o.only, "only", "", "comma-separated parts to run: "+strings.Join(partNames(), ", "))
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, name := range o.parts() {
		if !slices.Contains(partNames(), name) {
			err := fmt.Errorf("-only: there is no part %q; there are %s", name,
				strings.Join(partNames(), ", "))
			fmt.Fprintln(errOut, "bench:", err)
			return o, err
		}
	}
	if o.rounds <= 0 {
		o.rounds = pick(o.quick, 3, 21)
	}
	return o, nil
}

// parts are those that were asked for.
func (o options) parts() []string {
	if o.only == "" {
		return partNames()
	}
	return strings.Split(o.only, ",")
}

// slice is how long one contender is measured at a time.
func (o options) slice() time.Duration {
	return pick(o.quick, 2*time.Millisecond, 20*time.Millisecond)
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// parts of the benchmark, in order. Each prints what it measured and gives the gates it judged.
var parts = []struct {
	name string
	run  func(context.Context, options, io.Writer) ([]gate, error)
}{
	{"calls", benchCalls},
	{"allocs", benchAllocs},
	{"metering", benchMetering},
	{"start", benchStart},
	{"memory", benchMemory},
	{"parallel", benchParallel},
	{"stall", benchStall},
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

func bench(ctx context.Context, o options, out io.Writer) error {
	fmt.Fprintf(out, "%s %s/%s, GOMAXPROCS %d, %d rounds%s, %s\n\n", runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.GOMAXPROCS(0), o.rounds, pick(o.quick, " (quick)", ""),
		time.Now().Format("2006-01-02 15:04"))
	var gates []gate
	for _, p := range parts {
		if !slices.Contains(o.parts(), p.name) {
			continue
		}
		judged, err := p.run(ctx, o, out)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		gates = append(gates, judged...)
	}
	printGates(out, gates)
	return nil
}
