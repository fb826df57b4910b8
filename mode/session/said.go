package session

import (
	"fmt"
	"slices"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
)

// Bounds on what is remembered of thoughts, to know what repeats them.
const (
	maxSaid     = 80
	maxSaidText = 240 // bytes
)

// mostShared is the part of what a thought names that others before it may name.
const mostShared = 0.8

// A memo is what is remembered of a thought that was written.
type memo struct {
	N      int     `json:"n"`
	Text   string  `json:"text"`
	Focus  string  `json:"focus,omitempty"`  // the id of its question
	Agreed bool    `json:"agreed,omitempty"` // another focus came to it as well
	Weight float64 `json:"weight"`           // importance times confidence

	feel similarity.Text
}

// feel returns what is compared of a text.
func feel(text string) *similarity.Text {
	t := similarity.Of(text)
	return &t
}

// feel makes what is not kept in checkpoints.
func (s *state) feel() {
	for _, m := range s.Said {
		m.feel = similarity.Of(m.Text)
	}
	for _, list := range [][]*question{s.Open, s.Explored} {
		for _, q := range list {
			q.feel = similarity.Of(q.Text)
		}
	}
	for i := range s.Facts {
		s.Facts[i].feel = similarity.Of(s.Facts[i].Text)
	}
}

// think adds thoughts on the focus. Those that were there before are not written
// again.
func (s *state) think(list []heard, model string, unaided bool) {
	add := make([]ponder.Body, 0, len(list)+1)
	var again []int
	s.Said, s.Thoughts = roomy(s.Said, len(list)), roomy(s.Thoughts, len(list))
	for _, h := range list {
		if h.Text, h.Cites = s.cited(h.Text, h.Cites); h.Text == "" {
			continue
		}
		m := &memo{Text: textkit.TruncateBytes(textkit.OneLine(h.Text), maxSaidText), Focus: s.Focus.Question}
		m.feel = similarity.Of(m.Text)
		old, opposed := s.compare(m)
		if old >= 0 && !unaided {
			again = append(again, s.Said[old].N)
			s.agree(old)
			continue
		}
		add = append(add, s.say(h, m, opposed, model, unaided))
	}
	if s.Thoughts = s.Thoughts[max(0, len(s.Thoughts)-max(recentThoughts, s.Worth.News)):]; len(s.Thoughts) == 0 {
		s.Said, s.Thoughts = nil, nil // as they come from a checkpoint
	}
	if len(again) > 0 {
		add = append([]ponder.Body{ponder.Progress{
			Content: fmt.Sprintf("said again: %d of %d thoughts", len(again), len(list)), Stage: "merged", Thoughts: again, Ref: s.Focus.Question,
		}}, add...)
	}
	if len(list) > 0 {
		add = append(add, s.explored(insight(list))...)
	}
	s.write("note", &s.Counts.Noted, add...)
}

// say adds a new thought to lists that are the state's own, and returns its event.
func (s *state) say(h heard, m *memo, opposed bool, model string, unaided bool) ponder.Body {
	b := ponder.Thought{
		Content: h.Text, Number: s.Counts.Thoughts, Kind: h.Kind, Confidence: h.Confidence, Importance: h.Importance, Focus: s.Focus.Text,
		Question: s.Focus.Question, Cites: h.Cites, Against: s.against(&m.feel), Unaided: unaided, Assumed: h.Assumed, Offset: s.offset(), Model: model,
	}
	if s.hardlyNew(&m.feel) {
		s.Worth.Old++
	}
	m.N, m.Weight = b.Number, weight(b)
	s.Said = remembered(s.Said, m)
	s.Thoughts = append(s.Thoughts, thought{Text: textkit.TruncateBytes(textkit.OneLine(h.Text), maxKept), Kind: h.Kind, Confidence: h.Confidence, Assumed: h.Assumed})
	s.Counts.Thoughts++
	s.Since++
	s.Worth = s.Worth.with(b, opposed || len(b.Against) > 0, s.supports(h.Cites))
	s.keep(h.Cites)
	return b
}

// weight returns what a thought brings: importance times confidence.
func weight(t ponder.Thought) float64 {
	importance := t.Importance
	if importance == 0 {
		importance = firstThought
	}
	return importance * t.Confidence
}

// roomy returns a copy of a list that has room for n more elements.
func roomy[E any](list []E, n int) []E {
	return append(make([]E, 0, len(list)+n), list...)
}

// remembered adds a memo to a list. If there are too many, the one of the least
// weight goes, of all but the newest, which what comes next may repeat.
func remembered(list []*memo, m *memo) []*memo {
	if len(list) < maxSaid {
		return append(list, m)
	}
	least := 0
	for i, o := range list[:maxSaid-recentThoughts] {
		if o.Weight < list[least].Weight {
			least = i
		}
	}
	return append(slices.Delete(list, least, least+1), m)
}

// compare returns the place of what says the same among what was said, the newest,
// or -1; and whether something says the opposite.
func (s *state) compare(m *memo) (at int, opposed bool) {
	for i := len(s.Said) - 1; i >= 0; i-- {
		if s.Said[i].Text == m.Text {
			return i, opposed
		}
		switch m.feel.Compare(s.Said[i].feel) {
		case similarity.Same:
			return i, opposed
		case similarity.Opposite:
			opposed = true
		}
	}
	return -1, opposed
}

// hardlyNew reports whether nearly all that a thought names is in one before, and so
// are all its names and numbers: it may say something else of them, and is kept; but
// where nothing but that comes, it is enough.
func (s *state) hardlyNew(t *similarity.Text) bool {
	return slices.ContainsFunc(s.Said, func(m *memo) bool { return t.Within(m.feel, mostShared) && t.Compare(m.feel) != similarity.Opposite })
}

// agree notes in a list that is the state's own that a thought was said again: if
// that was in another focus, two ways lead to it.
func (s *state) agree(at int) {
	if o := s.Said[at]; o.Agreed || o.Focus == s.Focus.Question {
		return
	}
	m := *s.Said[at]
	m.Agreed = true
	s.Said[at] = &m
	s.Worth.Agreed++
}

// against returns the ids of the corrections that a thought contradicts.
func (s *state) against(t *similarity.Text) (ids []string) {
	for _, f := range s.Facts {
		if t.Compare(f.feel) == similarity.Opposite {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// insight returns what was learned: the surest insight, or else the surest
// thought that does not only ask.
func insight(list []heard) string {
	best, rank := "", -1.0
	for _, h := range list {
		r := h.Confidence
		switch h.Kind {
		case "insight":
			r += 2
		case "question":
			r -= 2
		}
		if r > rank || best == "" {
			best, rank = h.Text, r
		}
	}
	return best
}
