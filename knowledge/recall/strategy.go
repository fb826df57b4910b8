package recall

import (
	"slices"
	"strings"
	"time"

	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/query"
)

// What a passage gains of those beside it and of its document as a whole, where
// documents are looked for. For conversations see talk.
const (
	beside = 0.2
	whole  = 0.1
)

// talk changes the tactics for conversations, in which one turn asks and another
// answers, and reports whether that is a change.
func (t *tactics) talk() bool {
	if t.whole == index.ConversationWhole {
		return false
	}
	t.neighbours, t.whole = index.ConversationNeighbours, index.ConversationWhole
	t.does("turns beside")
	return true
}

// talksMost reports whether most of the best that was found is what somebody said.
func talksMost(list []*candidate) bool {
	n := 0
	best := list[:min(len(list), compared)]
	for _, c := range best {
		if c.passage.Speaker != "" {
			n++
		}
	}
	return n*2 > len(best)
}

// Tactics are how a query of some class is answered.
type tactics struct {
	names []string // of what is done, for users

	feedback   bool    // words that the best passages have in common are looked for too
	neighbours float64 // see index.Query
	whole      float64
	people     float64 // weight of names
	diversity  float64 // how far a hit is pushed back by its likeness to one before it
	perItem    int     // most hits of an item that is no thread
	recency    float64 // how much of the score goes with age
	halfLife   time.Duration
	steps      bool // passages that list steps, or whose headings ask the same, count more
}

// tacticsOf chooses tactics by what a query asks for.
func tacticsOf(q query.Query) tactics {
	const year = 365 * 24 * time.Hour
	t := tactics{neighbours: beside, whole: whole, people: 1, diversity: 0.1, perItem: 5, halfLife: year}
	t.names = append(t.names, "exact terms", "typo tolerance")
	switch q.Class {
	case query.Temporal:
		t.recency = 0.1
		t.does("recency")
	case query.Person:
		t.people = 1.6
		t.does("names")
	case query.Overview:
		t.feedback, t.diversity, t.perItem = true, 0.6, 2
		t.does("feedback", "diversity")
	case query.HowTo:
		t.steps = true
		t.does("headings and steps")
	}
	if len(q.Phrases) > 0 {
		t.does("phrases")
	}
	if q.Recent {
		t.recency, t.halfLife = 0.5, year/12
		t.does("recency")
	}
	if !q.Time.IsZero() {
		t.does("time range")
	}
	return t
}

// does notes what is done.
func (t *tactics) does(names ...string) {
	for _, n := range names {
		if !slices.Contains(t.names, n) {
			t.names = append(t.names, n)
		}
	}
}

// eventWeight is what the words of an event count whose time is known.
const eventWeight = 0.4

// words returns the query for the index. Timed says that words which tell when it
// was are no help, for the range does that; those of an event count less.
func (s *search) words(timed bool) index.Query {
	q := index.Query{Phrases: s.query.Phrases, Filter: s.filter, Feedback: s.tactics.feedback, Typos: true,
		Neighbours: s.tactics.neighbours, Whole: s.tactics.whole}
	for _, w := range s.query.Words {
		if w.Time && timed && !w.Event {
			continue
		}
		t := index.Term{Word: w.Text, Prefix: w.Prefix, Must: w.Must, Not: w.Not, Weight: 1}
		if s.named(w.Text) {
			t.Weight = s.tactics.people
		}
		if w.Event && timed {
			t.Weight *= eventWeight
		}
		q.Terms = append(q.Terms, t)
	}
	return q
}

// named reports whether a word is of a name in the query.
func (s *search) named(word string) bool {
	return slices.ContainsFunc(s.query.People, func(p string) bool {
		return slices.ContainsFunc(strings.Fields(p), func(f string) bool { return strings.EqualFold(f, word) })
	})
}

// age returns what is left of a score for how old an item is.
func (t tactics) age(date, now time.Time) float64 {
	if t.recency == 0 {
		return 1
	}
	if date.IsZero() {
		return 1 - t.recency
	}
	age := max(0, now.Sub(date))
	return 1 - t.recency + t.recency*float64(t.halfLife)/float64(t.halfLife+age)
}
