package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/steering"
	"ponder/mode/session"
)

// A Command is one command to a session.
type Command struct {
	Order    string `json:"order,omitempty" enum:"add_question,drop_question,rank_question,rank,correct,pin_source,pin,ban_source,ban,budget,answer_now" doc:"what to do" example:"budget"`
	Content  string `json:"content,omitempty" maxLength:"20000" doc:"of add_question the question, of correct the fact as it is"`
	Question string `json:"question,omitempty" maxLength:"20000" doc:"of drop_question and rank_question: the id, such as q3, or the text of a question"`
	Priority int    `json:"priority,omitempty" minimum:"1" maximum:"10" doc:"of add_question and rank_question"`
	Source   string `json:"source,omitempty" maxLength:"4000" doc:"of pin_source and ban_source: a path, a URL, or the id of a quotation"`
	Limits
}

// A commandList has the commands of a request, in order.
type commandList struct {
	requests []steering.Request
	at       []string // the location of each in the body
}

// add adds a command that stands at a location of the body.
func (c *commandList) add(one Command, at string) {
	c.requests = append(c.requests, steering.Request{
		Order: ponder.SteerOp(one.Order), Content: one.Content, Question: one.Question, Priority: one.Priority, Source: one.Source, Limits: one.budget(),
	})
	c.at = append(c.at, at)
}

// addAll adds the commands of a list of the body.
func (c *commandList) addAll(list []Command) {
	for i, one := range list {
		c.add(one, "body.wishes["+strconv.Itoa(i)+"]")
	}
}

// problem returns the problem document of an error of package steering.
func (c *commandList) problem(err error) error {
	var wrong steering.Errors
	if !errors.As(err, &wrong) {
		return err
	}
	var details []error
	for _, e := range wrong {
		at := "body"
		if e.Index < len(c.at) {
			at = c.at[e.Index]
		}
		details = append(details, &huma.ErrorDetail{Location: at + "." + e.Field, Message: e.Message})
	}
	return huma.Error422UnprocessableEntity("validation failed", details...)
}

// commandEvents returns the events of commands to the run of a session, with causes that
// begin with cause, if that is not empty. Wrong says what does not fit the session.
func (a *api) commandEvents(ctx context.Context, info ponder.Info, cause string, c commandList) (list []ponder.Event, wrong, err error) {
	var bodies []ponder.Steer
	var run ponder.RunID
	err = a.look(ctx, info, func(v session.View) {
		run = v.Session.Run
		bodies, wrong = steering.ViewOf(v, false).Commands(c.requests)
	})
	if err == nil && run == "" {
		err = wrongState("the session has no question to think about")
	}
	for i, b := range bodies {
		ev := ponder.Event{ID: ponder.NewID("evt"), Run: run, Cause: ponder.NewID("steer"), Body: b}
		if cause != "" {
			ev.Cause = fmt.Sprintf("%s-%d", cause, i+1)
		}
		list = append(list, ev)
	}
	return list, c.problem(wrong), err
}

// maxMoney returns the most that a session may cost by commands, or zero if they set no
// limit.
func maxMoney(commands []ponder.Event) (most ponder.Money) {
	for _, ev := range commands {
		b, _ := ev.Body.(ponder.Steer)
		most = max(most, steering.LimitsOf(b).Money)
	}
	return most
}

// same reports whether the commands on a thread are those of a request.
func same(stored, sent []ponder.Event) bool {
	return slices.EqualFunc(stored, sent, func(a, b ponder.Event) bool {
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
