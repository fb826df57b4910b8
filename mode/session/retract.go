package session

import (
	"slices"
	"strings"

	"ponder/internal/textkit/similarity"
)

// retractBanned removes citations and quotations of banned evidence from the state.
func (s *state) retractBanned() {
	var thoughts []thought
	for _, t := range s.Thoughts {
		if t.Text = s.retractText(t.Text); t.Text != "" {
			thoughts = append(thoughts, t)
		}
	}
	var memos []*pastThought
	for _, m := range s.History {
		if text := s.retractText(m.Text); text != m.Text {
			other := *m
			other.Text, other.normText = text, similarity.Parse(text)
			m = &other
		}
		if m.Text != "" {
			memos = append(memos, m)
		}
	}
	var explored []*question
	for _, q := range s.Explored {
		if text := s.retractText(q.Insights); text != q.Insights {
			other := *q
			other.Insights = text
			q = &other
		}
		explored = append(explored, q)
	}
	var insights []string
	for _, text := range s.Synthesis.Insights {
		if text = s.retractText(text); text != "" {
			insights = append(insights, text)
		}
	}
	s.Thoughts, s.History, s.Explored, s.Synthesis.Insights = thoughts, memos, explored, insights
	s.Synthesis.Text = s.retractText(s.Synthesis.Text)
	s.Summaries = slices.Clone(s.Summaries)
	for i := range s.Summaries {
		s.Summaries[i].Text = s.retractText(s.Summaries[i].Text)
	}
}

func (s *state) retractText(text string) string {
	if bare, _ := s.checkCitations(text, nil); bare == text {
		return text
	}
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if bare, _ := s.checkCitations(line, nil); bare == strings.TrimSpace(line) || !isQuotation(strings.TrimPrefix(line, "- ")) {
			kept = append(kept, line)
		}
	}
	text, _ = s.checkCitations(strings.Join(kept, "\n"), nil)
	return text
}
