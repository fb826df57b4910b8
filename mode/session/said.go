package session

import (
	"fmt"
	"slices"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
)

// Limits of memos, which detect repetition.
const (
	maxSaid     = 80
	maxSaidText = 240 // bytes
)

// mostShared is the maximum share of a new thought's names found in an earlier one.
const mostShared = 0.8

// memo is a compact record of a thought.
type memo struct {
	N      int     `json:"n"`
	Text   string  `json:"text"`
	Focus  string  `json:"focus,omitempty"`
	Agreed bool    `json:"agreed,omitempty"` // another focus also had it
	Weight float64 `json:"weight"`           // importance times confidence

	feel similarity.Text
}

func feel(text string) *similarity.Text {
	t := similarity.Of(text)
	return &t
}

// feel recomputes fields not in checkpoints.
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

// think adds the new thoughts on the focus and counts repeats.
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
		s.Said, s.Thoughts = nil, nil
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

// say adds a thought to lists owned by the state, and returns its event.
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

func weight(t ponder.Thought) float64 {
	importance := t.Importance
	if importance == 0 {
		importance = firstThought
	}
	return importance * t.Confidence
}

func roomy[E any](list []E, n int) []E {
	return append(make([]E, 0, len(list)+n), list...)
}

// remembered adds a memo. Beyond the limit it drops the lightest, except recent ones, which the
// next thoughts may repeat.
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

// compare returns the index of the newest memo that equals m in meaning, or -1, and whether any
// memo states the opposite.
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

// hardlyNew reports whether an earlier thought covers nearly all names and numbers of t. Such a
// thought is kept, but counts toward stopping.
func (s *state) hardlyNew(t *similarity.Text) bool {
	return slices.ContainsFunc(s.Said, func(m *memo) bool { return t.Within(m.feel, mostShared) && t.Compare(m.feel) != similarity.Opposite })
}

// agree marks a repeated thought as found from two foci, if so. The list must be owned by the
// state.
func (s *state) agree(at int) {
	if o := s.Said[at]; o.Agreed || o.Focus == s.Focus.Question {
		return
	}
	m := *s.Said[at]
	m.Agreed = true
	s.Said[at] = &m
	s.Worth.Agreed++
}

func (s *state) against(t *similarity.Text) (ids []string) {
	for _, f := range s.Facts {
		if t.Compare(f.feel) == similarity.Opposite {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// insight returns the surest insight, else the surest thought that is not a question.
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
