package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/eval"
	"ponder/internal/placement"
	"ponder/store/sqlite"
)

// An evaluation asks what is planned, and keeps what comes of it.
type evaluation struct {
	*cli
	plan  *plan
	store *sqlite.Store
	purse *purse
	judge *engine.Engine // nil: there is none

	mu       sync.Mutex
	answers  map[cell]eval.Answer
	verdicts map[cell]eval.Verdict
	failures map[string]int // of variants that have no answer yet
	bar      *meter
	said     time.Time // when it was said how far it is
}

// A cell is a place for an answer, or for the verdict on it.
type cell struct {
	question, variant string
	sample            int
}

// evaluation opens what is needed, having made sure that models will answer. The
// caller closes it.
func (a *cli) evaluation(ctx context.Context, p *plan, model string) (*evaluation, error) {
	e := &evaluation{cli: a, plan: p, answers: make(map[cell]eval.Answer), verdicts: make(map[cell]eval.Verdict), failures: make(map[string]int), said: time.Now()}
	all, talks := make(talkings), make([]app.ChatSetup, len(p.variants))
	for i := range p.variants {
		v := &p.variants[i]
		t, err := a.talkingOf(ctx, all, v, model)
		if err == nil {
			err = pricedFor(t, p.limits, v.roles(t)...)
		}
		if err != nil {
			return nil, err
		}
		talks[i] = t
	}
	judge, err := a.judgeOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if e.store, err = a.evalStore(ctx, p); err != nil {
		return nil, err
	}
	e.purse = newPurse(p.limits)
	for i := range p.variants {
		if err := p.variants[i].open(ctx, e.store, talks[i], e.purse); err != nil {
			return nil, errors.Join(err, e.close(ctx))
		}
	}
	if p.judge != "" {
		if e.judge, err = openMind(ctx, e.store, e.purse.models(judge.Models), nil, newJudge()); err != nil {
			return nil, errors.Join(err, e.close(ctx))
		}
	}
	return e, nil
}

// judgeOf finds the model that judges.
func (a *cli) judgeOf(ctx context.Context, p *plan) (app.ChatSetup, error) {
	if p.judge == "" {
		return app.ChatSetup{}, nil
	}
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return app.ChatSetup{}, err
	}
	m, err := l.Model(p.judge)
	if err != nil {
		return app.ChatSetup{}, fmt.Errorf("--judge: %w", err)
	}
	t := app.ChatSetup{Models: map[ponder.Role][]ponder.Model{judgeRole: {m}}, Config: *l.Config}
	if err := pricedFor(t, p.limits, judgeRole); err != nil {
		return t, err
	}
	return t, a.CheckModels(ctx, l, t.Models, judgeRole)
}

// evalStore opens the database with the answers: beside the questions, unless the
// user named another.
func (a *cli) evalStore(ctx context.Context, p *plan) (*sqlite.Store, error) {
	if a.Options.DB == "" {
		a.Options.DB = p.beside()
		a.Settings.DB = a.Options.DB
	}
	file, err := a.Database()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	if _, err := placement.Bury(ctx, store, placement.Self()); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if p.fresh {
		if err := forgetAll(ctx, store, p.title()); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return store, nil
}

// forgetAll removes the threads of an evaluation, by the beginning of their titles.
func forgetAll(ctx context.Context, store *sqlite.Store, title string) error {
	list, err := store.List(ctx, ponder.Filter{})
	if err != nil {
		return fmt.Errorf("list answers: %w", err)
	}
	for _, info := range list {
		if len(info.Title) >= len(title) && info.Title[:len(title)] == title {
			if err := store.Remove(ctx, info.ID); err != nil {
				return fmt.Errorf("forget %s: %w", info.ID, err)
			}
		}
	}
	return nil
}

// close ends all work.
func (e *evaluation) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	var err error
	for _, v := range e.plan.variants {
		if v.mind != nil {
			err = errors.Join(err, v.mind.Close(ctx))
		}
	}
	if e.judge != nil {
		err = errors.Join(err, e.judge.Close(ctx))
	}
	return errors.Join(err, e.store.Close())
}

// run asks what is missing. It returns errSpent, in an error that says more, if the
// budget ended it.
func (e *evaluation) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e.purse.stop = stop
	e.note("%s, %s, %s each: %s; kept in %s", counted(len(e.plan.questions), "question", "questions"),
		counted(len(e.plan.variants), "variant", "variants"), counted(e.plan.samples, "sample", "samples"), counted(e.plan.answers(), "answer", "answers"), e.Options.DB)
	if err := e.each(ctx, stop, e.find); err != nil {
		return err
	}
	if n := len(e.answers); n > 0 {
		e.note("%s there already", counted(n, "answer is", "answers are"))
	}
	if e.plan.limits.Time > 0 {
		defer time.AfterFunc(e.plan.limits.Time, func() { e.purse.empty("time") }).Stop()
	}
	e.bar = e.newMeter()
	defer e.bar.clear()
	return e.each(ctx, stop, e.unit)
}

// each does something with each question and sample, as many at a time as wanted,
// until one fails. The first samples come first.
func (e *evaluation) each(ctx context.Context, stop context.CancelCauseFunc, do func(ctx context.Context, q eval.Question, sample int) error) error {
	type unit struct {
		q      eval.Question
		sample int
	}
	units := make(chan unit)
	var work sync.WaitGroup
	for range e.plan.parallel {
		work.Go(func() {
			for u := range units {
				if err := do(ctx, u.q, u.sample); err != nil {
					stop(err)
				}
			}
		})
	}
	for s := 1; s <= e.plan.samples; s++ {
		for _, q := range e.plan.questions {
			select {
			case units <- unit{q, s}:
			case <-ctx.Done():
			}
		}
	}
	close(units)
	work.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return e.purse.ended()
}

// missing returns how many answers there are not.
func (e *evaluation) missing() int { return e.plan.answers() - len(e.answers) }

// progressEvery is how often a line says how far it is, where there is no bar.
const progressEvery = 15 * time.Second

// progress says how far it is. The caller holds the lock.
func (e *evaluation) progress() {
	says := fmt.Sprintf("%s of %s answers", number(len(e.answers)), number(e.plan.answers()))
	if e.judge != nil {
		says += ", " + counted(len(e.verdicts), "verdict", "verdicts")
	}
	spent := e.purse.sum()
	says += ", " + counted(spent.Calls, "call", "calls")
	if spent.Money > 0 {
		says += ", " + dollars(spent.Money.USD())
	}
	switch {
	case e.bar != nil:
		e.bar.draw(progress{float64(len(e.answers)) / float64(e.plan.answers()), says})
	case time.Since(e.said) > progressEvery:
		e.said = time.Now()
		e.note("%s", says)
	}
}
