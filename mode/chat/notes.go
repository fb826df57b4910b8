package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
)

// Age limits of reflections, in messages since their read position: older than fresh are marked,
// older than stale are dropped.
const (
	fresh = 2
	stale = 10
)

type note struct {
	Seq    ponder.Seq `json:"seq"`
	ReadTo ponder.Seq `json:"read_to,omitempty"`
	Text   string     `json:"text"`
	Older  bool       `json:"older,omitempty"`
}

type asking struct {
	Asked ponder.Seq  `json:"asked,omitempty"`
	Done  ponder.Seq  `json:"done,omitempty"` // read position of the newest result, or place of a failure
	Turns int         `json:"turns,omitempty"`
	Times []time.Time `json:"times,omitempty"`
}

func (a *asking) asked(ev ponder.Event) {
	a.Asked, a.Turns = ev.Seq, 0
	a.Times = append(slices.Clip(a.within(ev.Time)), ev.Time)
}

func (a *asking) within(now time.Time) []time.Time {
	i := 0
	for i < len(a.Times) && now.Sub(a.Times[i]) >= time.Hour {
		i++
	}
	return a.Times[i:]
}

func (a *asking) inFlight() bool { return a.Asked > a.Done }

func (s *state) noted(ev ponder.Event, b ponder.InnerMonologue) {
	if b.Tool == deepTool {
		s.Deep.Done = max(s.Deep.Done, b.ReadTo)
		if b.ReadTo == 0 { // imported
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

func without(notes []note, before ponder.Seq) []note {
	return slices.DeleteFunc(slices.Clone(notes), func(n note) bool { return n.Seq < before })
}

// age counts the messages between a note's read position and turn t.
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

// inner returns the reflections for a turn as one text, and how many are too old.
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
