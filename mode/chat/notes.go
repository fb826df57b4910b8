package chat

import (
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/mode/internal/hourlimit"
)

// Age limits of reflections, in messages since their read position: older than fresh are marked,
// older than stale are dropped.
const (
	freshAge = 2
	staleAge = 10
)

type note struct {
	Seq    ponder.Seq `json:"seq"`
	ReadTo ponder.Seq `json:"read_to,omitempty"`
	Text   string     `json:"text"`
	Older  bool       `json:"older,omitempty"`
}

type reflectionState struct {
	Asked ponder.Seq      `json:"asked,omitempty"`
	Done  ponder.Seq      `json:"done,omitempty"`  // read position of the newest result, or place of a failure
	Turns int             `json:"turns,omitempty"` // answered since the newest request
	Times hourlimit.Times `json:"times,omitempty"` // of the requests of the last hour
}

// applyRequest applies a request. The mode deep refuses it if there were limit requests in the last hour.
func (a *reflectionState) applyRequest(ev ponder.Event, limit int) {
	if a.Times.Next(ev.Time, 1, limit).IsZero() {
		a.Asked, a.Turns, a.Times = ev.Seq, 0, a.Times.Add(ev.Time)
	}
}

// turnsWithoutReflection returns the number of turns since the newest request for a reflection, with the
// current turn. A request after the end of the previous turn belongs to the current turn.
func (s *state) turnsWithoutReflection() int {
	if s.Deep.Asked > s.Ended {
		return 0
	}
	return s.Deep.Turns + 1
}

func (a *reflectionState) isInFlight() bool { return a.Asked > a.Done }

func (s *state) applyReflection(ev ponder.Event, b ponder.InnerMonologue) {
	if b.Tool == deepTool {
		s.Deep.Done = max(s.Deep.Done, b.ReadTo)
		if b.ReadTo == 0 { // imported
			s.Deep.Done = ev.Seq
		}
	}
	s.Notes = slices.DeleteFunc(slices.Clone(s.Notes), func(n note) bool { return slices.Contains(b.Condenses, n.Seq) })
	s.Taint = s.Taint.AddEvent(ev)
	if strings.TrimSpace(b.Content) != "" {
		s.Notes = append(s.Notes, note{Seq: ev.Seq, ReadTo: b.ReadTo, Text: b.Content, Older: b.Older})
	}
	if len(b.Condenses) > 0 {
		s.Condensed.Notes = condensedPart{}
	}
}

func dropNotes(notes []note, before ponder.Seq) []note {
	return slices.DeleteFunc(slices.Clone(notes), func(n note) bool { return n.Seq < before })
}

// noteAge counts the messages between a note's read position and turn t.
func (s *state) noteAge(n note, t Turn) int {
	age := 0
	for _, list := range [][]Turn{s.Turns, s.Waiting} {
		for _, o := range list {
			if o.Message.Seq > n.ReadTo && o.Message.Seq < t.Message.Seq {
				age++
			}
		}
	}
	if n.ReadTo == 0 {
		return 0
	}
	return age
}

// reflectionText returns the reflections for a turn as one text, and how many are too old.
func (s *state) reflectionText(t Turn) (text string, dropped int) {
	var b strings.Builder
	for _, n := range s.Notes {
		if n.Seq >= s.turnBegin(t) {
			continue
		}
		age := s.noteAge(n, t)
		if age > staleAge {
			dropped++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(innerMark + "\n")
		switch {
		case age > freshAge:
			fmt.Fprintf(&b, "(from before the last %d messages)\n", age)
		case n.Older:
			b.WriteString("(from before the last messages)\n")
		}
		b.WriteString(n.Text)
	}
	return b.String(), dropped
}
