package session

import (
	"fmt"
	"slices"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/llm/structured"
)

// Limits of memos, which detect repetition.
const (
	maxHistory     = 80
	maxHistoryText = 240 // bytes
)

// maxSharedNames is the maximum share of a new thought's names found in an earlier one.
const maxSharedNames = 0.8

// pastThought is a compact record of a thought.
type pastThought struct {
	N      int     `json:"n"`
	Text   string  `json:"text"`
	Focus  string  `json:"focus,omitempty"`
	Agreed bool    `json:"agreed,omitempty"` // another focus also had it
	Weight float64 `json:"weight"`           // importance times confidence

	normText similarity.Text
	key      structured.TextKey
}

func newPastThought(text, focus string) *pastThought {
	m := &pastThought{Text: textkit.TruncateBytes(textkit.OneLine(text), maxHistoryText), Focus: focus}
	m.parse()
	return m
}

func (m *pastThought) parse() {
	m.normText, m.key = similarity.Parse(m.Text), structured.NewTextKey(m.Text)
}

func normalizeText(text string) *similarity.Text {
	t := similarity.Parse(text)
	return &t
}

// restoreNormTexts recomputes fields not in checkpoints.
func (s *state) restoreNormTexts() {
	for _, m := range s.History {
		m.parse()
	}
	for _, list := range [][]*question{s.Open, s.Explored} {
		for _, q := range list {
			q.normText = similarity.Parse(q.Text)
		}
	}
	for i := range s.Facts {
		s.Facts[i].normText = similarity.Parse(s.Facts[i].Text)
	}
}

// addThoughts adds the new thoughts on the focus and counts repeats.
func (s *state) addThoughts(list []modelThought, model string, unaided bool) {
	add := make([]ponder.Body, 0, len(list)+1)
	var again []int
	s.History, s.Thoughts = cloneWithRoom(s.History, len(list)), cloneWithRoom(s.Thoughts, len(list))
	for _, h := range list {
		if h.Text, h.Cites = s.checkCitations(h.Text, h.Cites); h.Text == "" {
			continue
		}
		m := newPastThought(h.Text, s.Focus.Question)
		old, opposed := s.findSimilar(m)
		if old >= 0 && !unaided {
			again = append(again, s.History[old].N)
			s.markAgreed(old)
			continue
		}
		add = append(add, s.addThought(h, m, opposed, model, unaided))
	}
	if s.cutTimeline(); len(s.Thoughts) == 0 {
		s.History, s.Thoughts = nil, nil
	}
	if len(again) > 0 {
		add = append([]ponder.Body{ponder.Progress{
			Content: fmt.Sprintf("repeated: %d of %d thoughts", len(again), len(list)), Stage: "merged", Thoughts: again, Ref: s.Focus.Question,
		}}, add...)
	}
	if len(list) > 0 {
		add = append(add, s.markExplored(bestInsight(list))...)
	}
	s.queueWrite("note", &s.Counts.Noted, add...)
}

// addThought adds a thought to lists owned by the state, and returns its event.
func (s *state) addThought(h modelThought, m *pastThought, opposed bool, model string, unaided bool) ponder.Body {
	b := ponder.Thought{
		Content: h.Text, Number: s.Counts.Thoughts, Kind: h.Kind, Confidence: h.Confidence, Importance: h.Importance, Focus: s.Focus.Text,
		Question: s.Focus.Question, Cites: h.Cites, Against: s.contradictedFacts(&m.normText), WithoutModel: unaided, Assumed: h.Assumed, Offset: s.elapsedSeconds(), Model: model,
	}
	if s.isHardlyNew(&m.normText) {
		s.CallValue.HardlyNew++
	}
	m.N, m.Weight = b.Number, thoughtWeight(b)
	s.History = addPastThought(s.History, m)
	s.Thoughts = append(s.Thoughts, thought{
		Text: textkit.TruncateBytes(textkit.OneLine(h.Text), maxKept), Kind: h.Kind, Confidence: h.Confidence, Assumed: h.Assumed, N: b.Number, Of: s.Focus.Question,
	})
	s.Counts.Thoughts++
	s.SinceQuestions++
	s.CallValue = s.CallValue.addThought(b, opposed || len(b.Against) > 0, s.addsVoice(h.Cites))
	s.markCited(h.Cites)
	return b
}

func thoughtWeight(t ponder.Thought) float64 {
	importance := t.Importance
	if importance == 0 {
		importance = firstThought
	}
	return importance * t.Confidence
}

func cloneWithRoom[E any](list []E, n int) []E {
	return append(make([]E, 0, len(list)+n), list...)
}

// addPastThought adds a memo. Beyond the limit it drops the lightest, except recent ones, which the
// next thoughts may repeat.
func addPastThought(list []*pastThought, m *pastThought) []*pastThought {
	if len(list) < maxHistory {
		return append(list, m)
	}
	least := 0
	for i, o := range list[:maxHistory-recentThoughts] {
		if o.Weight < list[least].Weight {
			least = i
		}
	}
	return append(slices.Delete(list, least, least+1), m)
}

// findSimilar returns the index of the newest memo that equals m in meaning, or -1, and whether any
// memo states the opposite.
func (s *state) findSimilar(m *pastThought) (at int, opposed bool) {
	for i := len(s.History) - 1; i >= 0; i-- {
		if m.key.IsRepetition(s.History[i].key) {
			return i, opposed
		}
		switch m.normText.Compare(s.History[i].normText) {
		case similarity.Same:
			return i, opposed
		case similarity.Opposite:
			opposed = true
		}
	}
	return -1, opposed
}

// isHardlyNew reports whether an earlier thought covers nearly all names and numbers of t. Such a
// thought is kept, but counts toward stopping.
func (s *state) isHardlyNew(t *similarity.Text) bool {
	return slices.ContainsFunc(s.History, func(m *pastThought) bool {
		return t.IsContainedIn(m.normText, maxSharedNames) && t.Compare(m.normText) != similarity.Opposite
	})
}

// markAgreed marks a repeated thought as found from two foci, if so. The list must be owned by the
// state.
func (s *state) markAgreed(at int) {
	if o := s.History[at]; o.Agreed || o.Focus == s.Focus.Question {
		return
	}
	m := *s.History[at]
	m.Agreed = true
	s.History[at] = &m
	s.CallValue.Agreed++
}

func (s *state) contradictedFacts(t *similarity.Text) (ids []string) {
	for _, f := range s.Facts {
		if t.Compare(f.normText) == similarity.Opposite {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// bestInsight returns the surest insight, else the surest thought that is not a question.
func bestInsight(list []modelThought) string {
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
