package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

type steerBody struct {
	Command
	Commands []Command `json:"wishes,omitempty" maxItems:"50" doc:"several changes, applied in order"`
	Sentence string    `json:"sentence,omitempty" maxLength:"20000" doc:"the changes in plain words, instead of order and wishes" example:"ten more minutes, and stop at 50 cents"`
	DryRun   bool      `json:"dry_run,omitempty" doc:"with sentence: only return its meaning"`
}

func (b steerBody) allCommands() (c commandList) {
	if b.Command != (Command{}) {
		c.addCommand(b.Command, "body")
	}
	c.addAll(b.Commands)
	return c
}

type steerSession struct {
	ActOn
	WaitParam
	Body steerBody
}

func (in *steerSession) Resolve(huma.Context) []error { return in.WaitParam.check() }

type WaitParam struct {
	Wait string `query:"wait" maxLength:"20" doc:"time to wait for the outcome, such as 10s" example:"10s"`
}

const maxWait = 10 * time.Minute

func (w WaitParam) check() []error {
	if _, err := w.waitTime(0); err != nil {
		return []error{&huma.ErrorDetail{Location: "query.wait", Message: err.Error(), Value: w.Wait}}
	}
	return nil
}

func (w WaitParam) waitTime(without time.Duration) (time.Duration, error) {
	if w.Wait == "" {
		return without, nil
	}
	d, err := time.ParseDuration(w.Wait)
	if n, errN := strconv.ParseFloat(w.Wait, 64); errN == nil && n >= 0 && n <= maxWait.Seconds() {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > maxWait {
		return 0, fmt.Errorf("expected a duration of at most %d minutes, such as 10s", int(maxWait.Minutes()))
	}
	return d, nil
}

type Outcome struct {
	session.SteerCommand
	Outcome string `json:"outcome" enum:"done,refused,noted" doc:"noted: it takes effect when the session continues, or its outcome is not known yet"`
}

type steerOutput struct {
	Body struct {
		Success  bool            `json:"success"`
		ID       ponder.ThreadID `json:"session_id"`
		Status   ponder.Status   `json:"status"`
		Message  string          `json:"message"`
		Outcomes []Outcome       `json:"wishes" nullable:"false"`
		Session  Session         `json:"session"`

		Meaning string `json:"understood_as,omitempty" doc:"the meaning of the sentence"`
		By      string `json:"interpreted_by,omitempty" doc:"rules, or the model that interpreted the sentence"`
	}
}

func (a *api) steerSession(ctx context.Context, in *steerSession) (*steerOutput, error) {
	t, err := a.resolveTarget(ctx, in.ID, in.OnceKey, "steer")
	if err != nil {
		return nil, err
	}
	c := in.Body.allCommands()
	if in.Body.Sentence != "" || in.Body.DryRun {
		if len(c.requests) > 0 || in.Body.Sentence == "" {
			return nil, sentenceError("use either sentence, with or without dry_run, or order and wishes")
		}
		return a.steerBySentence(ctx, in, t)
	}
	if len(c.requests) == 0 {
		return nil, c.locateErrors(steering.Check(nil))
	}
	commands, wrong, err := a.commandEvents(ctx, t.Info, t.cause, c)
	sent := t.before
	switch {
	case err != nil:
		return nil, err
	case sent != nil && !sameCommands(sent, commands):
		return nil, reusedKeyError()
	case sent != nil:
	case wrong != nil:
		return nil, a.apiError(wrong)
	default:
		err := a.checkQuota(ctx, t.Info, maxMoney(commands), func() (err error) {
			sent, err = a.sendCommands(ctx, t.ID, commands...)
			return err
		})
		if err != nil {
			return nil, a.apiError(err)
		}
	}
	a.startWork(ctx, t.Info)
	wait, _ := in.waitTime(ackTimeout) // validated before
	return a.awaitOutcomes(ctx, t.ID, sent, wait)
}

func sentenceError(text string) error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "body.sentence", Message: text})
}

