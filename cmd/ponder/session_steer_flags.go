package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// steerFlags are what a user wishes of a session, in the order of the command
// line.
type steerFlags struct{ wishes []wish }

// A wish is one of them.
type wish struct {
	do     ponder.SteerOp
	text   string
	args   ponder.SteerArgs
	name   string // of a persona
	limits []limit
}

// A limit sets what is limited in a budget, which may depend on what it was.
type limit func(b *ponder.Budget, old ponder.Budget) error

// Bounds of priorities, as of the session's own questions.
const (
	leastUrgent = 1
	mostUrgent  = 10
)

// add adds the flags. All but one may be repeated.
func (f *steerFlags) add(flags *pflag.FlagSet) {
	for _, flag := range []struct {
		name, usage string
		read        func(string) error
	}{
		{"add", "think about this `question` too; may be repeated", f.text(ponder.AddQuestion)},
		{"priority", "of the question before it: a `number` from 1 to 10 (default 8)", f.priority},
		{"drop", "leave out the `question` of this id, such as q3", f.question(ponder.DropQuestion)},
		{"rank", "give a question another priority: `id=number`, such as q3=9", f.rank},
		{"correct", "hold this `fact` for true, whatever was thought", f.text(ponder.Correct)},
		{"pin", "prefer this `source`: a file, a folder, a URL or the id of a quotation", f.source(ponder.PinSource)},
		{"ban", "leave out this `source` from now on", f.source(ponder.BanSource)},
		{"persona", "answer as the persona of this `name` (of research)", f.persona},
		{"for", "`time` to think in all, such as 30m; +10m is so much more than before", limitOf(f, "for", timeOf, mostTime, timeIn)},
		{"tokens", "`number` of tokens to use at most in all, or + and how many more", limitOf(f, "tokens", countUpTo(config.MaxTokens), config.MaxTokens, tokensIn)},
		{"calls", "`number` of model calls to make at most in all, or + and how many more", limitOf(f, "calls", countUpTo(mostCalls), mostCalls, callsIn)},
		{"cost", "US `dollars` to spend at most in all, or + and how many more", limitOf(f, "cost", moneyOf, money(config.MaxDollars), moneyIn)},
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

// said returns what a user wrote, as a terminal and a model may be shown it.
func said(text string) (string, error) {
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("it is not text in UTF-8")
	case len(text) > mostQuestion:
		return "", fmt.Errorf("it has more than %s bytes", number(mostQuestion))
	}
	if text = oneLine(textkit.Clean(text)); text == "" {
		return "", errors.New("it is empty")
	}
	return text, nil
}

func (f *steerFlags) text(do ponder.SteerOp) func(string) error {
	return func(text string) (err error) {
		w := wish{do: do}
		if w.text, err = said(text); err == nil && !hasWords(w.text) {
			err = errors.New("it is only punctuation")
		}
		f.wishes = append(f.wishes, w)
		return err
	}
}

func (f *steerFlags) question(do ponder.SteerOp) func(string) error {
	return func(text string) (err error) {
		w := wish{do: do}
		w.args.Question, err = said(text)
		f.wishes = append(f.wishes, w)
		return err
	}
}

func (f *steerFlags) source(do ponder.SteerOp) func(string) error {
	return func(text string) (err error) {
		w := wish{do: do}
		w.args.Source, err = said(text)
		f.wishes = append(f.wishes, w)
		return err
	}
}

func (f *steerFlags) persona(text string) error {
	name, err := said(text)
	f.wishes = append(f.wishes, wish{do: ponder.SetPersona, name: name})
	return err
}

// voices looks up how the personas speak that are wished for.
func (f *steerFlags) voices(ctx context.Context, w *viewing) error {
	for i := range f.wishes {
		if f.wishes[i].do != ponder.SetPersona {
			continue
		}
		if w.looked == nil {
			return usagef("--persona: %s is no research, and has no persona", w.id)
		}
		p, err := w.voice(ctx, f.wishes[i].name)
		if err != nil {
			return err
		}
		f.wishes[i].name, f.wishes[i].text = p.Name, p.Voice
	}
	return nil
}

func (f *steerFlags) priority(text string) error {
	n, err := urgency(text)
	if err != nil {
		return err
	}
	i := len(f.wishes) - 1
	if i < 0 || f.wishes[i].do != ponder.AddQuestion {
		return errors.New("it stands behind the --add that it is for")
	}
	f.wishes[i].args.Priority = n
	return nil
}

func (f *steerFlags) rank(text string) error {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return errors.New("it needs a question and a priority, such as q3=9")
	}
	n, err := urgency(text[i+1:])
	if err != nil {
		return err
	}
	id, err := said(text[:i])
	f.wishes = append(f.wishes, wish{do: ponder.RankQuestion, args: ponder.SteerArgs{Question: id, Priority: n}})
	return err
}

