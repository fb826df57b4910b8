// Package steerstate applies user commands to a run. It validates a stored command, has the mode
// apply it, and returns the acknowledgement. Package ponder defines both events.
package steerstate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/usage"
)

const (
	MaxFacts     = 30
	MaxQuestion  = 500 // bytes
	maxFact      = 600 // bytes
	maxSources   = 30  // each of pinned and banned
	maxPriority  = 10
	userPriority = 8 // default priority of a user's question
)

// Command is a validated command.
type Command struct {
	Do       ponder.SteerOp
	Content  string // the question or fact on one line, or a persona's voice unchanged
	Target   string // the question, source or persona
	Priority int
	Model    bool // models may rank the question
	Limits   ponder.LimitChange
}

// Result is the result of a command.
type Result struct {
	Text    string
	Refused bool
	Add     []ponder.Body
	Undo    []ponder.SteerStep // reverts the command
}

// Step returns a command that reverts another.
func Step(do ponder.SteerOp, content string, args ponder.SteerArgs) []ponder.SteerStep {
	step := ponder.SteerStep{Do: do, Content: content}
	if args != (ponder.SteerArgs{}) {
		step.Args, _ = json.Marshal(args) // of texts and numbers
	}
	return []ponder.SteerStep{step}
}

// Done returns the result of an applied command.
func Done(format string, args ...any) Result { return Result{Text: fmt.Sprintf(format, args...)} }

// Refuse returns the result of a refused command.
func Refuse(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Refused: true}
}

// Unknown refuses an operation that the mode lacks.
func Unknown(do ponder.SteerOp) Result {
	return Refuse("unknown command: %s", textkit.TruncateBytes(textkit.OneLine(string(do)), lookup.MaxLabel))
}

// Run describes the run that receives a command.
type Run struct {
	Name    string // such as "the session"
	Writing string // states that the run writes its answer
	Over    bool
	End     string // why the run writes its answer, or ""
	Spent   bool
	Paused  bool
	Facts   int
	Limits  ponder.Budget // now

	HasText  func(text string) bool
	InFlight func() []string // returns the keys of pending actions
	Steer    func(Command) Result
}

// Apply applies a command and returns its acknowledgement and whether the run changed. Commands
// that only the engine applies have no acknowledgement.
func (r Run) Apply(event string, b ponder.Steer) (ack []ponder.Body, applied bool) {
	if b.Do == ponder.Cancel || b.Do == ponder.Interpret {
		return nil, false
	}
	before := r.InFlight()
	c, result := r.validateCommand(b)
	if !result.Refused {
		if result = r.Steer(c); c.Do == ponder.SetBudget && !result.Refused {
			result.Undo = revertLimits(c.Limits, r.Limits)
		}
	}
	p := ponder.Progress{Content: result.Text, Stage: ponder.StageSteered, Label: string(b.Do), Ref: event, Refused: result.Refused}
	if !result.Refused {
		p.Undo = result.Undo
	}
	if !result.Refused && !r.Paused { // a pause already cancelled all actions
		after := r.InFlight()
		before = slices.DeleteFunc(before, func(key string) bool { return slices.Contains(after, key) })
		p.Cancelled = NilIfEmpty(before)
	}
	return append([]ponder.Body{p}, result.Add...), !result.Refused
}

func revertLimits(c ponder.LimitChange, old ponder.Budget) []ponder.SteerStep {
	args, err := json.Marshal(c.Revert(old))
	if err != nil {
		return nil
	}
	return []ponder.SteerStep{{Do: ponder.SetBudget, Args: args}}
}

// validateCommand validates a command. It refuses commands that the run no longer accepts, and values that no
// mode accepts.
func (r Run) validateCommand(b ponder.Steer) (c Command, refusal Result) {
	var args ponder.SteerArgs
	if len(b.Args) > 0 && b.Do != ponder.SetBudget && json.Unmarshal(b.Args, &args) != nil {
		return c, Refuse("invalid arguments")
	}
	switch {
	case r.Over:
		return c, Refuse("%s has ended", r.Name)
	case b.Do == ponder.SetBudget && r.Spent:
		return c, Refuse("the budget is spent and the answer is being written")
	case b.Do != ponder.SetBudget && b.Do != ponder.AnswerNow && r.End != "":
		return c, r.RefuseBusy()
	}
	c = Command{Do: cmp.Or(b.Do, ponder.AddQuestion), Content: textkit.OneLine(b.Content), Priority: args.Priority, Model: args.Model}
	switch c.Do {
	case ponder.SetBudget:
		var err error
		if c.Limits, err = ponder.ParseLimits(b.Args); err != nil {
			return c, Refuse("%v", err)
		}
	case ponder.AddQuestion:
		c.Content, c.Priority = textkit.TruncateBytes(c.Content, MaxQuestion), cmp.Or(c.Priority, userPriority)
		if !r.HasText(c.Content) {
			return c, Refuse("no question given")
		}
		return c, checkPriority(c.Priority)
	case ponder.RestoreQuestion:
		c.Target, c.Content = textkit.TruncateBytes(textkit.OneLine(args.Question), lookup.MaxLabel), textkit.TruncateBytes(c.Content, MaxQuestion)
		if !r.HasText(c.Content) || c.Target == "" {
			return c, Refuse("no question given")
		}
		return c, checkPriority(c.Priority)
	case ponder.DropQuestion, ponder.RankQuestion, ponder.Withdraw:
		c.Target = textkit.TruncateBytes(textkit.OneLine(cmp.Or(args.Question, b.Content)), MaxQuestion)
	case ponder.Correct:
		switch c.Content = textkit.TruncateBytes(c.Content, maxFact); {
		case !r.HasText(c.Content):
			return c, Refuse("no fact given")
		case r.Facts == MaxFacts:
			return c, Refuse("the limit of %d corrections is reached", MaxFacts)
		}
	case ponder.PinSource, ponder.BanSource, ponder.ReleaseSource:
		if c.Target = textkit.TruncateBytes(textkit.OneLine(cmp.Or(args.Source, b.Content)), lookup.MaxLabel); !r.HasText(c.Target) {
			return c, Refuse("no source given")
		}
	case ponder.SetPersona:
		c.Content, c.Target = b.Content, args.Name
	}
	return c, Result{}
}

