package storetest

import (
	"errors"
	"testing"
	"time"

	"ponder"

	"github.com/google/go-cmp/cmp"
)

// thr is the thread that most checks use.
const thr = ponder.ThreadID("thr_01AAAAAAAAAAAAAAAAAAAAAAAA")

const (
	root  = ponder.RunID("run_01AAAAAAAAAAAAAAAAAAAAAAAA")
	child = root + "/child"
)

// day is a time that can be stored exactly.
var day = time.Date(2026, 5, 17, 12, 30, 45, 123456000, time.UTC)

// create makes a thread.
func create(t *testing.T, s ponder.Store, id ponder.ThreadID, events ...ponder.Event) {
	t.Helper()
	header := ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: "local", Created: day}
	if err := s.Create(t.Context(), header, events...); err != nil {
		t.Fatal(err)
	}
}

// say is an input.
func say(text string) ponder.Event { return ponder.Event{Body: ponder.UserMessage{Content: text}} }

// sayOnce is an input with a key.
func sayOnce(key, text string) ponder.Event {
	return ponder.Event{Cause: key, Body: ponder.UserMessage{Content: text}}
}

// of is an event of a run.
func of(run ponder.RunID, cause string, body ponder.Body) ponder.Event {
	return ponder.Event{Run: run, Cause: cause, Body: body}
}

// add appends events and returns them.
func add(t *testing.T, s ponder.Store, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) []ponder.Event {
	t.Helper()
	added, err := s.Append(t.Context(), id, fence, events...)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// refuse appends events and checks that they are refused and the log stays as it is.
func refuse(t *testing.T, s ponder.Store, id ponder.ThreadID, fence ponder.Fence, want error, events ...ponder.Event) {
	t.Helper()
	before := read(t, s, id, 0)
	if added, err := s.Append(t.Context(), id, fence, events...); !errors.Is(err, want) || added != nil {
		t.Errorf("append: got %d events and error %v, want %v", len(added), err, want)
	}
	if diff := cmp.Diff(before, read(t, s, id, 0)); diff != "" {
		t.Errorf("a refused append changed the log (-before +after):\n%s", diff)
	}
}

// read returns the events of a thread after one.
func read(t *testing.T, s ponder.Store, id ponder.ThreadID, after ponder.Seq) []ponder.Event {
	t.Helper()
	var events []ponder.Event
	for ev, err := range s.Events(t.Context(), id, after) {
		if err != nil {
			t.Fatalf("read %s after %d: %v", id, after, err)
		}
		events = append(events, ev)
	}
	return events
}

// texts returns what is said on a thread after an event.
func texts(t *testing.T, s ponder.Store, id ponder.ThreadID, after ponder.Seq) []string {
	t.Helper()
	var texts []string
	for _, ev := range read(t, s, id, after) {
		msg, ok := ev.Body.(ponder.UserMessage)
		if !ok {
			t.Fatalf("event %d of %s is a %s", ev.Seq, id, ev.Body.Type())
		}
		texts = append(texts, msg.Content)
	}
	return texts
}

// same checks that two values are equal.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fails checks that err is want.
func fails(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// must fails the test if there is an error.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// join adds a node.
func join(t *testing.T, s ponder.Store, id ponder.NodeID) ponder.NodeID {
	t.Helper()
	if err := s.Join(t.Context(), ponder.Node{ID: id, Host: "host", Boot: "boot", PID: 42, Start: "noon"}); err != nil {
		t.Fatal(err)
	}
	return id
}

// take leases a thread.
func take(t *testing.T, s ponder.Store, id ponder.ThreadID, node ponder.NodeID) ponder.Lease {
	t.Helper()
	return must(s.Take(t.Context(), id, node))(t)
}

// hold leases a thread to a node of its own.
func hold(t *testing.T, s ponder.Store, id ponder.ThreadID) ponder.Fence {
	t.Helper()
	return take(t, s, id, join(t, s, ponder.NodeID("nod_of_"+id))).Fence
}

// seqs are the numbers from one to another.
func seqs(first, last ponder.Seq) []ponder.Seq {
	var all []ponder.Seq
	for seq := first; seq <= last; seq++ {
		all = append(all, seq)
	}
	return all
}

// seqsOf returns the numbers of events.
func seqsOf(events []ponder.Event) []ponder.Seq {
	var all []ponder.Seq
	for _, ev := range events {
		all = append(all, ev.Seq)
	}
	return all
}
