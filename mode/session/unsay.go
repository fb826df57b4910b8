package session

import (
	"strings"

	"ponder/internal/textkit/similarity"
)

// unsay takes out of what is remembered what rests on evidence that is barred: the
// citations of it, and what quotes it.
func (s *state) unsay() {
	var thoughts []thought
	for _, t := range s.Thoughts {
		if t.Text = s.unsaid(t.Text); t.Text != "" {
			thoughts = append(thoughts, t)
		}
	}
	var memos []*memo
	for _, m := range s.Said {
		if text := s.unsaid(m.Text); text != m.Text {
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
		if text := s.unsaid(q.Insights); text != q.Insights {
			other := *q
			other.Insights = text
			q = &other
		}
		explored = append(explored, q)
	}
	var insights []string
	for _, text := range s.Sum.Insights {
		if text = s.unsaid(text); text != "" {
			insights = append(insights, text)
		}
	}
	s.Thoughts, s.Said, s.Explored, s.Sum.Insights = thoughts, memos, explored, insights
	s.Sum.Text = s.unsaid(s.Sum.Text)
}

// unsaid returns a text without citations of evidence that is barred, and without the
// lines that quote it.
func (s *state) unsaid(text string) string {
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
