package storetest

import (
	"errors"
	"testing"
	"time"

	"ponder"

	"github.com/google/go-cmp/cmp"
)

const thr = ponder.ThreadID("thr_01AAAAAAAAAAAAAAAAAAAAAAAA")

const (
	root  = ponder.RunID("run_01AAAAAAAAAAAAAAAAAAAAAAAA")
	child = root + "/child"
)

// day is a time in the precision of stores.
var day = time.Date(2026, 5, 17, 12, 30, 45, 123456000, time.UTC)

// createThread creates a thread.
func createThread(t *testing.T, s ponder.Store, id ponder.ThreadID, events ...ponder.Event) {
	t.Helper()
	header := ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: "local", Created: day}
	if err := s.Create(t.Context(), header, events...); err != nil {
		t.Fatal(err)
	}
}

// userMessage returns an input.
func userMessage(text string) ponder.Event {
	return ponder.Event{Body: ponder.UserMessage{Content: text}}
}

// sayOnce returns an input with a key.
func sayOnce(key, text string) ponder.Event {
	return ponder.Event{Cause: key, Body: ponder.UserMessage{Content: text}}
}

// runEvent returns an event of a run.
func runEvent(run ponder.RunID, cause string, body ponder.Body) ponder.Event {
	return ponder.Event{Run: run, Cause: cause, Body: body}
}

// appendEvents appends events and returns them.
func appendEvents(t *testing.T, s ponder.Store, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) []ponder.Event {
	t.Helper()
	added, err := s.Append(t.Context(), id, fence, events...)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// checkRefused checks that an append fails and does not change the log.
func checkRefused(t *testing.T, s ponder.Store, id ponder.ThreadID, fence ponder.Fence, want error, events ...ponder.Event) {
	t.Helper()
	before := readEvents(t, s, id, 0)
	if added, err := s.Append(t.Context(), id, fence, events...); !errors.Is(err, want) || added != nil {
		t.Errorf("append: got %d events and error %v, want %v", len(added), err, want)
	}
	if diff := cmp.Diff(before, readEvents(t, s, id, 0)); diff != "" {
		t.Errorf("a refused append changed the log (-before +after):\n%s", diff)
	}
}

func readEvents(t *testing.T, s ponder.Store, id ponder.ThreadID, after ponder.Seq) []ponder.Event {
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

// texts returns the messages of a thread after an event.
func texts(t *testing.T, s ponder.Store, id ponder.ThreadID, after ponder.Seq) []string {
	t.Helper()
	var texts []string
	for _, ev := range readEvents(t, s, id, after) {
		msg, ok := ev.Body.(ponder.UserMessage)
		if !ok {
			t.Fatalf("event %d of %s is a %s", ev.Seq, id, ev.Body.Type())
		}
		texts = append(texts, msg.Content)
	}
	return texts
}

func checkEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// checkError checks that err wraps want.
func checkError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// must returns a function that fails the test if err is not nil, and returns v.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func joinNode(t *testing.T, s ponder.Store, id ponder.NodeID) ponder.NodeID {
	t.Helper()
	if err := s.Join(t.Context(), ponder.Node{ID: id, Host: "host", Boot: "boot", PID: 42, Start: "noon"}); err != nil {
		t.Fatal(err)
	}
	return id
}

func takeLease(t *testing.T, s ponder.Store, id ponder.ThreadID, node ponder.NodeID) ponder.Lease {
	t.Helper()
	return must(s.Take(t.Context(), id, node))(t)
}

// leaseThread leases a thread to a new node.
func leaseThread(t *testing.T, s ponder.Store, id ponder.ThreadID) ponder.Fence {
	t.Helper()
	return takeLease(t, s, id, joinNode(t, s, ponder.NodeID("nod_of_"+id))).Fence
}

// seqs returns the seqs from first to last.
func seqs(first, last ponder.Seq) []ponder.Seq {
	var all []ponder.Seq
	for seq := first; seq <= last; seq++ {
		all = append(all, seq)
	}
	return all
}

func seqsOf(events []ponder.Event) []ponder.Seq {
	var all []ponder.Seq
	for _, ev := range events {
		all = append(all, ev.Seq)
	}
	return all
}
