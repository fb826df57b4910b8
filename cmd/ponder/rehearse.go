package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync/atomic"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/store/memory"
)

// allowsCall makes sure that a session may make a call at all. It begins one in memory that
// looks into nothing, so that no other would ask a model for less, and ends it as soon as a
// model is asked.
func allowsCall(ctx context.Context, b app.NewThread, p *app.SessionModels, opts session.Options) error {
	if opts.WithoutModel || b.Budget.Tokens == 0 && b.Budget.Money == 0 {
		return nil
	}
	opts.Earlier, opts.Docs, opts.Memory, opts.Web = false, nil, false, false
	store := memory.New()
	id, err := b.Session(ctx, store, opts)
	if err != nil {
		return err
	}
	rehearsal, stop := context.WithCancel(ctx)
	defer stop()
	var asked atomic.Bool
	models := make(map[ponder.Role][]ponder.Model, len(p.Models))
	for role, chain := range p.Models {
		for _, m := range chain {
			m.Model = deaf{m.Model, func() { asked.Store(true); stop() }}
			models[role] = append(models[role], m)
		}
	}
	mind, err := engine.New(engine.Config{Store: store, Modes: []ponder.Mode{session.New()}, Models: models, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	err = mind.Open(rehearsal)
	if err == nil {
		err = mind.Work(rehearsal, id)
	}
	err = errors.Join(err, mind.Close(context.WithoutCancel(ctx)))
	switch {
	case ctx.Err() != nil:
		return err
	case asked.Load() || err != nil: // then it is for the session to find out
		return nil
	}
	return usagef("a budget of %s does not allow a single call of %s: give it more", b.Budget, p.Name)
}

// A deaf model answers nothing, and says when it is asked.
type deaf struct {
	llm.Model
	asked func()
}

// Generate implements [llm.Model].
func (m deaf) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.asked()
		<-ctx.Done()
		yield(llm.Delta{}, &llm.Error{Class: llm.Transient, Model: m.Name(), Message: "this is a rehearsal"})
	}
}
