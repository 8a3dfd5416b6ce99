package sdk_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
)

// BenchmarkEvents is a run of a thousand pieces of text, heard by one listener.
func BenchmarkEvents(b *testing.B) {
	for _, lockstep := range []bool{false, true} {
		b.Run(fmt.Sprintf("lockstep=%v", lockstep), func(b *testing.B) {
			turn := looptest.Say("ok")
			turn.Deltas = slices.Repeat([]message.Delta{{Text: "x"}}, 1000)
			model := looptest.NewModel()
			a := started(b, &agentloop.Loop{Model: model}, &sdk.Options{Lockstep: lockstep})
			last := int64(0)
			for b.Loop() {
				model.Add(turn)
				if err := a.Input(b.Context(), user("go")); err != nil {
					b.Fatal(err)
				}
				for ev := range a.Events(b.Context(), last) {
					if last = ev.Seq; ev.Kind == message.Ended {
						break
					}
				}
			}
		})
	}
}
