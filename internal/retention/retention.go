// Package retention erases the recorded thoughts of models in conversations after a configured
// time.
//
// It erases ([ponder.Log.Erase]) the thoughts, the model outputs that contain them, and the later
// requests that repeat them. The user's answers are separate events and stay, as do positions,
// times and costs. Unfinished turns stay, because they may still use their thoughts.
//
// [Rule] and [Scan] decide; [Apply] and [Sweep] erase. Sweep stores a checkpoint "retention" for
// each conversation as JSON: next, the time of the next check, and thoughts, whether there are
// any.
package retention

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
)

// A Rule sets how long to keep thoughts. The zero value keeps them.
type Rule struct {
	Days    int  // age at which thoughts are erased; 0: never
	Discard bool // erase at the end of the turn
}

// MaxDays is the largest value of Days.
const MaxDays = 36_500

// Parse parses "keep", "30d" or "discard". An empty text means "keep".
func Parse(text string) (Rule, error) {
	switch text {
	case "", "keep":
		return Rule{}, nil
	case "discard":
		return Rule{Discard: true}, nil
	}
	num, ok := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(num)
	if !ok || err != nil || n < 1 || n > MaxDays {
		return Rule{}, fmt.Errorf("%.20q is invalid; use keep, discard, or days such as 30d", text)
	}
	return Rule{Days: n}, nil
}

// String returns the form that Parse accepts.
func (r Rule) String() string {
	switch {
	case r.Discard:
		return "discard"
	case r.Days > 0:
		return strconv.Itoa(r.Days) + "d"
	}
	return "keep"
}

// KeepsAll reports whether the rule erases nothing.
func (r Rule) KeepsAll() bool { return r == Rule{} }

// maxAge returns the age at which thoughts are due.
func (r Rule) maxAge() time.Duration {
	if r.Discard {
		return 0
	}
	return time.Duration(r.Days) * 24 * time.Hour
}

// Names in the log that retention reads, see package mode/chat.
const (
	mode     = "chat"
	tool     = "think" // also the kind of its thoughts
	endStage = "turn"  // progress stage at the end of a turn
)

// A Scan collects the relevant events of a thread. The zero value is empty.
type Scan struct {
	thoughts bool // an earlier part has thoughts
	items    []item
	ended    map[ponder.RunID]ponder.Seq // end of the last turn by run
}

// An item is an event that may contain thoughts.
type item struct {
	seq     ponder.Seq
	time    time.Time
	run     ponder.RunID
	request bool // a call intent, whose request may contain thoughts
	erased  bool
}

// Add adds an event. Events must be in order.
func (s *Scan) Add(ev ponder.Event) {
	it := item{seq: ev.Seq, time: ev.Time, run: ev.Run, erased: ev.Erased}
	switch b := ev.Body.(type) {
	case ponder.Thought:
		if b.Kind != tool {
			return
		}
	case ponder.CallFinished:
		if !hasThought(b) {
			return
		}
	case ponder.CallStarted:
		if b.Mode != mode {
			return
		}
		it.request = true
	case ponder.Progress:
		if b.Stage == endStage {
			s.noteTurnEnd(ev)
		}
		return
	case ponder.RunFinished:
		s.noteTurnEnd(ev)
		return
	default:
		return
	}
	s.items = append(s.items, it)
}

// noteTurnEnd records the end of a turn.
func (s *Scan) noteTurnEnd(ev ponder.Event) {
	if s.ended == nil {
		s.ended = make(map[ponder.RunID]ponder.Seq)
	}
	s.ended[ev.Run] = ev.Seq
}

// hasThought reports whether a model output contains a thought.
func hasThought(b ponder.CallFinished) bool {
	return slices.ContainsFunc(b.Message.Parts, func(p llm.Part) bool { return p.Call != nil && p.Call.Name == tool })
}

// isSettled reports whether the turn of an item has ended. Items without a run, as in imported
// threads, belong to no open turn.
func (s *Scan) isSettled(it item) bool { return it.run == "" || it.seq <= s.ended[it.run] }

// Due returns the positions of the events to erase now, in order.
func (s *Scan) Due(r Rule, now time.Time) (due []ponder.Seq) {
	if r.KeepsAll() {
		return nil
	}
	old := func(it item) bool { return now.Sub(it.time) >= r.maxAge() }
	thought, begin := s.thoughts, ponder.Seq(0) // position of the first due thought
	for _, it := range s.items {
		switch {
		case !it.request:
			thought = true
			if it.erased || !old(it) || !s.isSettled(it) {
				continue
			}
			begin = cmp.Or(begin, it.seq)
		case it.erased || !s.isSettled(it):
			continue
		case begin == 0 && (r.Discard || !thought || !old(it)):
			continue // it repeats no thought, or none that is due
		}
		due = append(due, it.seq)
	}
	return due
}

// Next returns the next time at which something may be due: zero for never, now if that depends on
// an open turn.
func (s *Scan) Next(r Rule, now time.Time) (next time.Time) {
	thought := s.thoughts
	for _, it := range s.items {
		thought = thought || !it.request
		switch {
		case r.KeepsAll() || it.erased || !thought:
		case r.Discard:
			if !it.request && !s.isSettled(it) {
				return now
			}
		default:
			at := it.time.Add(r.maxAge())
			if at.Before(now) {
				at = now // its turn is open
			}
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// hasThoughts reports whether there are or were thoughts.
func (s *Scan) hasThoughts() bool {
	return s.thoughts || slices.ContainsFunc(s.items, func(it item) bool { return !it.request })
}
