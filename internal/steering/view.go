package steering

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// A View is the part of a session that requests are checked against.
type View struct {
	Questions []Question
	Sources   []string // paths, URLs and ids of quotations
	Limits    ponder.Budget
	Used      ponder.Budget // thinking time and cost so far
	Unpriced  string        // a used model without a known price; may be empty
	Research  bool          // it has a persona
	Newest    Change        // the newest change that an undo reverts
}

// A Change is the commands of one request, which one undo reverts.
type Change struct {
	Group   string
	Text    string             // the words of the user, or the commands
	Undo    []ponder.SteerStep // in order
	Problem string             // why it cannot be undone
}

type Question struct {
	ID, Text string
	Open     bool
}

func ViewOf(v session.View, research bool) View {
	s := v.Session
	view := View{Research: research, Limits: s.Budget.Budget()}
	if s.Usage.Unpriced > 0 {
		view.Unpriced = s.Model
	}
	view.Used = ponder.Budget{
		Time: textkit.Seconds(s.Progress.Elapsed),
		Cost: ponder.Cost{Calls: s.Usage.Calls, Tokens: s.Usage.Total, Money: ponder.Money(math.Round(s.Usage.USD * 1e6))},
	}
	for _, e := range v.Sources {
		view.Sources = append(view.Sources, e.ID)
		if !slices.Contains(view.Sources, e.Source) {
			view.Sources = append(view.Sources, e.Source)
		}
	}
	view.Newest = newestChange(v.Steering)
	for _, q := range v.Questions {
		view.Questions = append(view.Questions, Question{q.ID, q.Text, !q.Explored && q.State != session.Dropped})
	}
	return view
}

// newestChange returns the newest change that took effect and was not undone.
func newestChange(list []session.SteerCommand) (c Change) {
	key := func(w session.SteerCommand) string { return cmp.Or(w.Group, w.ID) }
	isChange := func(w session.SteerCommand) bool { return !w.Refused && !w.Undone && w.Undoes == "" }
	var texts []string
	for _, w := range slices.Backward(list) {
		if !isChange(w) || c.Group != "" && key(w) != c.Group {
			continue
		}
		c.Group = key(w)
		c.Undo = append(c.Undo, w.Undo...)
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(w.Order), "_", " ")+" "+cmp.Or(w.Content, w.Target)))
		switch {
		case w.Seq == 0:
			c.Problem = "the newest change has not taken effect yet; undo it when it has"
		case w.Order == ponder.AnswerNow:
			c.Problem = "an answer that was requested cannot be undone; fork the session instead"
		}
		if w.Sentence != "" {
			c.Text = w.Sentence
		}
	}
	slices.Reverse(texts)
	c.Text = textkit.Truncate(cmp.Or(c.Text, strings.Join(texts, "; ")), maxMeaning)
	switch {
	case c.Group == "":
		c.Problem = "there is no change to undo"
	case c.Problem == "" && len(c.Undo) == 0:
		c.Problem = "the newest change cannot be undone: it had no effect, or an older version made it"
	}
	return c
}

// Commands returns the events of requests, and [Errors] or nil. An invalid request yields an
// event for comparison only: do not append it.
func (v View) Commands(list []Request) ([]ponder.Steer, error) {
	var commands []ponder.Steer
	var wrong Errors
	for i, r := range list {
		r = r.cleanRequest()
		errs := r.check()
		if len(errs) == 0 {
			errs = v.resolveRefs(&r)
		}
		if len(errs) == 0 && r.Order == Undo {
			for _, step := range v.Newest.Undo {
				commands = append(commands, ponder.Steer{Do: step.Do, Content: step.Content, Args: step.Args, Undoes: v.Newest.Group})
			}
			continue
		}
		for _, e := range errs {
			e.Index = i
			wrong = append(wrong, e)
		}
		b, err := r.toSteer()
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.Order, err)
		}
		commands = append(commands, b)
	}
	return commands, wrong.asError()
}

const maxNamed = 12

// resolveRefs replaces the text of a question by its id, and relative limits by sums. It returns
// references that the session lacks.
func (v View) resolveRefs(r *Request) (wrong Errors) {
	say := func(field, format string, args ...any) {
		wrong = append(wrong, &Error{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if r.Question != "" {
		if id, ok := v.Find(r.Question); ok {
			r.Question = id
		} else {
			say(fieldQuestion, "the session has no question %q: %s", textkit.Truncate(r.Question, 40), v.openQuestions())
		}
	}
	if r.Order == Undo && v.Newest.Problem != "" {
		say(fieldOrder, "%s", v.Newest.Problem)
	}
	if r.Order == ponder.SetPersona && !v.Research {
		say(fieldPersona, "only research has a persona")
	}
	set, old := budgetAmounts(r.Limits), budgetAmounts(v.Limits)
	for i, n := range budgetAmounts(r.More) {
		if n != 0 && old[i] == 0 {
			say(limits[i].field, "the session has no such limit yet; set a total instead")
		}
		if n != 0 {
			set[i] = min(old[i]+n, limits[i].most)
		}
	}
	r.Limits = budgetOf(set)
	if r.Limits.Money > 0 && v.Unpriced != "" {
		say(fieldMoney, "the limit cannot be enforced: the price of %s is unknown", textkit.Truncate(textkit.OneLine(v.Unpriced), 80))
	}
	return wrong
}

func (v View) Find(name string) (string, bool) {
	for _, q := range v.Questions {
		if strings.EqualFold(q.ID, name) || strings.EqualFold(textkit.OneLine(q.Text), name) {
			return q.ID, true
		}
	}
	return "", false
}

func (v View) openQuestions() string {
	var open []string
	for _, q := range v.Questions {
		if q.Open && len(open) < maxNamed {
			open = append(open, textkit.OneLine(q.ID))
		}
	}
	if open == nil {
		return "no question is open"
	}
	return "open questions: " + strings.Join(open, ", ")
}

func (r Request) toSteer() (b ponder.Steer, err error) {
	b = ponder.Steer{Do: r.Order, Content: r.Content}
	switch r.Order {
	case Tell:
		b.Do = ""
	case ponder.SetBudget:
		b.Args, err = json.Marshal(r.Limits)
	default:
		if args := (ponder.SteerArgs{Question: r.Question, Priority: r.Priority, Source: r.Source, Name: r.Persona}); args != (ponder.SteerArgs{}) {
			b.Args, err = json.Marshal(args)
		}
	}
	return b, err
}

// JoinGroup gives all commands of one request the same group, which one undo reverts.
func JoinGroup(commands []ponder.Steer, group string) {
	for i := range commands {
		commands[i].Group = group
	}
}

// LimitsOf returns the limits that a command sets, else zero.
func LimitsOf(b ponder.Steer) ponder.Budget {
	if b.Do != ponder.SetBudget {
		return ponder.Budget{}
	}
	limits, _ := (ponder.Budget{}).ApplyLimits(b.Args) // a run refuses invalid limits
	return limits
}
