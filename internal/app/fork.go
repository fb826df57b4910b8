package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/report"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/mode/research"
	"ponder/mode/session"
)

func Limited(l session.Limits, b ponder.Budget) session.Limits {
	l.Seconds = cmp.Or(b.Time.Seconds(), l.Seconds)
	l.Calls, l.Tokens, l.USD = cmp.Or(b.Calls, l.Calls), cmp.Or(b.Tokens, l.Tokens), cmp.Or(b.Money.USD(), l.USD)
	return l
}

func (a *App) ModelNamed(ctx context.Context, name string) (string, error) {
	l, err := a.ModelSet(ctx, name)
	if err != nil {
		return "", err
	}
	models, err := l.Chains(ponder.Slow)
	if err != nil {
		return "", err
	}
	return models[ponder.Slow][0].Name(), nil
}

// ForkInputs returns the first events of a fork of s. After a change of the model, they repeat
// calls in flight.
func ForkInputs(s session.Session, paused bool, model string, commands []ponder.Event) (list []ponder.Event) {
	const why = "forked"
	if s.Status == ponder.Thinking && (paused || model != "") {
		list = append(list, ponder.Event{Run: s.Run, Body: ponder.RunPaused{Reason: why}})
	}
	if !paused && (s.Status == ponder.Paused || model != "") {
		list = append(list, ponder.Event{Run: s.Run, Body: ponder.RunResumed{Reason: why}})
	}
	for _, w := range commands {
		w.Cause = ponder.NewID("steer")
		list = append(list, w)
	}
	return list
}

type PreparedFork struct {
	At     ponder.Seq
	Then   *SessionView
	Left   session.Limits
	Models *SessionModels // empty if it pauses

	from   ponder.ThreadID
	to     ponder.Thread
	inputs []ponder.Event
}

// PrepareFork checks a fork and creates nothing. commands receives the session at the fork's
// event.
func (w *SessionView) PrepareFork(ctx context.Context, info ponder.Info, f Fork, commands func(then *SessionView) ([]ponder.Event, error)) (p *PreparedFork, err error) {
	p = &PreparedFork{Models: &SessionModels{}, from: w.Id, to: ponder.Thread{Title: textkit.Truncate(textkit.OneLine(textkit.Clean(f.Title)), MaxTitle)}}
	if p.At, p.Then, err = w.Cut(ctx, f.At); err != nil {
		return nil, err
	}
	list, err := commands(p.Then)
	if err != nil {
		return nil, err
	}
	s := p.Then.View.Session
	for _, ev := range list {
		b, _ := ev.Body.(ponder.Steer)
		s.Budget = Limited(s.Budget, steering.LimitsOf(b))
	}
	p.Left, p.inputs = s.Budget, ForkInputs(s, f.Paused, f.Model, list)
	if !f.Paused {
		if p.Models, err = w.App.PrepareAgain(ctx, info, s, f.Model); err != nil {
			return nil, err
		}
	}
	if f.Model != "" {
		p.to.Model, err = w.App.ModelNamed(ctx, f.Model)
	}
	return p, err
}

func (p *PreparedFork) Fork(ctx context.Context, store ponder.Store, id ponder.ThreadID) error {
	p.to.ID = id
	return engine.Fork(ctx, store, p.from, p.At, p.to, p.inputs...)
}

// LittleLeft names the limit that the fork has nearly used, ignoring the reserve for the
// answer, or returns "".
func (p *PreparedFork) LittleLeft() string {
	const most = 0.8 // of tokens and money
	s := p.Then.View.Session
	switch b, u := p.Left, s.Usage; {
	case b.Seconds > 0 && b.Seconds-s.Progress.Elapsed <= min(10, b.Seconds/10):
		return "time is"
	case b.Calls > 0 && u.Calls >= b.Calls-1:
		return "calls are"
	case b.Tokens > 0 && float64(u.Total) >= most*float64(b.Tokens):
		return "tokens are"
	case b.USD > 0 && u.USD >= most*b.USD:
		return "money is"
	}
	return ""
}

