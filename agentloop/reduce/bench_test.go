package reduce_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

// manyTurns is a conversation of 300 turns with results of 20 KB.
func manyTurns() []message.Message {
	list := one(said(message.User, "go"))
	for i := range 300 {
		text := strings.Repeat(fmt.Sprintf("line %d ", i), 3000)[:20_000]
		list = append(list, asked("a", "f", "{}", text)...)
	}
	return list
}

// BenchmarkProject is what each request costs when all but the last results have been reduced
// before.
func BenchmarkProject(b *testing.B) {
	list := manyTurns()
	for name, turns := range map[string]int{"results": 0, "turns": 10} {
		b.Run(name, func(b *testing.B) {
			_, log := reduce.Project(list, reduce.Policy{Turns: turns}, nil)
			b.ReportAllocs()
			for b.Loop() {
				reduce.Project(list, reduce.Policy{}, log)
			}
		})
	}
}

// BenchmarkFit is what it costs to tighten the view of such a conversation.
func BenchmarkFit(b *testing.B) {
	list := manyTurns()
	size := func(view []message.Message) (n int) {
		for _, m := range view {
			n += len(m.Text)
			if m.Result != nil {
				n += len(m.Result.Text)
			}
		}
		return n
	}
	for b.Loop() {
		_, _, ok := reduce.Fit(list, reduce.Policy{}, nil, func(view []message.Message) reduce.Room {
			if size(view) > 50_000 {
				return reduce.TooLong
			}
			return reduce.Roomy
		})
		if !ok {
			b.Fatal("it does not fit")
		}
	}
}
