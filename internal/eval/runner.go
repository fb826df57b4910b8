package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/placement"
	"ponder/internal/quota"
	"ponder/internal/textkit"
	"ponder/store/sqlite"
)

// A Runner executes a plan and stores the answers in a database.
type Runner struct {
	Plan Plan

	app    *app.App
	store  *sqlite.Store
	budget *quota.Budget
	judge  *engine.Engine

	mu       sync.Mutex
	answers  map[cell]Answer
	verdicts map[cell]Verdict
	failures map[string]int // of strategies without an answer
	asking   bool
}

type cell struct {
	question, variant string
	sample            int
}

// New returns the runner of a plan after Read, with checked models. The caller closes it.
// Unless a names a database, answers are stored beside the questions.
func New(ctx context.Context, a *app.App, p Plan) (*Runner, error) {
	e := &Runner{app: a, Plan: p, answers: make(map[cell]Answer), verdicts: make(map[cell]Verdict), failures: make(map[string]int), budget: quota.NewBudget(p.Limits)}
	all, setups := make(chatSetups), make([]app.ChatSetup, len(p.Strategies))
	for i := range p.Strategies {
		var err error
		if setups[i], err = all.setupFor(ctx, a, &p.Strategies[i], p.Model, p.Limits); err != nil {
			return nil, err
		}
	}
	judge, err := e.judgeModels(ctx)
	if err != nil {
		return nil, err
	}
	if e.store, err = e.openStore(ctx); err != nil {
		return nil, err
	}
	for i := range p.Strategies {
		if err := p.Strategies[i].initEngine(ctx, e.store, setups[i], e.budget); err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
	}
	if p.Judge != "" {
		if e.judge, err = openEngine(ctx, e.store, e.budget.Models(judge), nil, newJudge()); err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
	}
	return e, nil
}

func (e *Runner) judgeModels(ctx context.Context) (map[ponder.Role][]ponder.Model, error) {
	if e.Plan.Judge == "" {
		return nil, nil
	}
	l, err := e.app.ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	m, err := l.Model(e.Plan.Judge)
	if err != nil {
		return nil, app.InField("judge", err)
	}
	models := map[ponder.Role][]ponder.Model{judgeRole: {m}}
	if err := app.CheckPrices(models, e.Plan.Limits, l.Config); err != nil {
		return nil, err
	}
	return models, e.app.CheckModels(ctx, l, models, judgeRole)
}

func (e *Runner) openStore(ctx context.Context) (*sqlite.Store, error) {
	if e.app.Options.DB == "" {
		e.app.Options.DB = e.Plan.databaseFile()
		e.app.Settings.DB = e.app.Options.DB
	}
	file, err := e.app.Database()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	if _, err := placement.MarkDeadNodes(ctx, store, placement.CurrentNode()); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if e.Plan.Fresh {
		if err := forgetAll(ctx, store, e.Plan.titlePrefix()); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return store, nil
}

// forgetAll removes the threads of an evaluation, found by the prefix of their titles.
func forgetAll(ctx context.Context, store *sqlite.Store, title string) error {
	list, err := store.List(ctx, ponder.Filter{})
	if err != nil {
		return fmt.Errorf("list answers: %w", err)
	}
	for _, info := range list {
		if strings.HasPrefix(info.Title, title) {
			if err := store.Remove(ctx, info.ID); err != nil {
				return fmt.Errorf("remove %s: %w", info.ID, err)
			}
		}
	}
	return nil
}

const closeTime = 5 * time.Second

func (e *Runner) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	var err error
	for _, s := range e.Plan.Strategies {
		if s.engine != nil {
			err = errors.Join(err, s.engine.Close(ctx))
		}
	}
	if e.judge != nil {
		err = errors.Join(err, e.judge.Close(ctx))
	}
	return errors.Join(err, e.store.Close())
}

// Run gets the missing answers. If the budget is spent, it returns [quota.ErrSpent].
func (e *Runner) Run(ctx context.Context) error {
	ctx, stop := e.budget.Start(ctx)
	defer stop(nil)
	p := &e.Plan
	e.app.Notef("%s, %s, %s each: %s; stored in %s", textkit.Count(len(p.Questions), "question", "questions"), textkit.Count(len(p.Strategies), "variant", "variants"),
		textkit.Count(p.Samples, "sample", "samples"), textkit.Count(p.Answers(), "answer", "answers"), e.app.Options.DB)
	if err := e.forEachSample(ctx, stop, e.loadAnswers); err != nil {
		return err
	}
	if n := len(e.answers); n > 0 {
		e.app.Notef("%s already stored", textkit.Count(n, "answer is", "answers are"))
	}
	if p.Limits.Time > 0 {
		defer time.AfterFunc(p.Limits.Time, func() { e.budget.Spend("time") }).Stop()
	}
	e.asking = true
	return e.forEachSample(ctx, stop, e.runUnit)
}

// forEachSample calls do for each question and sample in parallel until one fails, first samples first.
func (e *Runner) forEachSample(ctx context.Context, stop context.CancelCauseFunc, do func(ctx context.Context, q Question, sample int) error) error {
	type unit struct {
		q      Question
		sample int
	}
	units := make(chan unit)
	var work sync.WaitGroup
	for range e.Plan.Parallel {
		work.Go(func() {
			for u := range units {
				if err := do(ctx, u.q, u.sample); err != nil {
					stop(err)
				}
			}
		})
	}
	for s := 1; s <= e.Plan.Samples; s++ {
		for _, q := range e.Plan.Questions {
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
	return e.budget.Err()
}

func (e *Runner) Missing() int { return e.Plan.Answers() - len(e.answers) }

// reportProgress requires e.mu.
func (e *Runner) reportProgress() {
	if e.asking && e.Plan.OnProgress != nil {
		e.Plan.OnProgress(Progress{len(e.answers), len(e.verdicts), e.budget.Spent()})
	}
}

func (e *Runner) Experiment() Experiment {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := Experiment{Questions: e.Plan.Questions, Samples: e.Plan.Samples, Seed: e.Plan.Seed}
	for _, s := range e.Plan.Strategies {
		x.Variants = append(x.Variants, s.Name)
	}
	for _, q := range e.Plan.Questions {
		for _, name := range x.Variants {
			for s := 1; s <= e.Plan.Samples; s++ {
				if a, ok := e.answers[cell{q.ID, name, s}]; ok {
					x.Answers = append(x.Answers, a)
				}
				if v, ok := e.verdicts[cell{q.ID, name, s}]; ok {
					x.Verdicts = append(x.Verdicts, v)
				}
			}
		}
	}
	return x
}
