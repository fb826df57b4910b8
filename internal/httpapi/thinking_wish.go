package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/mode/session"
)

// A WishBody is something that a session is told.
type WishBody struct {
	Order    string `json:"order,omitempty" enum:"add_question,drop_question,rank_question,rank,correct,pin_source,pin,ban_source,ban,budget,answer_now" doc:"what to do" example:"budget"`
	Content  string `json:"content,omitempty" maxLength:"20000" doc:"of add_question the question, of correct the fact as it is"`
	Question string `json:"question,omitempty" maxLength:"20000" doc:"of drop_question and rank_question: the id, such as q3, or the text of a question"`
	Priority int    `json:"priority,omitempty" minimum:"1" maximum:"10" doc:"of add_question and rank_question"`
	Source   string `json:"source,omitempty" maxLength:"4000" doc:"of pin_source and ban_source: a path, a URL, or the id of a quotation"`
	Limits
}

// An order is one that a session may be told, with the fields that it needs and those that
// it may have.
type order struct {
	do         ponder.SteerOp
	needs, may []string
}

var budgetFields = []string{"duration_minutes", "max_tokens", "max_cost_usd", "max_calls"}

// orders are what a session may be told, by name.
func orders(name string) order {
	switch name {
	case "add_question":
		return order{ponder.AddQuestion, []string{"content"}, []string{"priority"}}
	case "drop_question":
		return order{ponder.DropQuestion, []string{"question"}, nil}
	case "rank_question", "rank":
		return order{ponder.RankQuestion, []string{"question", "priority"}, nil}
	case "correct":
		return order{ponder.Correct, []string{"content"}, nil}
	case "pin_source", "pin":
		return order{ponder.PinSource, []string{"source"}, nil}
	case "ban_source", "ban":
		return order{ponder.BanSource, []string{"source"}, nil}
	case "budget":
		return order{ponder.SetBudget, nil, budgetFields}
	case "answer_now":
		return order{do: ponder.AnswerNow}
	}
	return order{}
}

// has returns the names of the fields that are set.
func (w WishBody) has() (names []string) {
	for name, set := range map[string]bool{
		"content": strings.TrimSpace(w.Content) != "", "question": strings.TrimSpace(w.Question) != "", "priority": w.Priority != 0,
		"source": strings.TrimSpace(w.Source) != "", "duration_minutes": w.Minutes != nil, "max_tokens": w.Tokens != 0,
		"max_cost_usd": w.USD != nil, "max_calls": w.Calls != 0,
	} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// check returns what is wrong with a wish that the schema does not see.
func (w WishBody) check(where string) (wrong []error) {
	say := func(field, format string, args ...any) {
		wrong = append(wrong, &huma.ErrorDetail{Location: where + "." + field, Message: fmt.Sprintf(format, args...)})
	}
	o, has := orders(w.Order), w.has()
	if o.do == "" {
		if w.Order == "" {
			say("order", "it is missing: say what to do, such as add_question, correct or answer_now")
		}
		return wrong // the schema says the rest
	}
	for _, field := range o.needs {
		if !slices.Contains(has, field) {
			say(field, "%s needs it", w.Order)
		}
	}
	for _, field := range has {
		if !slices.Contains(o.needs, field) && !slices.Contains(o.may, field) {
			say(field, "it is not for %s", w.Order)
		}
	}
	if o.do == ponder.SetBudget && len(has) == 0 {
		say("order", "budget needs a limit: %s", strings.Join(budgetFields, ", "))
	}
	return wrong
}

// body returns the wish as it is written.
func (w WishBody) body() (b ponder.Steer, err error) {
	b = ponder.Steer{Do: orders(w.Order).do, Content: strings.TrimSpace(w.Content)}
	if b.Do == ponder.SetBudget {
		b.Args, err = json.Marshal(w.budget())
		return b, err
	}
	args := ponder.SteerArgs{Question: strings.TrimSpace(w.Question), Priority: w.Priority, Source: strings.TrimSpace(w.Source)}
	if args != (ponder.SteerArgs{}) {
		b.Args, err = json.Marshal(args)
	}
	return b, err
}

// wishes are what a session is told, in order.
type wishes struct {
	list []WishBody
	at   []string // where each stands in the body
}

// events returns the wishes as they are written to the run of a session, with causes that
// begin with one, if that is not empty.
func (w wishes) events(run ponder.RunID, cause string) (list []ponder.Event, err error) {
	for i, one := range w.list {
		b, err := one.body()
		if err != nil {
			return nil, fmt.Errorf("write a wish: %w", err)
		}
		ev := ponder.Event{ID: ponder.NewID("evt"), Run: run, Cause: ponder.NewID("steer"), Body: b}
		if cause != "" {
			ev.Cause = fmt.Sprintf("%s-%d", cause, i+1)
		}
		list = append(list, ev)
	}
	return list, nil
}

// maxNamed is how many questions an error names.
const maxNamed = 12

// fit makes sure that wishes make sense for a session as it is, and puts the ids of
// questions in the place of their texts.
func (w wishes) fit(v session.View) error {
	var wrong []error
	for i := range w.list {
		one := &w.list[i]
		if name := strings.TrimSpace(one.Question); name != "" {
			at := slices.IndexFunc(v.Questions, func(q session.Question) bool { return strings.EqualFold(q.ID, name) || strings.EqualFold(q.Text, name) })
			if at < 0 {
				wrong = append(wrong, &huma.ErrorDetail{Location: w.at[i] + ".question", Message: "the session has no such question: " + openIn(v), Value: name})
				continue
			}
			one.Question = v.Questions[at].ID
		}
		if one.USD != nil && v.Session.Usage.Unpriced > 0 {
			wrong = append(wrong, &huma.ErrorDetail{Location: w.at[i] + ".max_cost_usd", Message: "it cannot be kept: the price of " + clip(v.Session.Model, 80) + " is not known"})
		}
	}
	if wrong != nil {
		return huma.Error422UnprocessableEntity("validation failed", wrong...)
	}
	return nil
}

// openIn says which questions of a session are open.
func openIn(v session.View) string {
	var open []string
	for _, q := range v.Questions {
		if !q.Explored && q.State != session.Dropped && len(open) < maxNamed {
			open = append(open, q.ID)
		}
	}
	if open == nil {
		return "it has none that is open"
	}
	return "open are " + strings.Join(open, ", ")
}

// same reports whether the wishes on a thread are those that are wished for now.
func same(stored, wished []ponder.Event) bool {
	return slices.EqualFunc(stored, wished, func(a, b ponder.Event) bool {
		x, okX := a.Body.(ponder.Steer)
		y, okY := b.Body.(ponder.Steer)
		if !okX || !okY {
			return a.Body.Type() == b.Body.Type()
		}
		return x.Do == y.Do && x.Content == y.Content && equalJSON(x.Args, y.Args)
	})
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	if errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)) != nil {
		return false
	}
	p, errP := json.Marshal(x)
	q, errQ := json.Marshal(y)
	return errors.Join(errP, errQ) == nil && string(p) == string(q)
}
