package reduce_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

// roomOf is a context for so many bytes, which is roomy up to three quarters.
func roomOf(t *testing.T, bytes int) func([]message.Message) reduce.Room {
	return func(view []message.Message) reduce.Room {
		switch n := len(asJSON(t, view)); {
		case n > bytes:
			return reduce.TooLong
		case n > bytes*3/4:
			return reduce.Fits
		}
		return reduce.Roomy
	}
}

// TestFit pins what is given up first.
func TestFit(t *testing.T) {
	turns := func(n, size int) []message.Message {
		list := one(said(message.User, "go"))
		for i := range n {
			list = append(list, asked("a", "f", "{}", strings.Repeat(string(rune('a'+i)), size))...)
		}
		return list
	}
	for name, tt := range map[string]struct {
		list    []message.Message
		room    int
		ok      bool
		cleared int // messages
		cut     int // results
		last    int // bytes of the last result
	}{
		"it fits":                         {turns(10, 5000), 60_000, true, 0, 0, 5000},
		"results are cut":                 {turns(10, 5000), 40_000, true, 0, 8, 5000},
		"turns are cleared":               {turns(20, 900), 10_000, true, 30, 0, 900},
		"more turns are cleared":          {turns(20, 900), 3500, true, 36, 0, 900},
		"what is last is too long":        {turns(3, 30_000), 20_000, true, 0, 3, 1024},
		"all of what is last, many times": {turns(9, 30_000), 10_000, true, 0, 9, 512},
		"only what the user said last":    {turns(9, 30_000), 300, true, 18, 0, 0},
		"not even that":                   {turns(9, 30_000), 100, false, 0, 7, 30_000},
		"nothing is there":                {nil, 1, false, 0, 0, 0},
		"the user's last words are longer": {one(said(message.User, strings.Repeat("a", 9000))), 8000,
			false, 0, 0, 0},
	} {
		view, log, ok := reduce.Fit(tt.list, reduce.Policy{}, nil, roomOf(t, tt.room))
		cleared, cut, last := 0, 0, 0
		for _, r := range log {
			cleared += r.Pointer.Messages
			if r.Kind == reduce.Output {
				cut++
			}
		}
		if len(view) > 0 && view[len(view)-1].Result != nil {
			text, _, _ := strings.Cut(view[len(view)-1].Result.Text, "\n")
			last = len(text)
		}
		if ok != tt.ok || cleared != tt.cleared || cut != tt.cut || last != tt.last {
			t.Errorf("%s: %v, %d messages cleared, %d results cut, %d bytes of the last", name, ok, cleared,
				cut, last)
		}
	}
}

// TestFitLeavesRoom goes on where a view was tightened: the next turns change nothing of it.
func TestFitLeavesRoom(t *testing.T) {
	list := one(said(message.User, "go"))
	var log reduce.Log
	changes := 0
	for i := range 200 {
		list = append(list, asked("a", "f", "{}", strings.Repeat("x", 700)+strings.Repeat("y", i))...)
		_, next, ok := reduce.Fit(list, reduce.Policy{}, log, roomOf(t, 20_000))
		if !ok {
			t.Fatalf("turn %d does not fit", i+1)
		}
		if !reflect.DeepEqual(log, next) {
			changes++
		}
		log = next
	}
	if changes > 20 {
		t.Errorf("200 turns changed it %d times", changes)
	}
}

// TestFitWithoutRoom takes the loosest view that fits where none is roomy.
func TestFitWithoutRoom(t *testing.T) {
	list := conversation(one(said(message.User, strings.Repeat("a", 16_000))),
		asked("a", "f", "{}", strings.Repeat("b", 6000)), asked("b", "f", "{}", "x"),
		asked("c", "f", "{}", "y"))
	view, log, ok := reduce.Fit(list, reduce.Policy{}, nil, roomOf(t, 20_000))
	if kept, _, _ := strings.Cut(view[2].Result.Text, "\n"); !ok || len(log) != 1 || len(kept) != 512 {
		t.Errorf("%v, %d bytes are kept, %+v", ok, len(kept), log)
	}
}
