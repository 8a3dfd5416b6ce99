package subagents_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

func notFound(err error) bool {
	_, ok := errors.AsType[*subagents.NotFoundError](err)
	return ok
}

// TestTake pins that a subagent that runs can be looked at again and again, and an end once.
func TestTake(t *testing.T) {
	var table, sibling subagents.Table
	ready := make(chan struct{})
	table.Go("s1", func() {}, func() { <-ready })
	sibling.Go("s2", func() {}, func() {})
	if ids := table.Running(); !slices.Equal(ids, []string{"s1"}) {
		t.Errorf("%q", ids)
	}
	for range 2 {
		if s, err := table.Take("s1"); err != nil || s.State != subagents.Running || s.ID != "s1" {
			t.Errorf("%+v, %v", s, err)
		}
	}
	for _, id := range []string{"", "s0", "s2"} {
		if _, err := table.Take(id); !notFound(err) {
			t.Errorf("%q: %v", id, err)
		}
	}
	end := subagents.Status{ID: "s1", State: subagents.Completed, Output: "42"}
	table.End(end)
	sibling.End(subagents.Status{ID: "s2", State: subagents.Failed, Error: "no"})
	if ids := table.Running(); len(ids) != 0 {
		t.Errorf("%q", ids)
	}
	if s, err := table.Take("s1"); err != nil || s != end {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := table.Take("s1"); !notFound(err) {
		t.Errorf("told twice: %v", err)
	}
	close(ready)
	table.Close()
	sibling.Close()
}

// TestKept pins the edge: so many ends are kept, and with one more the oldest is forgotten.
func TestKept(t *testing.T) {
	var table subagents.Table
	add := func(n int) {
		id := fmt.Sprint("s", n)
		table.Go(id, func() {}, func() {})
		table.End(subagents.Status{ID: id, State: subagents.Completed})
	}
	for n := range subagents.MaxKept {
		add(n)
	}
	if _, err := table.Take("s0"); err != nil {
		t.Error(err)
	}
	add(1000) // which has the room of the one that was taken
	if _, err := table.Take("s1"); err != nil {
		t.Error(err)
	}
	add(1001)
	add(1002)
	if _, err := table.Take("s2"); !notFound(err) {
		t.Errorf("one more than are kept: %v", err)
	}
	if _, err := table.Take("s3"); err != nil {
		t.Error(err)
	}
	table.Close()
}

// TestKeptFatal pins that an end which somebody must be told of makes no room for one that nobody
// must, and that there is an edge to those, too.
func TestKeptFatal(t *testing.T) {
	var table subagents.Table
	add := func(id string, fatal bool) {
		table.Go(id, func() {}, func() {})
		table.End(subagents.Status{ID: id, State: subagents.Failed, Fatal: fatal})
	}
	add("first", true)
	for n := range subagents.MaxKept {
		add(fmt.Sprint("s", n), n > 0)
	}
	if _, err := table.Take("s0"); !notFound(err) {
		t.Errorf("the only one that is not fatal: %v", err)
	}
	add("late", true)
	if _, err := table.Take("late"); !notFound(err) {
		t.Errorf("one more than are kept: %v", err)
	}
	if untold := table.Close(); len(untold) != subagents.MaxKept || untold[0].ID != "first" {
		t.Errorf("%d are untold", len(untold))
	}
}

// TestOpen pins that a subagent which may go on is told of without an end, and has one when it has
// gone on; that it makes room once it is told of; and that Close gives those that nobody heard of.
func TestOpen(t *testing.T) {
	var table subagents.Table
	end := func(id string, s subagents.Status) {
		table.Go(id, func() {}, func() {})
		s.ID = id
		table.End(s)
	}
	open := subagents.Status{State: subagents.Failed, Fatal: true, Open: true}
	end("s1", open)
	end("s2", open)
	for _, told := range []bool{false, true, true} {
		if s, err := table.Take("s1"); err != nil || s.Told != told || !s.Open {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if untold := table.Close(); len(untold) != 1 || untold[0].ID != "s2" {
		t.Errorf("%+v", untold)
	}
	end("s1", open)
	if _, err := table.Take("s1"); err != nil {
		t.Error(err)
	}
	end("s1", subagents.Status{State: subagents.Completed})
	if s, err := table.Take("s1"); err != nil || s.Open || s.Told {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := table.Take("s1"); !notFound(err) {
		t.Errorf("%v", err)
	}
	end("s1", open)
	if _, err := table.Take("s1"); err != nil {
		t.Error(err)
	}
	for n := range subagents.MaxKept {
		end(fmt.Sprint("o", n), open)
	}
	if _, err := table.Take("s1"); !notFound(err) {
		t.Errorf("it has been told: %v", err)
	}
	table.Close()
}

// TestClose pins that it stops what runs and waits for it, that all is forgotten, and that it may
// be called twice.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table subagents.Table
		table.Close()
		stop := make(chan struct{})
		gone := false
		table.Go("s1", func() { close(stop) }, func() {
			<-stop
			table.End(subagents.Status{ID: "s1", State: subagents.Failed})
			synctest.Wait() // until Close does nothing but wait
			gone = true
		})
		untold := table.Close()
		if !gone {
			t.Error("it did not wait")
		}
		if len(untold) != 1 || untold[0].ID != "s1" {
			t.Errorf("%+v", untold)
		}
		if _, err := table.Take("s1"); !notFound(err) {
			t.Errorf("%v", err)
		}
		if untold := table.Close(); len(untold) != 0 {
			t.Errorf("%+v", untold)
		}
	})
}

func piece(n int) message.Event {
	return message.Event{Kind: message.TextDelta, Text: fmt.Sprint(n)}
}

func drain(b *subagents.Inbox) (list []message.Event) {
	for ev, ok := b.Next(); ok; ev, ok = b.Next() {
		list = append(list, ev)
	}
	return list
}

// TestInbox pins the edge: MaxInbox events stay; of more, pieces of text go first, the oldest
// first, and a warning says how many.
func TestInbox(t *testing.T) {
	var b subagents.Inbox
	b.Put(message.Event{Kind: message.ToolStarted})
	for n := range subagents.MaxInbox - 1 {
		b.Put(piece(n))
	}
	list := drain(&b)
	if len(list) != subagents.MaxInbox || list[1].Text != "0" {
		t.Fatalf("%d events, %+v", len(list), list[1])
	}
	b.Put(message.Event{Kind: message.ToolStarted})
	for n := range subagents.MaxInbox + 1 {
		b.Put(piece(n))
	}
	list = drain(&b)
	if len(list) != subagents.MaxInbox+1 || list[1].Kind != message.ToolStarted ||
		list[2].Text != "2" {
		t.Errorf("%d events, %+v", len(list), list[:3])
	}
	const want = "subagents told more than was read: 2 pieces of text and 0 other events are left out"
	if list[0].Kind != message.Warning || list[0].Text != want {
		t.Errorf("%+v", list[0])
	}
	if n := len(drain(&b)); n != 0 {
		t.Errorf("%d events of none", n)
	}
}

// TestInboxWithoutPieces pins that an inbox has an end also when nothing in it is a mere piece.
func TestInboxWithoutPieces(t *testing.T) {
	var b subagents.Inbox
	for n := range subagents.MaxInbox + 3 {
		b.Put(message.Event{Kind: message.ToolStarted, Text: fmt.Sprint(n)})
	}
	list := drain(&b)
	if len(list) != subagents.MaxInbox+1 || list[1].Text != "3" || list[0].Text !=
		"subagents told more than was read: 0 pieces of text and 3 other events are left out" {
		t.Errorf("%d events, %+v", len(list), list[:2])
	}
}

// TestReady pins that whoever waits is woken, by one event and by many.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b subagents.Inbox
		for _, n := range []int{1, 5} {
			go func() {
				for i := range n {
					b.Put(piece(i))
				}
			}()
			<-b.Ready()
			synctest.Wait()
			if have := len(drain(&b)); have != n {
				t.Errorf("%d of %d", have, n)
			}
		}
	})
}
