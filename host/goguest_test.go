package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// goGuest is the Go plugin in testdata, ready to be called.
func goGuest(t testing.TB, p host.Policy) *host.Module {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and compiles a Go plugin")
	}
	wasm := hosttest.GoPlugin(t, "testdata/goguest")
	return hosttest.Compile(t, hosttest.CachedEngine(t), wasm, p)
}

// callGo calls a tool of the Go guest with a text.
func callGo(ctx context.Context, m *host.Module, tool, text string) (string, error) {
	input := abi.AppendString(abi.AppendString(abi.AppendMapHeader(nil, 1), "text"), text)
	b, _, err := m.Call(ctx, abi.Request{Tool: tool, Attempt: 1, Input: input}, nil, nil)
	if err != nil {
		return "", err
	}
	reply, err := abi.ParseReply(b)
	if err != nil || reply.Outcome != abi.OutcomeOK {
		return "", fmt.Errorf("reply %+v, %w", reply, err)
	}
	r := abi.NewReader(reply.Value)
	if _, err := r.Map(); err != nil {
		return "", err
	}
	if _, err := r.Str(); err != nil {
		return "", err
	}
	return r.Str()
}

func TestGoGuest(t *testing.T) {
	m := goGuest(t, host.Policy{Limits: host.Limits{Memory: 32 << 20}})
	if got, err := callGo(t.Context(), m, "upper", "hello"); err != nil || got != "HELLO" {
		t.Errorf("%q, %v", got, err)
	}
	world, err := callGo(t.Context(), m, "world", "")
	year := fmt.Sprintf("year %d, random ", time.Now().Year())
	if err != nil || !strings.HasPrefix(world, year) || !strings.HasSuffix(world,
		`, environment [], arguments ["plugin"], read true, list true`) {
		t.Errorf("%q, %v", world, err)
	}
	if again, _ := callGo(t.Context(), m, "world", ""); again == world {
		t.Error("two instances have the same random bytes")
	}

	_, err = callGo(t.Context(), m, "panic", "out of tea")
	if !strings.Contains(fmt.Sprint(err), "panic: out of tea") {
		t.Errorf("panic: %v", err)
	}
	_, err = callGo(t.Context(), m, "exit", "")
	if exit, ok := errors.AsType[*host.ExitError](err); !ok || exit.Code != 3 {
		t.Errorf("exit: %v", err)
	}
	_, err = callGo(t.Context(), m, "hoard", "")
	if limit, ok := errors.AsType[*host.LimitError](err); !ok || limit.Limit != "memory" ||
		!strings.Contains(limit.Stderr, "fatal error: out of memory") {
		t.Errorf("hoard: %v", err)
	}
	if got, err := callGo(t.Context(), m, "echo", "still here"); err != nil || got != "still here" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestGoGuestSleeps(t *testing.T) {
	m := goGuest(t, host.Policy{Limits: host.Limits{Time: 500 * time.Millisecond}})
	_, err := callGo(t.Context(), m, "sleep", "")
	if limit, ok := errors.AsType[*host.LimitError](err); !ok || limit.Limit != "time" {
		t.Errorf("%v", err)
	}
}
