package host_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// TestMain makes the test program its own compiler command, with smaller limits if arguments say
// so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__compile" {
		os.Exit(host.CompileWithin(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// causeNamer is what every error that a guest can cause is.
type causeNamer interface {
	error
	CauseName() string
}

// plugin makes a plugin named t whose calls do what the body says, and closes it with the test.
func plugin(t testing.TB, e *host.Engine, call hosttest.Body, p host.Policy) *host.Module {
	t.Helper()
	return hosttest.Compile(t, e, hosttest.Plugin{Name: "t", Call: call}.Bytes(), p)
}

// call runs one call with a string as the arguments.
func call(ctx context.Context, m *host.Module, input string, obs *host.Observer) ([]byte, error) {
	reply, _, err := m.Call(ctx, request(input), obs, nil)
	return reply, err
}

func request(input string) abi.Request {
	return abi.Request{Tool: "t", CallID: "1", Attempt: 1, Input: abi.AppendString(nil, input)}
}

// okReply is the reply {ok: s}.
func okReply(s string) string {
	return string(abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK,
		Value: abi.AppendString(nil, s)}))
}