// Cut returns the event to fork at, and the session there. Zero selects the newest event before
// the conclusion.
func (w *SessionView) Cut(ctx context.Context, at ponder.Seq) (ponder.Seq, *SessionView, error) {
	run := w.View.Session.Run
	began, concluded, err := Conclusion(ctx, w.Store, w.Id, run)
	switch {
	case err != nil:
		return 0, nil, err
	case run == "":
		return 0, nil, Invalidf("at", "session %s has no question", w.Id)
	case at > w.Seen:
		return 0, nil, Invalidf("at", "session %s has only %d events", w.Id, w.Seen)
	case at != 0:
	case w.View.Session.Status.Ended():
		at = max(began, concluded)
	default:
		at = w.Seen
	}
	then := &SessionView{App: w.App, Store: w.Store, Id: w.Id, View: session.NewView()}
	if err := then.Read(ctx, at); err != nil {
		return 0, nil, err
	}
	switch s := then.View.Session; {
	case s.Run == "":
		return 0, nil, Invalidf("at", "the session starts only at event %d; fork at that event or later", began)
	case s.Status.Ended():
		return 0, nil, Invalidf("at", "the session has already ended at that event; fork at an earlier one, such as %d", concluded)
	}
	return at, then, nil
}

// Conclusion returns the first event of a run, and the newest event before the decision to
// conclude.
func Conclusion(ctx context.Context, log ponder.Log, id ponder.ThreadID, run ponder.RunID) (began, before ponder.Seq, err error) {
	var result ponder.Seq // the newest result that the session has seen
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return began, 0, fmt.Errorf("read %s: %w", id, err)
		}
		mine := ev.Run == run
		switch b := ev.Body.(type) {
		case ponder.RunStarted:
			if mine {
				began, result = ev.Seq, ev.Seq+1
			}
		case ponder.BudgetSpent:
			if mine {
				return began, ev.Seq - 1, nil
			}
		case ponder.Steer:
			if (b.Do == ponder.Cancel || b.Do == ponder.AnswerNow) && began > 0 && run.IsWithin(ev.Run) {
				return began, ev.Seq - 1, nil
			}
		case ponder.CallFinished:
			if mine && !b.Dropped && b.RetryAt.IsZero() {
				result = ev.Seq
			}
		case ponder.ToolResult:
			if mine && !b.Dropped {
				result = ev.Seq
			}
		case ponder.CallStarted:
			if mine && (session.WritesAnswer(ev.Cause) || research.WritesAnswer(ev.Cause)) {
				return began, result - 1, nil
			}
		case ponder.Synthesis:
			if mine && b.Final {
				return began, result - 1, nil
			}
		case ponder.RunFinished:
			if mine {
				return began, result - 1, nil
			}
		}
	}
	return began, result - 1, nil
}

// PrepareAgain returns the models to resume with: the named one, else the configured ones if
// the session began with them, else the original.
func (a *App) PrepareAgain(ctx context.Context, info ponder.Info, s session.Session, model string) (p *SessionModels, err error) {
	defer func() { err = ofModelName(model, err) }()
	if model == "" && info.Model == "" && s.Metadata.WithoutModel {
		return &SessionModels{}, nil
	}
	l, err := a.ModelSet(ctx, model)
	if err != nil {
		return nil, err
	}
	if slow := l.Choices.ForRole(ponder.Slow).Models; model == "" && info.Model != "" && (slow == nil || slow[0] != info.Model) {
		if l, err = a.ModelSet(ctx, info.Model); err != nil {
			return nil, err
		}
	}
	roles := rolesOf(info.Kind)
	models, err := l.Chains(roles...)
	if err != nil {
		return nil, err
	}
	if err := CheckPrices(models, ponder.Budget{Cost: ponder.Cost{Money: MoneyOf(s.Budget.USD)}}, l.Config); err != nil {
		return nil, err
	}
	return &SessionModels{Models: models}, a.CheckModels(ctx, l, models, roles...)
}

func rolesOf(kind ponder.Kind) []ponder.Role {
	if kind == ponder.KindResearch {
		return ResearchRoles()
	}
	return SessionRoles()
}

func (w *SessionView) Sources() Sources {
	if w.Research != nil {
		return rerunSources(w.Research.View)
	}
	return SourcesOf(w.View.Session)
}

// rewriteTime is the time for a rewritten section and its check.
const rewriteTime = 3 * time.Minute

