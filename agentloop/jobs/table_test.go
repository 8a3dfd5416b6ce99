package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type work = func(context.Context, *Job) End

// says is work that says something and ends so.
func says(text string, end End) work {
	return func(_ context.Context, j *Job) End {
		j.Began()
		_, _ = j.Write([]byte(text))
		return end
	}
}

// waits is work that goes on until it is killed.
func waits(ctx context.Context, j *Job) End {
	j.Began()
	<-ctx.Done()
	return End{Err: context.Cause(ctx)}
}

func start(t *testing.T, table *Table, w work) string {
	t.Helper()
	s, err := table.Start(t.Context(), "f", w)
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// last waits for the end of a job.
func last(t *testing.T, table *Table, id string) Status {
	t.Helper()
	s, err := table.Status(t.Context(), id, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ends waits until the last job has ended, without a look at it.
func ends(table *Table) {
	for {
		list := table.List()
		if list[len(list)-1].State != Running {
			return
		}
		runtime.Gosched()
	}
}

func isGone(t *testing.T, table *Table, id string) {
	t.Helper()
	for name, ask := range map[string]func() (Status, error){
		"status": func() (Status, error) { return table.Status(t.Context(), id, time.Hour) },
		"kill":   func() (Status, error) { return table.Kill(t.Context(), id) },
	} {
		_, err := ask()
		if gone, ok := errors.AsType[*NotFoundError](err); !ok || gone.ID != id {
			t.Errorf("%s of %s: %v", name, id, err)
		}
	}
}

// TestEnds pins what is told of each way to end, once.
func TestEnds(t *testing.T) {
	bad := errors.New("bad")
	for _, tt := range []struct {
		name  string
		end   End
		state State
		code  string
	}{
		{"well", End{Code: new(0), Result: json.RawMessage("1")}, Exited, "0"},
		{"with a code", End{Code: new(3), Err: bad}, Exited, "3"},
		{"without a code", End{Err: bad}, Exited, "none"},
	} {
		table := New(nil)
		id := start(t, table, says("hello", tt.end))
		s := last(t, table, id)
		if s.State != tt.state || codeText(s.Code) != tt.code || s.Err != tt.end.Err ||
			string(s.Result) != string(tt.end.Result) || s.Output != "hello" || s.ID != id {
			t.Errorf("%s: %+v", tt.name, s)
		}
		isGone(t, table, id)
		table.Close()
	}
}

func codeText(code *int) string {
	if code == nil {
		return "none"
	}
	return fmt.Sprint(*code)
}

func TestKill(t *testing.T) {
	table := New(nil)
	defer table.Close()
	running := start(t, table, waits)
	if s, err := table.Kill(t.Context(), running); err != nil || s.State != Killed || s.Code != nil {
		t.Errorf("of one that runs: %+v, %v", s, err)
	}
	isGone(t, table, running)

	ended := start(t, table, says("", End{Code: new(0)}))
	ends(table)
	if s, err := table.Kill(t.Context(), ended); err != nil || s.State != Exited || *s.Code != 0 {
		t.Errorf("of one that has ended: %+v, %v", s, err)
	}
	isGone(t, table, ended)
	isGone(t, table, "bg-0-0")

	// What gives its result all the same has exited, and what fails otherwise was killed.
	for state, end := range map[State]End{Exited: {Code: new(0)},
		Killed: {Code: new(1), Err: errors.New("signal")}} {
		id := start(t, table, func(ctx context.Context, j *Job) End {
			j.Began()
			<-ctx.Done()
			return end
		})
		if s, err := table.Kill(t.Context(), id); err != nil || s.State != state {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// TestKillAgainstEnd lets jobs be killed just as they end: each has one end, which is told once.
func TestKillAgainstEnd(t *testing.T) {
	table := New(&Options{MaxConcurrent: 1})
	defer table.Close()
	for range 200 {
		release := make(chan struct{})
		id := start(t, table, func(ctx context.Context, j *Job) End {
			j.Began()
			select {
			case <-release:
				return End{Code: new(0)}
			case <-ctx.Done():
				return End{Err: context.Cause(ctx)}
			}
		})
		var told [3]error
		var states [3]State
		var both sync.WaitGroup
		for i := range told {
			both.Go(func() {
				var s Status
				switch i {
				case 0:
					close(release)
					s, told[i] = table.Status(t.Context(), id, time.Hour)
				default:
					s, told[i] = table.Kill(t.Context(), id)
				}
				states[i] = s.State
			})
		}
		both.Wait()
		once := 0
		for i, err := range told {
			if err == nil {
				once++
			}
			if err == nil && states[i] == Running || err != nil && states[i] != "" {
				t.Errorf("%d: %s, %v", i, states[i], err)
			}
		}
		if once != 1 {
			t.Fatalf("the end was told %d times", once)
		}
	}
}

// TestStatus pins that each look gives what is new, also when that is nothing.
func TestStatus(t *testing.T) {
	table := New(&Options{MaxOutput: 8})
	defer table.Close()
	steps, said := make(chan string), make(chan struct{})
	id := start(t, table, func(_ context.Context, j *Job) End {
		j.Began()
		for text := range steps {
			_, _ = j.Write([]byte(text))
			said <- struct{}{}
		}
		return End{Code: new(0)}
	})
	for _, tt := range []struct {
		say, want string
		truncated bool
	}{{"", "", false}, {"ab\xc3", "ab", false}, {"", "", false}, {"\xa9", "é", false}, {"", "", false},
		{"0123456789", "0123", true}, {"x", "", true}} {
		if tt.say != "" {
			steps <- tt.say
			<-said
			if list := table.List(); list[0].Unseen != len(tt.want) {
				t.Errorf("%d bytes are waiting, want %d", list[0].Unseen, len(tt.want))
			}
		}
		s, err := table.Status(t.Context(), id, 0)
		if err != nil || s.State != Running || s.Output != tt.want || s.Truncated != tt.truncated {
			t.Errorf("after %q: %+v, %v", tt.say, s, err)
		}
	}
	close(steps)
	if s := last(t, table, id); s.State != Exited || s.Output != "" || !s.Truncated {
		t.Errorf("the end: %+v", s)
	}
}

// TestStatusWaits pins how long a status waits: until the end, its time, or its caller's.
func TestStatusWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(nil)
		defer table.Close()
		began := time.Now()
		long := start(t, table, waits)
		if s, err := table.Status(t.Context(), long, 3*time.Second); err != nil || s.State != Running ||
			time.Since(began) != 3*time.Second {
			t.Errorf("%+v, %v, after %v", s, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := table.Status(ctx, long, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its caller left: %v", err)
		}
		if s, err := table.Status(t.Context(), long, 0); err != nil || s.State != Running {
			t.Errorf("and it is still there: %+v, %v", s, err)
		}
	})
}

// TestGoexit pins that work which ends its goroutine frees its slot and is told of.
func TestGoexit(t *testing.T) {
	table := New(&Options{MaxConcurrent: 1})
	defer table.Close()
	id := start(t, table, func(_ context.Context, j *Job) End {
		j.Began()
		runtime.Goexit()
		return End{}
	})
	if s := last(t, table, id); s.State != Exited || s.Err != errGone {
		t.Errorf("%+v", s)
	}
	start(t, table, waits)
}
