// Package interpret converts sentences of users into steering requests: by the rules of
// internal/steering, or else by a model. It makes the call of the model and returns its cost, which the
// caller records in the log of the session.
package interpret

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/store/memory"
)

//go:embed prompts/steer.md
var prompt string

// Rules is the name of the rules in [Result.By].
const Rules = "rules"

// patience is the time that a user waits for an interpretation.
const patience = 30 * time.Second

// Input is a sentence and the session that it is for.
type Input struct {
	Sentence string
	Question string // of the session
	View     steering.View
	Budget   ponder.Budget         // left for the call
	Models   func() []ponder.Model // in the order of preference, called only if needed; nil or none: rules alone
	Resolve  func(source string) string
}

// Result is the interpretation of a sentence. Requests and Commands are empty if Problem is not.
type Result struct {
	Requests []steering.Request
	Commands []ponder.Steer
	By       string
	Meaning  string
	Problem  string
	Calls    []ponder.SteerCall
}

// Sentence interprets a sentence. It returns an error only if ctx ends: other failures are a Problem.
func Sentence(ctx context.Context, in Input) (Result, error) {
	res := Result{By: Rules}
	if !textkit.HasWords(in.Sentence) || len(in.Sentence) > steering.MaxText {
		res.Problem = "write a sentence"
		return res, nil
	}
	list, ok := steering.Interpret(in.Sentence, in.View)
	if !ok {
		var models []ponder.Model
		if in.Models != nil {
			models = in.Models()
		}
		if models == nil {
			res.Problem = "no rule fits, and no model is available"
			return res, nil
		}
		var err error
		list, err = res.askModel(ctx, in, models)
		switch {
		case ctx.Err() != nil:
			return res, ctx.Err()
		case err != nil:
			res.Problem = err.Error()
			return res, nil //nolint:nilerr // Problem has the error
		}
	}
	if in.Resolve != nil {
		for i := range list {
			list[i].Source = in.Resolve(list[i].Source)
		}
	}
	res.useRequests(in.View, list)
	return res, nil
}

// useRequests checks requests like typed commands, and keeps them if all of them are valid.
func (r *Result) useRequests(v steering.View, list []steering.Request) {
	if err := steering.Check(list); err != nil {
		r.Problem = "incomplete: " + err.Error()
		return
	}
	commands, err := v.Commands(list)
	if r.Meaning = v.Meaning(list); err != nil {
		r.Problem = err.Error()
		return
	}
	r.Requests, r.Commands = list, commands
}

// Explain returns the meaning or the failure as a sentence for the user.
func (r Result) Explain(sentence string) string {
	switch {
	case r.Problem == "":
		return "Understood as: " + r.Meaning
	case r.Meaning != "":
		return "Understood as: " + r.Meaning + "; refused, and nothing is changed: " + textkit.OneLine(r.Problem)
	}
	return steering.ExplainFailure(sentence, r.Problem)
}

// Events returns the commands with the sentence that they come from, and each call, for the log of run.
func (r Result) Events(run ponder.RunID, sentence string, dryRun bool) (list []ponder.Event) {
	group := ponder.NewID("steer")
	in := ponder.Interpretation{By: r.By, Meaning: r.Meaning, Problem: r.Problem, DryRun: dryRun}
	args, _ := json.Marshal(in) // of texts
	note := ponder.Steer{Do: ponder.Interpret, Content: textkit.OneLine(sentence), Args: args, Group: group}
	for i := range r.Calls { // each call has a separate event
		b := note
		b.Call = &r.Calls[i]
		if i < len(r.Calls)-1 {
			failed, _ := json.Marshal(ponder.Interpretation{By: r.Calls[i].Model, Problem: "the answer could not be used"})
			b.Args, b.Group = failed, ponder.NewID("steer")
		}
		list = append(list, ponder.Event{Run: run, Body: b})
	}
	if list == nil {
		list = append(list, ponder.Event{Run: run, Body: note})
	}
	if dryRun {
		return list
	}
	steering.JoinGroup(r.Commands, group)
	for _, b := range r.Commands {
		list = append(list, ponder.Event{Run: run, Body: b})
	}
	return list
}

// askModel asks a model for the steps. The call takes place in a separate engine, so that it is
// retried, limited and priced like any call.
func (r *Result) askModel(ctx context.Context, in Input, models []ponder.Model) ([]steering.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store := memory.New()
	id, run := ponder.ThreadID(ponder.NewID("thr")), ponder.RunID(ponder.NewID("run"))
	options, err := json.Marshal(newRequest(in))
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if in.Budget.Calls == 0 || in.Budget.Calls > maxCalls {
		in.Budget.Calls = maxCalls
	}
	start := ponder.Event{Run: run, Body: ponder.RunStarted{Mode: modeName, Input: in.Sentence, Budget: in.Budget, Options: options}}
	if err := store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindSession}, start); err != nil {
		return nil, fmt.Errorf("start the call: %w", err)
	}
	mind, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{newMode()}, Models: map[ponder.Role][]ponder.Model{ponder.Cheap: models}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	err = mind.Open(ctx)
	if err == nil {
		err = mind.Work(ctx, id)
	}
	err = errors.Join(err, mind.Close(context.WithoutCancel(ctx)))
	answer, ended := r.readLog(context.WithoutCancel(ctx), store, id)
	switch {
	case answer != nil:
		list, err := steering.ReadSteps(answer.Steps, in.Sentence, in.View)
		if err != nil {
			return nil, fmt.Errorf("the model read %w", err)
		}
		return list, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the model did not answer within %v", patience)
	case err != nil:
		return nil, err
	}
	return nil, errors.New(textkit.OneLine(ended))
}

