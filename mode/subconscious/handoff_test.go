package subconscious

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder"
)

var innerNow = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

func newHandoffState() State {
	s := NewState()
	s.Internal.Decayed = innerNow
	s.Internal.Metadata = map[string]EntryMetadata{}
	add := func(list *[]Entry, id string, strength int, summary string, a EntryMetadata) {
		*list = append(*list, Entry{ID: id, Summary: summary, Strength: strength, Created: innerNow.Add(-time.Hour), LastSeen: innerNow.Add(-4 * time.Minute)})
		s.Internal.Metadata[id] = a
	}
	add(&s.ActiveThreads, "anna", 8, "Anna waits for the quarterly report, which is late", EntryMetadata{})
	add(&s.ActiveThreads, "disk", 7, "The disk of the backup server is nearly full", EntryMetadata{})
	add(&s.ActiveThreads, "weak", 2, "Anna asked for a new keyboard", EntryMetadata{})
	add(&s.ActiveThreads, "dentist", 1, "The appointment at the dentist must be confirmed", EntryMetadata{Due: innerNow.Add(20 * time.Hour)})
	add(&s.ActiveThreads, "over", 9, "The flight LH456 to Oslo leaves", EntryMetadata{Due: innerNow.Add(-48 * time.Hour)})
	add(&s.Patterns, "acme", 5, "Invoices of ACME are overdue each month", EntryMetadata{Untrusted: true})
	add(&s.Patterns, "monday", 6, "Builds fail on Monday mornings", EntryMetadata{})
	add(&s.Hunches, "echo", 6, "The user thinks about moving to Lisbon", EntryMetadata{Signature: []string{"own thread:thr_A said"}})
	add(&s.Insights, "report", 5, "Die Berichte für Herrn Müller gehen an die Zentrale", EntryMetadata{})
	return s
}

func TestInner(t *testing.T) {
	for said, want := range map[string]string{
		"What did Anna want of me?":                              "anna",
		"what did anna want, was it the report?":                 "anna",
		"Is there anything about quarterly reporting?":           "anna",
		"When do I have to be at the dentist's appointment?":     "dentist",
		"Is the backup running, or are the disks full?":          "disk",
		"Did we pay ACME?":                                       "acme",
		"Why do builds fail so often?":                           "monday",
		"What shall I do on Monday?":                             "",
		"Flight LH456?":                                          "",
		"Was wollte Herr Müller mit den Berichten?":              "report",
		"Should I move to Lisbon?":                               "echo",
		"What is the capital of Norway?":                         "",
		"":                                                       "",
		"Please write a poem about the sea.":                     "",
		strings.Repeat("filler words here ", 400) + " Anna ACME": "",
	} {
		got := entryIDs(newHandoffState().RelevantEntries(said, "thr_B", innerNow, 5))
		if got != want {
			t.Errorf("%.60q: %q, want %q", said, got, want)
		}
	}
	if got := entryIDs(newHandoffState().RelevantEntries("Should I move to Lisbon?", "thr_A", innerNow, 5)); got != "" {
		t.Errorf("of the thread itself: %q", got)
	}
	if got := entryIDs(newHandoffState().RelevantEntries("What about ACME, Anna, and the disk of the backup?", "", innerNow, 2)); got != "anna disk" {
		t.Errorf("the most relevant: %q", got)
	}
	if got := entryIDs(newHandoffState().RelevantEntries("What did Anna want of me?", "", innerNow.Add(30*time.Minute), 5)); got != "" {
		t.Errorf("got a faded entry: %q", got)
	}
}

func entryIDs(list []HandoffEntry) string {
	names := make([]string, len(list))
	for i, n := range list {
		names[i] = n.ID
	}
	return strings.Join(names, " ")
}

func TestNotedObservation(t *testing.T) {
	n := HandoffEntry{Entry: Entry{ID: "e1", Summary: "Pay\nACME", Strength: 5, LastSeen: innerNow.Add(-3 * time.Hour)}, Age: 3 * time.Hour, Due: innerNow.Add(50 * time.Hour), Untrusted: true}
	want := ponder.Observation{Sensor: "subconscious", Subject: "e1", State: "strength 5", Content: "Pay ACME (noticed 3 hours ago, due in 2 days)", Due: n.Due, Untrusted: true}
	if got := n.Observation(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
	for d, want := range map[time.Duration]string{0: "just now", time.Minute: "1 minute ago", 119 * time.Minute: "119 minutes ago", 49 * time.Hour: "2 days ago"} {
		if got := formatAge(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
	if a, b := formatDue(-3*time.Hour), formatDue(0); a != "was due 3 hours ago" || b != "due now" {
		t.Errorf("%q, %q", a, b)
	}
}

func FuzzInner(f *testing.F) {
	f.Add("What did Anna want?", "Anna waits")
	f.Add("界\xff ACME", "\x00 ACME 2024")
	f.Fuzz(func(t *testing.T, said, summary string) {
		s := newHandoffState()
		s.Hunches = []Entry{{ID: "x", Summary: summary, Strength: 9, LastSeen: innerNow}}
		for _, n := range s.RelevantEntries(said, "", innerNow, 3) {
			if n.Observation().Content == "" {
				t.Error("nothing is said")
			}
		}
	})
}

func BenchmarkInner(b *testing.B) {
	s := newHandoffState()
	said := strings.Repeat("What did Anna want of me, and is the backup of the disk full? ", 20)
	for b.Loop() {
		s.RelevantEntries(said, "thr_B", innerNow, 5)
	}
}
