package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
)

// How old a reflection may be, in messages that came after what it had read: one
// that is older than fresh is marked, and one that is older than stale is dropped.
const (
	fresh = 2
	stale = 10
)

// A note is a reflection that was not used yet.
type note struct {
	Seq    ponder.Seq `json:"seq"`
	ReadTo ponder.Seq `json:"read_to,omitempty"`
	Text   string     `json:"text"`
	Older  bool       `json:"older,omitempty"`
}

// asking is what is known of reflections that were asked for.
type asking struct {
	Asked ponder.Seq  `json:"asked,omitempty"` // the newest request
	Done  ponder.Seq  `json:"done,omitempty"`  // what the newest result had read, or where it failed
	Turns int         `json:"turns,omitempty"` // since the newest request
	Times []time.Time `json:"times,omitempty"` // of requests in the last hour
}

// asked takes in a request.
func (a *asking) asked(ev ponder.Event) {
	a.Asked, a.Turns = ev.Seq, 0
	a.Times = append(slices.Clip(a.within(ev.Time)), ev.Time)
}

// within returns the times of requests in the hour before now.
func (a *asking) within(now time.Time) []time.Time {
	i := 0
	for i < len(a.Times) && now.Sub(a.Times[i]) >= time.Hour {
		i++
	}
	return a.Times[i:]
}

// inFlight reports whether a reflection is being made.
func (a *asking) inFlight() bool { return a.Asked > a.Done }

// noted takes in a reflection.
func (s *state) noted(ev ponder.Event, b ponder.InnerMonologue) {
	if b.Tool == deepTool {
		s.Deep.Done = max(s.Deep.Done, b.ReadTo)
		if b.ReadTo == 0 { // of a thread from elsewhere
			s.Deep.Done = ev.Seq
		}
	}
	s.Notes = slices.DeleteFunc(slices.Clone(s.Notes), func(n note) bool { return slices.Contains(b.Condenses, n.Seq) })
	if strings.TrimSpace(b.Content) != "" {
		s.Notes = append(s.Notes, note{Seq: ev.Seq, ReadTo: b.ReadTo, Text: b.Content, Older: b.Older})
	}
	if len(b.Condenses) > 0 {
		s.Condensed.Notes = part{}
	}
}

// without returns the notes that came at or after a place.
func without(notes []note, before ponder.Seq) []note {
	return slices.DeleteFunc(slices.Clone(notes), func(n note) bool { return n.Seq < before })
}

// age returns how many messages came after what a note had read, until the
// message that begins a turn.
func (s *state) age(n note, t Turn) int {
	age := 0
	for _, list := range [][]Turn{s.Turns, s.Waiting} {
		for _, o := range list {
			if o.Said.Seq > n.ReadTo && o.Said.Seq < t.Said.Seq {
				age++
			}
		}
	}
	if n.ReadTo == 0 {
		return 0
	}
	return age
}

// inner returns the reflections that a turn is shown, as one text, and how many
// are too old for it.
func (s *state) inner(t Turn) (text string, dropped int) {
	var b strings.Builder
	for _, n := range s.Notes {
		if n.Seq >= s.begins(t) {
			continue
		}
		age := s.age(n, t)
		if age > stale {
			dropped++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(innerMark + "\n")
		switch {
		case age > fresh:
			fmt.Fprintf(&b, "(from before the last %d messages)\n", age)
		case n.Older:
			b.WriteString("(from before the last messages)\n")
		}
		b.WriteString(n.Text)
	}
	return b.String(), dropped
}
