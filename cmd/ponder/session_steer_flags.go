package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/app"

	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// steerFlags are the commands of a command line for a session, in its order.
type steerFlags struct{ requests []steering.Request }

// steerFlagOf has the flags of orders, and those of fields that have one of their own.
var (
	steerFlagOf = map[ponder.SteerOp]string{
		ponder.AddQuestion: "add", ponder.DropQuestion: "drop", ponder.RankQuestion: "rank", ponder.Correct: "correct",
		ponder.PinSource: "pin", ponder.BanSource: "ban", ponder.SetPersona: "persona", ponder.AnswerNow: "answer-now",
	}
	steerFlagOfField = map[string]string{"duration_minutes": "for", "max_tokens": "tokens", "max_calls": "calls", "max_cost_usd": "cost"}
)

// add adds the flags. All but one may be repeated.
func (f *steerFlags) add(flags *pflag.FlagSet) {
	for _, flag := range []struct {
		name, usage string
		read        func(string) error
	}{
		{"add", "think about this `question` too; may be repeated", f.text(ponder.AddQuestion, contentIn)},
		{"priority", "of the question before it: a `number` from 1 to 10 (default 8)", f.priority},
		{"drop", "leave out the `question` of this id, such as q3", f.text(ponder.DropQuestion, questionIn)},
		{"rank", "give a question another priority: `id=number`, such as q3=9", f.rank},
		{"correct", "hold this `fact` for true, whatever was thought", f.text(ponder.Correct, contentIn)},
		{"pin", "prefer this `source`: a file, a folder, a URL or the id of a quotation", f.text(ponder.PinSource, sourceIn)},
		{"ban", "leave out this `source` from now on", f.text(ponder.BanSource, sourceIn)},
		{"persona", "answer as the persona of this `name` (of research)", f.text(ponder.SetPersona, personaIn)},
		{"for", "`time` to think in all, such as 30m; +10m is so much more than before", limitFlag(f, timeOf, timeIn)},
		{"tokens", "`number` of tokens to use at most in all, or + and how many more", limitFlag(f, countUpTo(config.MaxTokens), tokensIn)},
		{"calls", "`number` of model calls to make at most in all, or + and how many more", limitFlag(f, countUpTo(steering.MaxCalls), callsIn)},
		{"cost", "US `dollars` to spend at most in all, or + and how many more", limitFlag(f, moneyOf, moneyIn)},
	} {
		flags.Var(steerFlag{"text", flag.read}, flag.name, flag.usage)
	}
	flags.Var(steerFlag{"bool", f.answerNow}, "answer-now", "stop thinking, and answer from what there is")
	flags.Lookup("answer-now").NoOptDefVal = "true"
}

// A steerFlag is a [pflag.Value] that is read in its turn.
type steerFlag struct {
	kind string
	read func(string) error
}

func (steerFlag) String() string          { return "" }
func (f steerFlag) Type() string          { return f.kind }
func (f steerFlag) Set(text string) error { return f.read(text) }

func contentIn(r *steering.Request) *string  { return &r.Content }
func questionIn(r *steering.Request) *string { return &r.Question }
func sourceIn(r *steering.Request) *string   { return &r.Source }
func personaIn(r *steering.Request) *string  { return &r.Persona }

// append adds a request that is right in itself.
func (f *steerFlags) append(r steering.Request) error {
	f.requests = append(f.requests, r)
	return steering.Check(f.requests[len(f.requests)-1:])
}

// text returns the reader of a flag whose value is a field of a request.
func (f *steerFlags) text(do ponder.SteerOp, field func(*steering.Request) *string) func(string) error {
	return func(text string) error {
		r := steering.Request{Order: do}
		*field(&r) = text
		return f.append(r)
	}
}

func (f *steerFlags) priority(text string) error {
	n, err := priorityOf(text)
	i := len(f.requests) - 1
	switch {
	case err != nil:
		return err
	case i < 0 || f.requests[i].Order != ponder.AddQuestion:
		return errors.New("it stands behind the --add that it is for")
	}
	f.requests[i].Priority = n
	return nil
}

func (f *steerFlags) rank(text string) error {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return errors.New("it needs a question and a priority, such as q3=9")
	}
	n, err := priorityOf(text[i+1:])
	if err != nil {
		return err
	}
	return f.append(steering.Request{Order: ponder.RankQuestion, Question: text[:i], Priority: n})
}

func priorityOf(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < steering.MinPriority || n > steering.MaxPriority {
		return 0, fmt.Errorf("%q is no priority from %d to %d", textkit.Truncate(text, 20), steering.MinPriority, steering.MaxPriority)
	}
	return n, nil
}

func (f *steerFlags) answerNow(text string) error {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", textkit.Truncate(text, 20))
	}
	if yes {
		return f.append(steering.Request{Order: ponder.AnswerNow})
	}
	return nil
}

// limitFlag returns the reader of a limit. All limits are one request, at the place of the
// first of them.
func limitFlag[N ~int | ~int64](f *steerFlags, read func(string) (N, error), field func(*ponder.Budget) *N) func(string) error {
	return func(text string) error {
		rest, more := strings.CutPrefix(strings.TrimSpace(text), "+")
		n, err := read(rest)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(f.requests, func(r steering.Request) bool { return r.Order == ponder.SetBudget })
		if i < 0 {
			i, f.requests = len(f.requests), append(f.requests, steering.Request{Order: ponder.SetBudget})
		}
		r := &f.requests[i]
		*field(&r.Limits), *field(&r.More) = n, 0
		if more {
			*field(&r.Limits), *field(&r.More) = 0, n
		}
		return nil
	}
}

func countUpTo(most int) func(string) (int, error) {
	return func(text string) (int, error) { return countOf(text, most) }
}

func timeIn(b *ponder.Budget) *time.Duration { return &b.Time }
func tokensIn(b *ponder.Budget) *int         { return &b.Tokens }
func callsIn(b *ponder.Budget) *int          { return &b.Calls }
func moneyIn(b *ponder.Budget) *ponder.Money { return &b.Money }

// commands returns the events of the commands for a session. Its error names the flag of a
// command that does not fit the session.
func (f *steerFlags) commands(ctx context.Context, w *app.SessionView) (list []ponder.Event, err error) {
	requests := slices.Clone(f.requests)
	for i := range requests {
		r := &requests[i]
		r.Source = sourceNamed(w.View, textkit.OneLine(r.Source))
		if r.Order == ponder.SetPersona && w.Looked != nil {
			p, err := w.App.PersonaVoice(ctx, textkit.OneLine(r.Persona))
			if err != nil {
				return nil, err
			}
			r.Persona, r.Content = p.Name, p.Voice
		}
	}
	commands, err := steering.ViewOf(w.View, w.Looked != nil).Commands(requests)
	var wrong steering.Errors
	if errors.As(err, &wrong) {
		r := requests[wrong[0].Index]
		return nil, usagef("--%s: %s", cmp.Or(steerFlagOfField[wrong[0].Field], steerFlagOf[r.Order]), wrong[0].Message)
	}
	for _, b := range commands {
		list = append(list, ponder.Event{Run: w.View.Session.Run, Body: b})
	}
	return list, err
}

// sourceNamed returns the source that a user means: a file or a folder that has the name here,
// unless a quotation has it.
func sourceNamed(v session.View, name string) string {
	if name == "" || slices.ContainsFunc(v.Sources, func(s session.Source) bool { return s.ID == name || s.Source == name }) {
		return name
	}
	if _, err := os.Stat(name); err == nil {
		if abs, err := filepath.Abs(name); err == nil {
			return abs
		}
	}
	return name
}