func urgency(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < leastUrgent || n > mostUrgent {
		return 0, fmt.Errorf("%q is no priority from %d to %d", clip(text, 20), leastUrgent, mostUrgent)
	}
	return n, nil
}

func (f *steerFlags) answerNow(text string) error {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", clip(text, 20))
	}
	if yes {
		f.wishes = append(f.wishes, wish{do: ponder.AnswerNow})
	}
	return nil
}

// limitOf returns what reads a limit of a budget, which is at most so much. All limits
// are one wish, where the first of them is.
func limitOf[N ~int | ~int64](f *steerFlags, name string, read func(string) (N, error), most N, field func(*ponder.Budget) *N) func(string) error {
	return func(text string) error {
		rest, more := strings.CutPrefix(strings.TrimSpace(text), "+")
		n, err := read(rest)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(f.wishes, func(w wish) bool { return w.do == ponder.SetBudget })
		if i < 0 {
			i, f.wishes = len(f.wishes), append(f.wishes, wish{do: ponder.SetBudget})
		}
		f.wishes[i].limits = append(f.wishes[i].limits, func(b *ponder.Budget, old ponder.Budget) error {
			before := *field(&old)
			if more && before == 0 {
				return usagef("--%s +%s: the session has no such limit yet: say how much in all", name, clip(rest, 20))
			}
			if *field(b) = n; more {
				*field(b) = min(before+n, most)
			}
			return nil
		})
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

// budgetOf returns the limits that a session has.
func budgetOf(s session.Session) ponder.Budget {
	return ponder.Budget{
		Time: seconds(s.Budget.Seconds).Round(time.Millisecond),
		Cost: ponder.Cost{Calls: s.Budget.Calls, Tokens: s.Budget.Tokens, Money: money(s.Budget.USD)},
	}
}

// budget returns the limits that a session is wished to have instead of those it
// has; those that are not named are zero.
func (f *steerFlags) budget(v session.View) (b ponder.Budget, err error) {
	old := budgetOf(v.Session)
	for _, w := range f.wishes {
		for _, set := range w.limits {
			if err := set(&b, old); err != nil {
				return b, err
			}
		}
	}
	if b.Money > 0 && v.Session.Usage.Unpriced > 0 {
		return b, usagef("--cost cannot be kept: the price of %s is not known", oneLine(v.Session.Model))
	}
	return b, nil
}

// events returns the wishes as they are written, having made sure that they make
// sense for a session, as far as its view tells.
func (f *steerFlags) events(v session.View) (list []ponder.Event, err error) {
	for _, w := range f.wishes {
		b := ponder.Steer{Do: w.do, Content: w.text}
		switch w.do {
		case ponder.AnswerNow:
		case ponder.SetPersona:
			b.Args, err = json.Marshal(ponder.SteerArgs{Name: w.name})
		case ponder.SetBudget:
			var limits ponder.Budget
			if limits, err = f.budget(v); err == nil {
				b.Args, err = json.Marshal(limits)
			}
		default:
			if w.args.Question, err = questionIn(v, w.args.Question); err == nil {
				w.args.Source = sourceIn(v, w.args.Source)
				b.Args, err = json.Marshal(w.args)
			}
		}
		if err != nil {
			return nil, err
		}
		if string(b.Args) == "{}" {
			b.Args = nil
		}
		list = append(list, ponder.Event{Run: v.Session.Run, Body: b})
	}
	return list, nil
}

// maxNamed is how many questions an error names.
const maxNamed = 12

// questionIn returns the id of the question that a user means by its id or text.
func questionIn(v session.View, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	var open []string
	for _, q := range v.Questions {
		if strings.EqualFold(q.ID, name) || strings.EqualFold(oneLine(q.Text), name) {
			return q.ID, nil
		}
		if !q.Explored && q.State != session.Dropped && len(open) < maxNamed {
			open = append(open, q.ID)
		}
	}
	has := "it has none yet"
	if len(open) > 0 {
		has = "not explored yet are " + strings.Join(open, ", ")
	}
	return "", usagef("the session has no question %q: %s", clip(name, 40), oneLine(has))
}

// sourceIn returns the source that a user means: what has that name here is a file
// or a folder, unless a quotation has it.
func sourceIn(v session.View, name string) string {
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
