package session

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ponder"
)

// Bounds on what is remembered of questions. What is dropped is still in the log.
const (
	maxOpen     = 40
	maxExplored = 60
	maxQuestion = 500  // bytes
	maxInsight  = 300  // bytes
	maxFocus    = 2000 // bytes of the user's question, as a focus
)

// A focus is what is being thought about: a question that came up or, without
// an id, the question of the user.
type focus struct {
	Question string `json:"question,omitempty"` // its id
	Text     string `json:"text,omitempty"`
}

// A question is a question that came up.
type question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Priority int    `json:"priority"`
	Why      string `json:"why,omitempty"`
	Insights string `json:"insights,omitempty"` // once it was explored
}

// round begins the next round with a new focus.
func (s *state) round() {
	s.Counts.Rounds++
	s.Focus = s.choose()
	s.Step = step{Do: thoughts, N: s.Counts.Rounds}
	if len(s.opts.Docs) > 0 {
		s.Step.Do = look
	}
	n := s.Counts.Rounds - 1
	s.write("focus", &n, ponder.Progress{Content: s.Focus.Text, Stage: "focus", Iteration: s.Counts.Rounds})
}

// choose returns the most urgent open question, the oldest of equals, or else
// the question of the user.
func (s *state) choose() focus {
	best := -1
	for i, q := range s.Open {
		if best < 0 || q.Priority > s.Open[best].Priority {
			best = i
		}
	}
	if best < 0 {
		return focus{Text: clip(oneLine(s.run.Input), maxFocus)}
	}
	return focus{Question: s.Open[best].ID, Text: s.Open[best].Text}
}

// raise adds questions and returns their events. Questions that were asked
// already, in these words or nearly so, are left out.
func (s *state) raise(asked []asked, unaided bool) (add []ponder.Body) {
	for _, a := range asked {
		a.Text = clip(oneLine(a.Text), maxQuestion)
		if len(add) == maxQuestions || a.Text == "" || s.known(a.Text) {
			continue
		}
		s.Counts.Questions++
		q := question{ID: fmt.Sprintf("q%d", s.Counts.Questions), Text: a.Text, Priority: a.Priority, Why: clip(oneLine(a.Why), maxQuestion)}
		s.Open = append(slices.Clip(s.Open), q)
		add = append(add, ponder.SubQuestion{Content: q.Text, ID: q.ID, Priority: q.Priority, Why: q.Why, Unaided: unaided, Offset: s.offset()})
	}
	for len(s.Open) > maxOpen {
		s.Open = without(s.Open, leastUrgent(s.Open))
	}
	return add
}

// leastUrgent returns the place of the newest question of the lowest priority.
func leastUrgent(qs []question) (at int) {
	for i, q := range qs {
		if q.Priority <= qs[at].Priority {
			at = i
		}
	}
	return at
}

// without returns a copy of list without an element.
func without[E any](list []E, i int) []E {
	if len(list) == 1 {
		return nil
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

// explored moves the question of the focus to those that are explored and
// returns the event of it, or nothing if the focus was the user's question.
func (s *state) explored(insight string) []ponder.Body {
	at := slices.IndexFunc(s.Open, func(q question) bool { return q.ID == s.Focus.Question })
	if s.Focus.Question == "" || at < 0 {
		return nil
	}
	q := s.Open[at]
	insight, _ = s.cited(insight, nil) // nothing that was not gathered
	q.Why, q.Insights = "", clip(oneLine(insight), maxInsight)
	s.Open = without(s.Open, at)
	s.Explored = last(append(slices.Clip(s.Explored), q), maxExplored)
	return []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Explored: true, Insights: q.Insights}}
}

// last returns the last n of a list, in an array of their own.
func last[E any](list []E, n int) []E {
	return slices.Clone(list[max(0, len(list)-n):])
}

// known reports whether a question was asked before.
func (s *state) known(text string) bool {
	words := wordsOf(text)
	is := func(q question) bool { return sameWords(words, wordsOf(q.Text)) }
	return sameWords(words, wordsOf(s.run.Input)) || slices.ContainsFunc(s.Open, is) || slices.ContainsFunc(s.Explored, is)
}

// wordsOf returns the words of a text in lower case, sorted, each once, without
// articles.
func wordsOf(text string) []string {
	if len(text) > 2*maxQuestion {
		text = text[:2*maxQuestion]
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "the" || w == "a" || w == "an" })
	slices.Sort(words)
	return slices.Compact(words)
}

// nearlySame is the share of all their words that two questions must have in
// common to be taken for one.
const nearlySame = 0.85

// sameWords reports whether two sorted lists of words are nearly the same, and
// differ in nothing that turns the meaning round. Empty lists never are.
func sameWords(a, b []string) bool {
	both, all, i, j := 0, 0, 0, 0
	for i < len(a) || j < len(b) {
		all++
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			if decisive(a[i]) {
				return false
			}
			i++
		case i == len(a) || b[j] < a[i]:
			if decisive(b[j]) {
				return false
			}
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	return both > 0 && float64(both) >= nearlySame*float64(all)
}

// decisive reports whether a word alone makes a question another one.
func decisive(word string) bool {
	switch word {
	case "no", "not", "never", "without", "nor", "non", "t", "more", "less", "before", "after":
		return true
	}
	return strings.ContainsFunc(word, unicode.IsDigit)
}