// readLog reads the calls and the answer of the finished thread.
func (r *Result) readLog(ctx context.Context, store ponder.Store, id ponder.ThreadID) (answer *steering.ModelAnswer, reason string) {
	reason = "the model did not answer"
	for ev, err := range store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err.Error()
		}
		switch b := ev.Body.(type) {
		case ponder.CallFinished:
			if b.Made() {
				r.By = b.Model
				r.Calls = append(r.Calls, ponder.SteerCall{
					Role: ponder.Cheap, Model: b.Model, Usage: b.Usage, Spent: b.Spent, Price: b.Price, Took: b.Took, Error: b.Error,
				})
			}
		case ponder.RunFinished:
			reason = b.Reason
			var a steering.ModelAnswer
			if b.Status == ponder.Completed && json.Unmarshal([]byte(b.Answer), &a) == nil {
				answer = &a
			}
		}
	}
	return answer, reason
}

const (
	maxListed  = 20   // questions and sources of a prompt
	maxCalls   = 2    // the second repeats an unusable answer
	maxTokens  = 1000 // of an answer
	maxSubject = 300  // bytes of a text in a prompt
)

func newSchema() *llm.Schema { return &llm.Schema{Name: "steps", JSON: steering.StepSchema} }

func newRequest(in Input) llm.Request {
	var b strings.Builder
	fmt.Fprintf(&b, "Question of the session: %s\n", textkit.TruncateBytes(textkit.OneLine(in.Question), maxSubject))
	n := 0
	for _, q := range in.View.Questions {
		if q.Open && n < maxListed {
			n++
			fmt.Fprintf(&b, "%s: %s\n", q.ID, textkit.TruncateBytes(textkit.OneLine(q.Text), maxSubject))
		}
	}
	if len(in.View.Sources) > 0 {
		fmt.Fprintf(&b, "Sources: %s\n", textkit.TruncateBytes(textkit.OneLine(strings.Join(in.View.Sources[:min(len(in.View.Sources), maxListed)], ", ")), 2*maxSubject))
	}
	fmt.Fprintf(&b, "\nSentence of the user: %s", strconv.Quote(textkit.TruncateBytes(textkit.OneLine(in.Sentence), 2*maxSubject)))
	return llm.Request{System: strings.TrimSpace(prompt), Messages: []llm.Message{llm.Say(llm.User, b.String())}, Schema: newSchema(), MaxTokens: maxTokens}
}

const modeName = "interpret"

func newMode() ponder.Mode {
	return ponder.Mode{Name: modeName, Version: 1, Doc: "Convert a sentence into steering steps.", Start: func(r ponder.Run) ponder.State {
		s := &state{}
		if err := json.Unmarshal(r.Options, &s.req); err != nil {
			s.failure = "the request cannot be read"
		}
		return s
	}}
}

// A state is the fold of an interpretation: a call, and one more if its answer cannot be used.
type state struct {
	req     llm.Request
	tries   int
	answer  string
	failure string
}

func (s *state) callKey() string { return "interpret-" + strconv.Itoa(s.tries+1) }

// Apply implements [ponder.State].
func (s *state) Apply(ev ponder.Event) ponder.State {
	b, ok := ev.Body.(ponder.CallFinished)
	if !ok || !strings.HasPrefix(ev.Cause, s.callKey()+"#") {
		return s
	}
	c := *s
	c.applyAnswer(b)
	return &c
}

func (s *state) applyAnswer(b ponder.CallFinished) {
	s.tries++
	if b.Error != "" {
		s.failure = b.Error
		return
	}
	a, err := llm.Decode[steering.ModelAnswer](b.Message.Text(), newSchema())
	switch {
	case err == nil && len(a.Steps) == 0:
		s.failure = "the model found no command in it"
	case err == nil:
		js, _ := json.Marshal(a) // of texts and numbers
		s.answer = string(js)
	case s.tries >= maxCalls:
		s.failure = "the model gave no usable answer"
	default:
		s.req = *llm.Reask(&s.req, b.Message, err)
	}
}

// Next implements [ponder.State].
func (s *state) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.answer != "":
		return []ponder.Action{ponder.Finish{Answer: s.answer}}
	case s.failure != "":
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.failure}}
	}
	return []ponder.Action{ponder.Call{Key: s.callKey(), Role: ponder.Cheap, Request: s.req}}
}
