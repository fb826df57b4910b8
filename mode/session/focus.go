package session

import (
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/llm/structured"
	"ponder/mode/internal/runstate"
)

// Limits of questions in the state. The log keeps dropped ones.
const (
	maxOpen     = 40
	maxExplored = 60
	maxQuestion = 500  // bytes
	maxInsight  = 300  // bytes
	maxFocus    = 2000 // bytes of the user's question as a focus
)

// focus is the current subject: a question or, without an id, the user's question.
type focus struct {
	Question string `json:"question,omitempty"`
	Text     string `json:"text,omitempty"`
	View     int    `json:"view,omitempty"` // of the user's question: how often it was the focus, with this time
}

// question is immutable once in a state; changes replace it.
type question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Priority int    `json:"priority"`
	Why      string `json:"why,omitempty"`
	Insights string `json:"insights,omitempty"` // learned by exploring it
	Omitted  bool   `json:"aside,omitempty"`    // the model fails on it; prompts omit it
	Dropped  bool   `json:"dropped,omitempty"`  // not explored
	FromUser bool   `json:"wished,omitempty"`   // asked by the user, who alone ranks it
	At       int    `json:"at,omitempty"`       // number of thoughts before it

	normText similarity.Text
}

// addQuestions adds questions and returns their events. A repeated question, also if reworded, may only
// gain priority.
func (s *state) addQuestions(asked []modelQuestion, unaided bool) (add []ponder.Body) {
	raised := 0
	for _, a := range asked {
		a.Text = textkit.TruncateBytes(textkit.OneLine(a.Text), maxQuestion)
		if raised == maxQuestions || a.Text == "" || s.isThought(a.Text) {
			continue
		}
		feel := normalizeText(a.Text)
		if i, known := s.findKnown(feel); known {
			if i >= 0 && !s.Open[i].FromUser {
				add = append(add, s.raisePriority(i, a.Priority, "asked again")...)
			}
			continue
		}
		if raised++; raised == 1 {
			s.Open = slices.Clip(s.Open)
		}
		add = append(add, s.appendQuestion(&question{Text: a.Text, Priority: a.Priority, Why: textkit.TruncateBytes(textkit.OneLine(a.Why), maxQuestion), normText: *feel},
			ponder.SubQuestion{Parent: s.parentID(a.Parent), WithoutModel: unaided}))
	}
	return add
}

// isThought reports whether a text that does not ask is an earlier thought. Small models copy thoughts as
// questions.
func (s *state) isThought(text string) bool {
	if strings.ContainsAny(text, "?？؟") {
		return false
	}
	key := structured.NewTextKey(text)
	return slices.ContainsFunc(s.History, func(m *pastThought) bool { return m.key == key })
}

// appendQuestion adds a question to a list owned by the state. It returns the event, based on b.
func (s *state) appendQuestion(q *question, b ponder.SubQuestion) ponder.Body {
	s.Counts.Questions++
	q.ID, q.At = "q"+strconv.Itoa(s.Counts.Questions), s.Counts.Thoughts
	s.Open = append(s.Open, q)
	if len(s.Open) > maxOpen {
		s.Open = removeAt(s.Open, lowestPriority(s.Open))
	}
	b.Content, b.ID, b.Priority, b.Why, b.Offset = q.Text, q.ID, q.Priority, q.Why, s.elapsedSeconds()
	return b
}

// parentID returns the question that raised another: id if it exists, else the newest focus.
func (s *state) parentID(id string) string {
	id = strings.ToLower(strings.Trim(id, " []()."))
	is := func(q *question) bool { return q.ID == id }
	if id != "" && (slices.ContainsFunc(s.Explored, is) || slices.ContainsFunc(s.Open, is)) {
		return id
	}
	return s.Focus.Question
}

func (s *state) raisePriority(i, priority int, why string) []ponder.Body {
	if s.Open[i].Priority >= priority {
		return nil
	}
	return s.setPriority(i, priority, why)
}

func (s *state) setPriority(i, priority int, why string) []ponder.Body {
	q := *s.Open[i]
	q.Priority = priority
	s.Open = slices.Clone(s.Open)
	s.Open[i] = &q
	return []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Priority: priority, Reason: why}}
}

func (s *state) markFromUser(i int, fromUser bool) {
	q := *s.Open[i]
	q.FromUser = fromUser
	s.Open = slices.Clone(s.Open)
	s.Open[i] = &q
}

// applyRanks applies a model's new priorities, except to the user's questions.
func (s *state) applyRanks(ranks []questionRank) (add []ponder.Body) {
	for _, r := range ranks {
		i := slices.IndexFunc(s.Open, func(q *question) bool { return q.ID == r.id })
		if i >= 0 && !s.Open[i].FromUser && s.Open[i].Priority != r.priority && len(add) < maxOpen {
			add = append(add, s.setPriority(i, r.priority, "new priority from the model")...)
		}
	}
	return add
}

// lowestPriority returns the index of the newest question of lowest priority, preferring models'
// questions.
func lowestPriority(qs []*question) (at int) {
	for i, q := range qs {
		if lowest := qs[at]; lowest.FromUser && !q.FromUser || lowest.FromUser == q.FromUser && q.Priority <= lowest.Priority {
			at = i
		}
	}
	return at
}

func removeAt[E any](list []E, i int) []E {
	if len(list) == 1 {
		return nil
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

// markExplored moves the question of the focus to Explored and returns the event. It returns nothing
// for the user's question.
func (s *state) markExplored(insight string) []ponder.Body {
	at := slices.IndexFunc(s.Open, func(q *question) bool { return q.ID == s.Focus.Question })
	if s.Focus.Question == "" || at < 0 {
		return nil
	}
	q := *s.Open[at]
	insight, _ = s.checkCitations(insight, nil) // without unknown citations
	q.Why, q.Insights = "", textkit.TruncateBytes(textkit.OneLine(insight), maxInsight)
	s.Open = removeAt(s.Open, at)
	s.Explored = runstate.AppendLast(s.Explored, &q, maxExplored)
	return []ponder.Body{ponder.QuestionUpdated{ID: q.ID, Explored: true, Insights: q.Insights}}
}

// markDropped moves open question i to Explored and returns the event.
func (s *state) markDropped(i int, why string) ponder.Body {
	q := *s.Open[i]
	q.Why, q.Insights, q.Dropped = "", "", true
	s.Open = removeAt(s.Open, i)
	s.Explored = runstate.AppendLast(s.Explored, &q, maxExplored)
	return ponder.QuestionUpdated{ID: q.ID, Dropped: true, Reason: why}
}

// findKnown reports whether a question was asked before, and its index in Open or -1.
func (s *state) findKnown(q *similarity.Text) (int, bool) {
	is := func(o *question) bool { return q.Compare(o.normText) == similarity.Same }
	if i := slices.IndexFunc(s.Open, is); i >= 0 {
		return i, true
	}
	return -1, q.Compare(s.input) == similarity.Same || slices.ContainsFunc(s.Explored, is)
}
