// Package retention says for how long thoughts are kept that models put down in
// conversations, and has them erased when that is over.
//
// What is erased ([ponder.Log.Erase]) of a conversation are the thoughts themselves;
// the answers of models that put them down, with whatever else these say, for what
// was said to the user stands in events of its own; and the requests after a
// thought, which show it to the model again. Places, times and costs stay. A turn
// that has not ended is left alone, for it may go on from what it thought.
//
// [Rule] and [Scan] decide, and do nothing else; [Apply] and [Sweep] do it. Sweep
// keeps a checkpoint of the fold "retention" for each conversation, as JSON: next,
// when it is to be looked at again, and thoughts, whether it has any.
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

// A Rule says for how long thoughts are kept. The zero value keeps them.
type Rule struct {
	Days    int  // they are erased when they are that old; 0: never
	Discard bool // they are erased at the end of their turn
}

// MaxDays is the longest time that is not for ever.
const MaxDays = 36_500

// Parse reads "keep", "30d" or "discard". Nothing is "keep".
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
		return Rule{}, fmt.Errorf("%.20q is none of keep, discard, and a number of days such as 30d", text)
	}
	return Rule{Days: n}, nil
}

// String returns what Parse reads.
func (r Rule) String() string {
	switch {
	case r.Discard:
		return "discard"
	case r.Days > 0:
		return strconv.Itoa(r.Days) + "d"
	}
	return "keep"
}

// Keeps reports whether nothing is ever erased.
func (r Rule) Keeps() bool { return r == Rule{} }

// age returns how old thoughts get.
func (r Rule) age() time.Duration {
	if r.Discard {
		return 0
	}
	return time.Duration(r.Days) * 24 * time.Hour
}

// What conversations write, and retention reads: see package mode/chat.
const (
	mode     = "chat"
	tool     = "think" // and the kind of its thoughts
	endStage = "turn"  // of the progress that ends a turn
)

// A Scan is what must be known of a thread. Its zero value has seen nothing.
type Scan struct {
	thoughts bool // there were some before what it was given
	items    []item
	ended    map[ponder.RunID]ponder.Seq // where the last turn of a run ended
}

// An item is an event that has thoughts in it, or may have.
type item struct {
	seq     ponder.Seq
	time    time.Time
	run     ponder.RunID
	request bool // the intent of a call: what has thoughts is its request
	erased  bool
}

// Add takes in an event of the thread. Events come in order.
func (s *Scan) Add(ev ponder.Event) {
	it := item{seq: ev.Seq, time: ev.Time, run: ev.Run, erased: ev.Erased}
	switch b := ev.Body.(type) {
	case ponder.Thought:
		if b.Kind != tool {
			return
		}
	case ponder.CallFinished:
		if !calls(b) {
			return
		}
	case ponder.CallStarted:
		if b.Mode != mode {
			return
		}
		it.request = true
	case ponder.Progress:
		if b.Stage == endStage {
			s.end(ev)
		}
		return
	case ponder.RunFinished:
		s.end(ev)
		return
	default:
		return
	}
	s.items = append(s.items, it)
}

// end notes that what a run did so far is over.
func (s *Scan) end(ev ponder.Event) {
	if s.ended == nil {
		s.ended = make(map[ponder.RunID]ponder.Seq)
	}
	s.ended[ev.Run] = ev.Seq
}

// calls reports whether a model put down a thought in an answer.
func calls(b ponder.CallFinished) bool {
	return slices.ContainsFunc(b.Message.Parts, func(p llm.Part) bool { return p.Call != nil && p.Call.Name == tool })
}

// settled reports whether the turn of an item is over. What is of no run, as in a
// thread from elsewhere, is of none that goes on.
func (s *Scan) settled(it item) bool { return it.run == "" || it.seq <= s.ended[it.run] }

// Due returns the places of the events that are to be erased at a time, in order.
func (s *Scan) Due(r Rule, now time.Time) (due []ponder.Seq) {
	if r.Keeps() {
		return nil
	}
	old := func(it item) bool { return now.Sub(it.time) >= r.age() }
	thought, begin := s.thoughts, ponder.Seq(0) // begin: of the thoughts that are due
	for _, it := range s.items {
		switch {
		case !it.request:
			thought = true
			if it.erased || !old(it) || !s.settled(it) {
				continue
			}
			begin = cmp.Or(begin, it.seq)
		case it.erased || !s.settled(it):
			continue
		case begin == 0 && (r.Discard || !thought || !old(it)):
			continue // it has no thought, or none that is due
		}
		due = append(due, it.seq)
	}
	return due
}

// Next returns when something may be due that is not yet; the zero time if never,
// and now if that depends on how a turn goes on.
func (s *Scan) Next(r Rule, now time.Time) (next time.Time) {
	thought := s.thoughts
	for _, it := range s.items {
		thought = thought || !it.request
		switch {
		case r.Keeps() || it.erased || !thought:
		case r.Discard:
			if !it.request && !s.settled(it) {
				return now
			}
		default:
			at := it.time.Add(r.age())
			if at.Before(now) {
				at = now // its turn goes on
			}
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// any reports whether there are thoughts, or were.
func (s *Scan) any() bool {
	return s.thoughts || slices.ContainsFunc(s.items, func(it item) bool { return !it.request })
}