// steerBySentence applies a sentence in plain words. It records the sentence even if it fails.
func (a *api) steerBySentence(ctx context.Context, in *steerSession, t target) (*steerOutput, error) {
	wait, _ := in.waitTime(ackTimeout) // validated before
	if t.before != nil {
		if b, ok := t.before[0].Body.(ponder.Steer); !ok || b.Do != ponder.Interpret || b.Content != textkit.OneLine(in.Body.Sentence) {
			return nil, reusedKeyError()
		}
		return a.describeSentence(ctx, t.ID, t.before, wait)
	}
	var view session.View
	if err := a.withCalibrated(ctx, t.Info, func(v session.View) { view = v.Clone() }); err != nil {
		return nil, err
	}
	res, err := app.Interpret(ctx, a.Service, t.Info, view, in.Body.Sentence)
	if err != nil {
		return nil, a.apiError(err)
	}
	events := res.Events(t.run, in.Body.Sentence, in.Body.DryRun)
	for i := range events {
		events[i].ID = ponder.NewID("evt")
		if t.cause != "" {
			events[i].Cause = fmt.Sprintf("%s-%d", t.cause, i+1)
		}
	}
	err = a.checkQuota(ctx, t.Info, maxMoney(events), func() (err error) {
		if in.Body.DryRun && len(res.Calls) == 0 {
			return nil // nothing to record
		}
		events, err = a.sendCommands(ctx, t.ID, events...)
		return err
	})
	switch {
	case err != nil:
		return nil, a.apiError(err)
	case res.Problem != "":
		return nil, sentenceError(res.Explain(in.Body.Sentence))
	case in.Body.DryRun:
		wait = 0
	default:
		a.startWork(ctx, t.Info)
	}
	return a.describeSentence(ctx, t.ID, events, wait)
}

// describeSentence waits for the outcomes of the commands of a sentence, and adds its meaning.
func (a *api) describeSentence(ctx context.Context, id ponder.ThreadID, events []ponder.Event, wait time.Duration) (*steerOutput, error) {
	var in ponder.Interpretation
	var commands []ponder.Event
	for _, ev := range events {
		if b, ok := ev.Body.(ponder.Steer); ok && b.Do == ponder.Interpret {
			in = ponder.Interpretation{}
			_ = json.Unmarshal(b.Args, &in) // written here
			continue
		}
		commands = append(commands, ev)
	}
	out, err := a.awaitOutcomes(ctx, id, commands, wait)
	if err != nil {
		return nil, err
	}
	out.Body.Meaning, out.Body.By = in.Meaning, in.By
	out.Body.Message = "understood as: " + in.Meaning
	return out, nil
}

// checkQuota checks the quota for a higher cost limit.
func (a *api) checkQuota(ctx context.Context, info ponder.Info, most ponder.Money, do func() error) error {
	if most == 0 || a.Afford == nil {
		return do()
	}
	var spent ponder.Money
	if err := a.withCalibrated(ctx, info, func(v session.View) {
		spent = app.MoneyOf(v.Session.Usage.USD)
		if limit := v.Session.Budget.USD; limit > 0 && most.USD() <= limit {
			most = 0 // within the current limit
		}
	}); err != nil {
		return err
	}
	if most == 0 {
		return do()
	}
	return a.Afford(ctx, info, spent, most, do)
}

// awaitOutcomes waits at most wait for acknowledgements.
func (a *api) awaitOutcomes(ctx context.Context, id ponder.ThreadID, sent []ponder.Event, wait time.Duration) (*steerOutput, error) {
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for _, ev := range sent {
		if _, err := ponder.AwaitAck(short, a.Store, ev); short.Err() != nil {
			break
		} else if err != nil && !errors.Is(err, ponder.ErrEnded) {
			return nil, a.apiError(err)
		}
	}
	info, err := a.ownedThread(ctx, string(id), steeredKinds...)
	if err != nil {
		return nil, err
	}
	out := &steerOutput{}
	out.Body.Success, out.Body.ID, out.Body.Outcomes = true, id, []Outcome{}
	err = a.withCalibrated(ctx, info, func(v session.View) {
		out.Body.Session = sessionOf(info, v, a.views.now())
		for _, ev := range sent {
			o := outcomeOf(v, ev)
			out.Body.Success = out.Body.Success && o.Outcome != "refused"
			out.Body.Outcomes = append(out.Body.Outcomes, o)
		}
	})
	out.Body.Status = out.Body.Session.Status
	out.Body.Message = summarizeOutcomes(out.Body.Outcomes)
	return out, err
}

func outcomeOf(v session.View, ev ponder.Event) (o Outcome) {
	o.ID, o.Created = ev.ID, ev.Time
	for _, w := range v.Steering {
		if w.ID == ev.ID {
			o.SteerCommand = w
		}
	}
	switch {
	case o.Refused:
		o.Outcome = "refused"
	case o.Seq > 0:
		o.Outcome = "done"
	case v.Session.Status.Ended():
		o.Outcome, o.Refused, o.Effect = "refused", true, "the session has already ended"
	default:
		o.Outcome = "noted"
	}
	return o
}

func summarizeOutcomes(list []Outcome) string {
	n := make(map[string]int)
	for _, o := range list {
		n[o.Outcome]++
	}
	var words []string
	for _, what := range []string{"done", "refused", "noted"} {
		if n[what] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[what], what))
		}
	}
	return "wishes: " + strings.Join(words, ", ")
}
