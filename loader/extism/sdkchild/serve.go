package sdkchild

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"sync"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/internal/bound"
	"github.com/wasmagent/wasmagent/loader/extism/internal/sdkwire"
)

const (
	// memoryFactor is how often a guest's memory may be there: a memory that grows is copied.
	memoryFactor = 3
	// baseMemory is what the process may take for compiling and for itself, in bytes.
	baseMemory = host.MaxCompileMemory
	// maxModules is how much all modules may have together, in bytes.
	maxModules = 256 << 20
	// maxBody is how long an input or an HTTP response may be, in bytes; the host has lower limits.
	maxBody = 1 << 30
)

// Serve does what the process does, until in ends: nothing else, and first of all. It gives the code
// that the process must exit with.
func Serve(in io.Reader, out, complain io.Writer) (exit int) {
	s := &server{out: out, frames: make(chan sdkwire.Frame)}
	if err := s.serve(in); err != nil {
		fmt.Fprintln(complain, err)
		return 1
	}
	return 0
}

// server speaks to the host. Calls come one at a time.
type server struct {
	mu     sync.Mutex // held while writing
	out    io.Writer
	frames chan sdkwire.Frame // from the host, behind the first
}

func (s *server) serve(in io.Reader) error {
	first, err := sdkwire.Receive(in, maxModules)
	if err != nil {
		return err
	}
	var opening sdkwire.Opening
	if err := first.Expect(sdkwire.Open, &opening); err != nil {
		return err
	}
	space := baseMemory + memoryFactor*(opening.Memory+opening.Output)
	if err := bound.Process(bound.Limits{Memory: space}); err != nil {
		return fmt.Errorf("limits of the process: %w", err)
	}
	debug.SetMemoryLimit(space / 2) // collect often before the address space ends
	go s.read(in)
	useRelay(s)
	p, err := open(context.Background(), s, &opening, first.Body)
	var verdict sdkwire.Verdict
	verdict.Set(err)
	if err := s.send(sdkwire.Ready, &verdict, nil); err != nil {
		return err
	}
	for f := range s.frames {
		var calling sdkwire.Calling
		if err := f.Expect(sdkwire.Call, &calling); err != nil {
			return err
		}
		output, verdict := p.call(calling.Export, f.Body)
		if err := s.send(sdkwire.Done, verdict, output); err != nil {
			return err
		}
	}
	return nil
}

// read takes frames from the host. Whatever runs, the process ends with the host.
func (s *server) read(in io.Reader) {
	for {
		f, err := sdkwire.Receive(in, maxBody)
		if err != nil {
			os.Exit(0)
		}
		s.frames <- f
	}
}

func (s *server) send(kind sdkwire.Kind, head any, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(body) > math.MaxInt32 {
		return fmt.Errorf("a body of %d bytes", len(body))
	}
	return sdkwire.Send(s.out, kind, head, body)
}