// RewriteFork returns the fork of a research that rewrites a section of its answer from the same
// evidence. The research itself keeps the old version.
func (l *ResearchFold) RewriteFork(ctx context.Context, log ponder.Log, section, instruction string) (f Fork, err error) {
	r := l.View.Research
	switch {
	case r.Status != ponder.Completed || r.Answer == "":
		return f, Errorf(Conflict, "", "research %s is %s and has no answer to rewrite", r.ID, r.Status)
	case r.WithoutModel:
		return f, Errorf(Conflict, "", "the answer of %s consists of quotations: there is no text to rewrite", r.ID)
	}
	part, err := report.FindSection(r.Answer, section)
	if err != nil {
		return f, Invalidf("section", "%w", err)
	}
	if f.At, err = beforeAnswer(ctx, log, r.ID, r.Run); err != nil {
		return f, err
	}
	if f.At == 0 {
		return f, Errorf(Conflict, "", "no model wrote the answer of %s", r.ID)
	}
	args, err := json.Marshal(ponder.SteerSection{Before: r.Answer[:part.Start], Section: r.Answer[part.Start:part.End], After: r.Answer[part.End:]})
	if err != nil {
		return f, fmt.Errorf("rewrite a section: %w", err)
	}
	if more, ok := moreFor(r); ok {
		f.Commands = append(f.Commands, ponder.Event{ID: ponder.NewID("evt"), Run: r.Run, Body: ponder.Steer{Do: ponder.SetBudget, Args: more}})
	}
	f.Commands = append(f.Commands, ponder.Event{ID: ponder.NewID("evt"), Run: r.Run, Body: ponder.Steer{Do: ponder.RewriteSection, Content: instruction, Args: args}})
	return f, nil
}

// AskReport posts a message to the conversation about a research, and returns both. The report and its
// passages are an attachment of the conversation. key becomes the cause of the message.
func AskReport(ctx context.Context, to Talker, store ponder.Store, owner string, l *ResearchFold, key string, m Message) (talk ponder.Info, said ponder.Event, err error) {
	r := l.View.Research
	if r.Answer == "" {
		return talk, said, Errorf(Conflict, "", "the research has no answer yet")
	}
	id := ReportTalk(r.ID)
	m.NoWeb = true
	if _, err := store.Thread(ctx, id); errors.Is(err, ponder.ErrNoThread) && !errors.Is(err, ponder.ErrRemoved) {
		err := to.Open(ctx, owner, id, Conversation{Title: r.Question, Model: m.Model, NoWeb: true})
		if err != nil && !errors.Is(err, ponder.ErrTaken) {
			return talk, said, err
		}
	}
	if talk, err = store.Thread(ctx, id); err != nil {
		return talk, said, err
	}
	file, _ := ReportAttachment(l.Report())
	has, err := HasAttachment(ctx, store, id, file.Hash)
	if err == nil && !has {
		_, err = store.Append(ctx, id, 0, ponder.Event{Body: file})
	}
	if err != nil {
		return talk, said, err
	}
	said, err = to.Say(ctx, talk, key, m)
	return talk, said, err
}

// moreFor returns limits that leave time and calls for a section.
func moreFor(r research.Research) (json.RawMessage, bool) {
	const calls = 4
	var b ponder.Budget
	if r.Budget.Seconds > 0 {
		b.Time = min(max(textkit.Seconds(r.Budget.Seconds), textkit.Seconds(r.Elapsed)+rewriteTime), MaxTime)
	}
	if r.Budget.Calls > 0 {
		b.Calls = max(r.Budget.Calls, r.Usage.Calls+calls)
	}
	js, err := json.Marshal(b)
	return js, err == nil && b != (ponder.Budget{})
}

// beforeAnswer returns the newest event before the last call for the answer, and before the end of the
// budget; 0 if no model wrote it.
func beforeAnswer(ctx context.Context, log ponder.Log, id ponder.ThreadID, run ponder.RunID) (at ponder.Seq, err error) {
	spent := ponder.Seq(0)
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", id, err)
		}
		if ev.Run != run {
			continue
		}
		switch ev.Body.(type) {
		case ponder.CallStarted:
			if research.WritesAnswer(ev.Cause) {
				at = ev.Seq - 1
			}
		case ponder.BudgetSpent:
			if spent == 0 {
				spent = ev.Seq
			}
		}
	}
	if spent > 0 && at >= spent {
		at = spent - 1
	}
	return at, nil
}
