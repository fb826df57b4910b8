package session

import (
	"cmp"
	"encoding/json"
	"iter"
	"ponder/internal/textkit"
	"slices"
	"strings"

	"ponder"
)

// Node is a question in [View.Tree].
type Node struct {
	Question
	Depth int // 0 for children of the user's question
	Guide string
}

// maxDepth is the maximum displayed depth; deeper questions appear at it.
const maxDepth = 8

// Tree yields the questions in depth-first order, siblings by priority, then age.
func (v View) Tree() iter.Seq[Node] {
	below := make(map[string][]int)
	for i, q := range v.Questions {
		parent := q.Parent
		if at, ok := v.fold.places[parent]; !ok || at >= i || v.Questions[at].ID != parent {
			parent = "" // unknown or younger
		}
		below[parent] = append(below[parent], i)
	}
	for _, list := range below {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(v.Questions[b].Priority, v.Questions[a].Priority) })
	}
	return func(yield func(Node) bool) { v.walkTree(below, yield) }
}

type branch struct {
	list  []int
	depth int
	guide string // of their children
}

// walkTree yields the questions depth first. It uses an explicit stack, because a tree may be as deep
// as it has questions.
func (v View) walkTree(below map[string][]int, yield func(Node) bool) {
	stack := []branch{{list: below[""]}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.list) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		q := v.Questions[top.list[0]]
		top.list = top.list[1:]
		fork, rail := "├─ ", "│  "
		if len(top.list) == 0 {
			fork, rail = "└─ ", "   "
		}
		if !yield(Node{Question: q, Depth: top.depth, Guide: top.guide + fork}) {
			return
		}
		next := branch{list: below[q.ID], depth: min(top.depth+1, maxDepth), guide: top.guide}
		if top.depth < maxDepth {
			next.guide += rail
		}
		stack = append(stack, next)
	}
}

func (v *View) addQuestion(ev ponder.Event, b ponder.SubQuestion) {
	if _, ok := v.findQuestion(b.ID); ok || b.ID == "" {
		return // ids are unique, so each is visited once
	}
	text := textkit.OneLine(b.Content)
	v.fold.places[b.ID], v.fold.questionByText[text] = len(v.Questions), len(v.Questions)
	v.Questions = append(v.Questions, Question{
		ID: b.ID, Session: ev.Thread, Parent: b.Parent, Text: text, Priority: b.Priority, Why: textkit.OneLine(b.Why), State: Open,
		By: textkit.OneLine(b.By), WithoutModel: b.WithoutModel, Created: ev.Time,
	})
	v.Session.Progress.Questions = len(v.Questions)
}

func (v *View) findQuestion(id string) (*Question, bool) {
	i, ok := v.fold.places[id]
	if !ok || i >= len(v.Questions) || v.Questions[i].ID != id {
		return nil, false
	}
	return &v.Questions[i], true
}

// askedAgain is the reason of an update for a repeated question.
const askedAgain = "asked again"

func (v *View) updateQuestion(b ponder.QuestionUpdated) {
	q, ok := v.findQuestion(b.ID)
	if !ok {
		return
	}
	q.Priority = cmp.Or(b.Priority, q.Priority)
	q.Insights = cmp.Or(textkit.OneLine(b.Insights), q.Insights)
	if strings.HasPrefix(b.Reason, askedAgain) {
		q.Repeats++
	}
	if b.Explored && !q.Explored {
		q.Explored, q.State = true, Explored
		v.Session.Progress.Explored++
	}
	if b.Dropped && !q.Explored && q.State != Dropped {
		q.State = Dropped
		v.Session.Progress.Dropped++
	}
	if b.Reopened && q.State == Dropped {
		q.State = Open
		v.Session.Progress.Dropped--
	}
	if b.Explored || b.Dropped {
		v.removeFocus(q.ID, q.Text)
	}
}

// addFocus adds a current focus and drops the oldest beyond the session's parallelism.
func (v *View) addFocus(b ponder.Progress) {
	f, p := Focus{Round: b.Iteration, Text: textkit.OneLine(b.Content)}, &v.Session.Progress
	q, ok := v.findQuestion(b.Ref)
	if at, known := v.fold.questionByText[f.Text]; !ok && known {
		q, ok = &v.Questions[at], true
	}
	if ok {
		f.Question = q.ID
		if q.State == Open {
			q.State = Exploring
		}
	}
	p.Focus = f.Text
	p.Foci = append(p.Foci, f)
	for len(p.Foci) > max(1, v.Session.Metadata.Parallel) {
		v.removeFocus(p.Foci[0].Question, p.Foci[0].Text)
	}
}

func (v *View) removeFocus(id, text string) {
	p := &v.Session.Progress
	i := slices.IndexFunc(p.Foci, func(f Focus) bool { return f.Question == id && (id != "" || f.Text == text) })
	if i < 0 {
		return
	}
	p.Foci = slices.Delete(p.Foci, i, i+1)
	if q, ok := v.findQuestion(id); ok && q.State == Exploring {
		q.State = Open
	}
}

func (v *View) clearFoci() {
	p := &v.Session.Progress
	p.Focus = ""
	for len(p.Foci) > 0 {
		v.removeFocus(p.Foci[0].Question, p.Foci[0].Text)
	}
	p.Foci = nil
}

const maxParallel = 16

// parallelOption returns the foci per wave in the options; 0 for one.
func parallelOption(options json.RawMessage) int {
	var o struct {
		Parallel int `json:"parallel"`
	}
	if json.Unmarshal(options, &o) != nil || o.Parallel <= 1 {
		return 0
	}
	return min(o.Parallel, maxParallel)
}
