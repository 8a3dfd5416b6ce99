package agentloop_test

import (
	"context"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// endless is a model that always calls a tool.
type endless struct {
	reply message.Message
	usage message.Usage
}

func (m *endless) Turn(context.Context, message.Request) (message.Message, error) {
	m.reply.Calls = []message.Call{{ID: "a", Name: "echo", Arguments: `{"text":"hello"}`}}
	m.reply.Usage = &m.usage
	return m.reply, nil
}

// BenchmarkRoundTrip is what one round trip costs beside the model: a request, a call of a tool and
// all events, in a conversation of up to 50 turns.
func BenchmarkRoundTrip(b *testing.B) {
	native := reads("echo", nil)
	for name, tools := range map[string]agentloop.Tools{
		"native": registry(b, fixed{native.Is}),
		"wasm":   sandbox(b, host.Limits{}, hosttest.Plugin{Name: "echo"}),
	} {
		for guard, limit := range map[string]int{"": 0, "/guarded": 1 << 30} {
			b.Run(name+guard, func(b *testing.B) {
				b.ReportAllocs()
				for left := b.N; left > 0; left -= agentloop.DefaultMaxTurns {
					loop := &agentloop.Loop{Model: &endless{}, Tools: tools, ContextLimit: limit,
						MaxTurns: min(left, agentloop.DefaultMaxTurns)}
					for range loop.Run(b.Context(), user("go")) {
					}
				}
			})
		}
	}
}
