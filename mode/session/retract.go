package session

import (
	"strings"

	"ponder/internal/textkit/similarity"
)

// retract removes citations and quotations of banned evidence from the state.
func (s *state) retract() {
	var thoughts []thought
	for _, t := range s.Thoughts {
		if t.Text = s.retracted(t.Text); t.Text != "" {
			thoughts = append(thoughts, t)
		}
	}
	var memos []*memo
	for _, m := range s.Said {
		if text := s.retracted(m.Text); text != m.Text {
			other := *m
			other.Text, other.feel = text, similarity.Of(text)
			m = &other
		}
		if m.Text != "" {
			memos = append(memos, m)
		}
	}
	var explored []*question
	for _, q := range s.Explored {
		if text := s.retracted(q.Insights); text != q.Insights {
			other := *q
			other.Insights = text
			q = &other
		}
		explored = append(explored, q)
	}
	var insights []string
	for _, text := range s.Sum.Insights {
		if text = s.retracted(text); text != "" {
			insights = append(insights, text)
		}
	}
	s.Thoughts, s.Said, s.Explored, s.Sum.Insights = thoughts, memos, explored, insights
	s.Sum.Text = s.retracted(s.Sum.Text)
}

func (s *state) retracted(text string) string {
	if bare, _ := s.cited(text, nil); bare == text {
		return text
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if bare, _ := s.cited(line, nil); bare == strings.TrimSpace(line) || !quotation(strings.TrimPrefix(line, "- ")) {
			kept = append(kept, line)
		}
	}
	text, _ = s.cited(strings.Join(kept, "\n"), nil)
	return text
}
