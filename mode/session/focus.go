package session

import (
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/mode/internal/runstate"
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

// A question is a question that came up. One that a state has does not change: what
// changes is a copy.
type question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Priority int    `json:"priority"`
	Why      string `json:"why,omitempty"`
	Insights string `json:"insights,omitempty"` // once it was explored
	Aside    bool   `json:"aside,omitempty"`    // the model fails on it, so no prompt speaks of it
	Wished   bool   `json:"wished,omitempty"`   // by the user, who alone says how urgent it is

	feel similarity.Text
}

// raise adds questions and returns their events. One that was asked already, in
// these words or others, is not asked again, but may become more urgent.
func (s *state) raise(asked []asked, unaided bool) (add []ponder.Body) {
	raised := 0
	for _, a := range asked {
		a.Text = textkit.TruncateBytes(textkit.OneLine(a.Text), maxQuestion)
		if raised == maxQuestions || a.Text == "" {
			continue
		}
		feel := feel(a.Text)
		if i, known := s.known(feel); known {
			if i >= 0 && !s.Open[i].Wished {
				add = append(add, s.urge(i, a.Priority, "asked again")...)
			}
			continue
		}
		if raised++; raised == 1 {
			s.Open = slices.Clip(s.Open)
		}
		add = append(add, s.pose(&question{Text: a.Text, Priority: a.Priority, Why: textkit.TruncateBytes(textkit.OneLine(a.Why), maxQuestion), feel: *feel},
			ponder.SubQuestion{Parent: s.parent(a.Parent), Unaided: unaided}))
	}
	return add
}

// pose adds a question to a list that is the state's own, or clipped, and returns its
// event, which has what b says beside.
func (s *state) pose(q *question, b ponder.SubQuestion) ponder.Body {
	s.Counts.Questions++
	q.ID = "q" + strconv.Itoa(s.Counts.Questions)
	s.Open = append(s.Open, q)
	if len(s.Open) > maxOpen {
		s.Open = without(s.Open, leastUrgent(s.Open))
	}
	b.Content, b.ID, b.Priority, b.Why, b.Offset = q.Text, q.ID, q.Priority, q.Why, s.offset()
	return b
}

// parent returns the question whose exploration raised another: what the model
// says, if there is one, or else the newest focus.
func (s *state) parent(id string) string {
	id = strings.ToLower(strings.Trim(id, " []()."))
	is := func(q *question) bool { return q.ID == id }
	if id != "" && (slices.ContainsFunc(s.Explored, is) || slices.ContainsFunc(s.Open, is)) {
		return id
	}
	return s.Focus.Question
}

// urge makes the ith open question as urgent as priority, if it is less so, and
// returns the event of that.
func (s *state) urge(i, priority int, why string) []ponder.Body {
	if s.Open[i].Priority >= priority {
		return nil
	}
	return s.rank(i, priority, why)
}

// rank gives the ith open question a priority.
func (s *state) rank(i, priority int, why string) []ponder.Body {
	q := *s.Open[i]
	q.Priority = priority
	s.Open = slices.Clone(s.Open)
	s.Open[i] = &q
	return []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Priority: priority, Reason: why}}
}

// wished makes the ith open question one that the user wishes for.
func (s *state) wished(i int) {
	q := *s.Open[i]
	q.Wished = true
	s.Open = slices.Clone(s.Open)
	s.Open[i] = &q
}

// rerank gives open questions the priorities that an answer says they have now, save
// those that the user wishes for.
func (s *state) rerank(ranks []ranking) (add []ponder.Body) {
	for _, r := range ranks {
		i := slices.IndexFunc(s.Open, func(q *question) bool { return q.ID == r.id })
		if i >= 0 && !s.Open[i].Wished && s.Open[i].Priority != r.priority && len(add) < maxOpen {
			add = append(add, s.rank(i, r.priority, "ranked anew")...)
		}
	}
	return add
}

// leastUrgent returns the place of the newest question of the lowest priority, among those
// that the user does not wish for if there are any.
func leastUrgent(qs []*question) (at int) {
	for i, q := range qs {
		if least := qs[at]; least.Wished && !q.Wished || least.Wished == q.Wished && q.Priority <= least.Priority {
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
	at := slices.IndexFunc(s.Open, func(q *question) bool { return q.ID == s.Focus.Question })
	if s.Focus.Question == "" || at < 0 {
		return nil
	}
	q := *s.Open[at]
	insight, _ = s.cited(insight, nil) // nothing that was not gathered
	q.Why, q.Insights = "", textkit.TruncateBytes(textkit.OneLine(insight), maxInsight)
	s.Open = without(s.Open, at)
	s.Explored = runstate.Push(s.Explored, &q, maxExplored)
	return []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Explored: true, Insights: q.Insights}}
}

// dropped moves the ith open question to those that are not asked again, and returns
// the event of it.
func (s *state) dropped(i int, why string) ponder.Body {
	q := *s.Open[i]
	q.Why, q.Insights = "", ""
	s.Open = without(s.Open, i)
	s.Explored = runstate.Push(s.Explored, &q, maxExplored)
	return ponder.QuestionUpdated{ID: q.ID, Dropped: true, Reason: why}
}

// known reports whether a question was asked before, and where it is among those
// that are open, or -1.
func (s *state) known(q *similarity.Text) (int, bool) {
	is := func(o *question) bool { return q.Compare(o.feel) == similarity.Same }
	if i := slices.IndexFunc(s.Open, is); i >= 0 {
		return i, true
	}
	return -1, q.Compare(s.input) == similarity.Same || slices.ContainsFunc(s.Explored, is)
}