// RefuseBusy refuses a command because the run writes its answer.
func (r Run) RefuseBusy() Result { return Refuse("%s: %s", r.Writing, r.End) }

// RankResult returns the result of setting a question's priority.
func RankResult(id string, n int) Result {
	if r := checkPriority(n); r.Refused {
		return r
	}
	return Done("question %s has priority %d", id, n)
}

func checkPriority(n int) Result {
	if n < 1 || n > maxPriority {
		return Refuse("priority %[2]d is out of range; use 1 to %[1]d", maxPriority, n)
	}
	return Result{}
}

// SourceFilter is the preferred and excluded sources.
type SourceFilter struct {
	Pinned []string `json:"pinned,omitempty"`
	Banned []string `json:"banned,omitempty"`
}

// Pin prefers a source and reports whether that is new.
func (f *SourceFilter) Pin(source string) (Result, bool) {
	return moveSource(&f.Pinned, &f.Banned, source, "pinned")
}

// Ban excludes a source and reports whether that is new.
func (f *SourceFilter) Ban(source string) (Result, bool) {
	return moveSource(&f.Banned, &f.Pinned, source, "banned")
}

// Release removes a source from both lists and reports whether it was in one.
func (f *SourceFilter) Release(source string) (Result, bool) {
	if !slices.Contains(f.Pinned, source) && !slices.Contains(f.Banned, source) {
		return Done("%s is neither pinned nor banned", source), false
	}
	is := func(s string) bool { return s == source }
	f.Pinned = NilIfEmpty(slices.DeleteFunc(slices.Clone(f.Pinned), is))
	f.Banned = NilIfEmpty(slices.DeleteFunc(slices.Clone(f.Banned), is))
	return Done("%s is used like other sources again", source), true
}

// Revert returns the command that restores the place of a source in the lists.
func (f *SourceFilter) Revert(source string) []ponder.SteerStep {
	do := ponder.ReleaseSource
	switch {
	case slices.Contains(f.Pinned, source):
		do = ponder.PinSource
	case slices.Contains(f.Banned, source):
		do = ponder.BanSource
	}
	return Step(do, "", ponder.SteerArgs{Source: source})
}

func moveSource(to, from *[]string, source, done string) (Result, bool) {
	switch {
	case slices.Contains(*to, source):
		return Done("%s is already %s", source, done), false
	case len(*to) == maxSources:
		return Refuse("the limit of %d %s sources is reached", maxSources, done), false
	}
	*to = append(slices.Clip(*to), source)
	*from = NilIfEmpty(slices.DeleteFunc(slices.Clone(*from), func(s string) bool { return s == source }))
	return Result{}, true
}

// NilIfEmpty returns nil for an empty list.
func NilIfEmpty[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	return list
}

// Description is a stored command for display.
type Description struct {
	Target string // question, source, persona, priority and limits
	Source string
	Name   string
	Limits ponder.LimitChange
}

// Describe describes a command with texts of at most n bytes.
func Describe(b ponder.Steer, n int) (d Description) {
	var args ponder.SteerArgs
	_ = json.Unmarshal(b.Args, &args) // the run refuses unreadable arguments
	short := func(s string) string { return textkit.TruncateBytes(textkit.OneLine(s), n) }
	d.Source, d.Name = short(args.Source), short(args.Name)
	about := []string{short(args.Question), d.Source, d.Name}
	if args.Priority > 0 {
		about = append(about, fmt.Sprintf("priority %d", args.Priority))
	}
	if b.Do == ponder.SetBudget {
		_ = json.Unmarshal(b.Args, &d.Limits)
		about = append(about, usage.DescribeLimits(d.Limits.Budget)...)
		for _, name := range d.Limits.Unlimited {
			about = append(about, "no limit of "+short(name))
		}
	}
	d.Target = strings.Join(slices.DeleteFunc(about, func(s string) bool { return s == "" }), ", ")
	return d
}

// An Origin tells how a command came about, and what became of it.
type Origin struct {
	Group    string `json:"group,omitempty"`          // the same for all commands of one request
	Sentence string `json:"sentence,omitempty"`       // the words of the user
	By       string `json:"interpreted_by,omitempty"` // "rules" or a model, if there is a sentence
	Undoes   string `json:"undoes,omitempty"`         // the group that it reverts
	Undone   bool   `json:"undone,omitempty"`         // a later command reverted it

	Undo []ponder.SteerStep `json:"-"` // reverts it
}

// Origins are the interpreted sentences of a run by group. A nil map works for reading.
type Origins map[string]Origin

// Add adds the sentence of a command, if it has one, and reports whether it does.
func (o Origins) Add(b ponder.Steer, n int) bool {
	if b.Do != ponder.Interpret {
		return false
	}
	var in ponder.Interpretation
	_ = json.Unmarshal(b.Args, &in) // a sentence without an interpretation has no commands
	o[b.Group] = Origin{Sentence: textkit.TruncateBytes(textkit.OneLine(b.Content), n), By: textkit.TruncateBytes(textkit.OneLine(in.By), n)}
	return true
}

// Find returns the origin of a command.
func (o Origins) Find(b ponder.Steer) Origin {
	origin := o[b.Group]
	origin.Group, origin.Undoes = b.Group, b.Undoes
	return origin
}
