package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSlots pins the cap on each side, that it is a table's own, and that an end frees a slot.
func TestSlots(t *testing.T) {
	one, other := New(nil), New(&Options{MaxConcurrent: 1})
	defer one.Close()
	defer other.Close()
	var ids []string
	for range DefaultMaxConcurrent {
		if err := one.Full(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, start(t, one, waits))
	}
	_, err := one.Start(t.Context(), "f", waits)
	if full, ok := errors.AsType[*ConcurrencyError](err); !ok || full.MaxConcurrent != 4 {
		t.Errorf("the fifth: %v", err)
	}
	if full := one.Full(); full == nil || full.Error() != err.Error() {
		t.Errorf("of a full table: %v", full)
	}
	start(t, other, waits)
	_, err = other.Start(t.Context(), "f", waits)
	if err == nil || err.Error() != "1 background job runs already, which is as many as may" {
		t.Errorf("the second of the other table: %v", err)
	}
	if _, err := one.Kill(t.Context(), ids[2]); err != nil {
		t.Fatal(err)
	}
	start(t, one, waits)
	var have []string
	for _, s := range one.List() {
		have = append(have, s.ID)
	}
	if want := []string{ids[0], ids[1], ids[3]}; !slices.Equal(have[:3], want) || len(have) != 4 {
		t.Errorf("listed %v, want %v and another", have, want)
	}
}

// TestNotBegun pins what becomes of work that is refused, of work that ends well without having
// begun, and of a start whose caller leaves.
func TestNotBegun(t *testing.T) {
	table := New(&Options{MaxConcurrent: 1})
	defer table.Close()
	refused := errors.New("refused")
	_, err := table.Start(t.Context(), "f", func(context.Context, *Job) End { return End{Err: refused} })
	if err != refused || len(table.List()) != 0 || len(table.Changes()) != 0 {
		t.Errorf("refused: %v, %v", err, table.List())
	}
	s, err := table.Start(t.Context(), "f", func(context.Context, *Job) End {
		return End{Code: new(0), Result: json.RawMessage("7")}
	})
	if err != nil {
		t.Fatal(err)
	}
	if end := last(t, table, s.ID); string(end.Result) != "7" {
		t.Errorf("recorded: %+v", end)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	_, err = table.Start(ctx, "f", func(ctx context.Context, _ *Job) End {
		cancel(left)
		<-ctx.Done()
		return End{Err: context.Cause(ctx)}
	})
	if err != left || len(table.List()) != 0 {
		t.Errorf("its caller left: %v, %v", err, table.List())
	}
	start(t, table, says("", End{Code: new(0)})) // the slot is free
}

// TestJobOutlivesItsCaller pins that a job goes on when the context of its start is over, and has
// the values of it.
func TestJobOutlivesItsCaller(t *testing.T) {
	type key struct{}
	table := New(nil)
	defer table.Close()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	release := make(chan struct{})
	s, err := table.Start(ctx, "f", func(ctx context.Context, j *Job) End {
		j.Began()
		<-release
		if ctx.Err() != nil {
			return End{Err: ctx.Err()}
		}
		return End{Result: json.RawMessage(`"` + ctx.Value(key{}).(string) + `"`)}
	})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	close(release)
	if s = last(t, table, s.ID); string(s.Result) != `"value"` {
		t.Errorf("%+v", s)
	}
}

// TestClose pins that all jobs are killed and joined, and that no more can be started.
func TestClose(t *testing.T) {
	table := New(nil)
	for range 3 {
		start(t, table, waits)
	}
	table.Close()
	table.Close()
	list := table.List()
	for _, s := range list {
		if s.State != Killed {
			t.Errorf("%+v", s)
		}
	}
	if _, err := table.Start(t.Context(), "f", waits); err == nil || len(list) != 3 {
		t.Errorf("another one: %v, of %d", err, len(list))
	}
}

func TestChanges(t *testing.T) {
	table := New(nil)
	defer table.Close()
	first := start(t, table, waits)
	second := start(t, table, says("", End{Code: new(0)}))
	last(t, table, second)
	if _, err := table.Kill(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, c := range table.Changes() {
		have = append(have, fmt.Sprint(c.ID, c.State, codeText(c.Code)))
	}
	want := []string{first + "runningnone", second + "runningnone", second + "exited0",
		first + "killednone"}
	if !slices.Equal(have, want) || table.Changes() != nil {
		t.Errorf("have %q, want %q", have, want)
	}
}

// TestLimits pins how many ended jobs, and how many changes, are kept.
func TestLimits(t *testing.T) {
	table := New(nil)
	defer table.Close()
	var ids []string
	for len(ids) < maxChanges/2+1 {
		id := start(t, table, says("", End{Code: new(0)}))
		ids = append(ids, id)
		ends(table)
		if n := len(table.List()); n != min(len(ids), MaxEnded) {
			t.Fatalf("%d jobs are kept of %d", n, len(ids))
		}
	}
	kept := ids[len(ids)-MaxEnded:]
	isGone(t, table, ids[len(ids)-MaxEnded-1])
	last(t, table, kept[0])
	changes := table.Changes()
	if len(changes) != maxChanges || changes[0].ID != ids[1] {
		t.Errorf("%d changes, from %s", len(changes), changes[0].ID)
	}
}

func TestIDs(t *testing.T) {
	now := time.UnixMilli(0x19ad5b67c1e)
	seen := map[string]bool{}
	for range 1000 {
		id := idOf(now, sequence.Add(1))
		if seen[id] || !strings.HasPrefix(id, "bg-19ad5b67c1e-") {
			t.Fatalf("%s", id)
		}
		seen[id] = true
	}
}

// TestFatalEnds pins that an end which somebody must be told of makes no room for one that nobody
// must; and that there is an edge to those, too.
func TestFatalEnds(t *testing.T) {
	table := New(nil)
	defer table.Close()
	bad := End{Err: errGone, Fatal: true}
	end := func(e End) string {
		id := start(t, table, func(_ context.Context, j *Job) End {
			j.Began()
			return e
		})
		ends(table)
		return id
	}
	first := end(bad)
	plain := end(End{Code: new(0)})
	for range MaxEnded - 1 {
		end(bad)
	}
	isGone(t, table, plain)
	late := end(bad)
	isGone(t, table, late)
	if s := last(t, table, first); !s.Fatal {
		t.Errorf("%+v", s)
	}
}
