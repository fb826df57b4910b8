package compat

import (
	"context"
	"net/http"

	"ponder"
	"ponder/internal/app"
)

var errNoResearch error = &APIError{Status: http.StatusConflict, Detail: "this is no research: use the id of a research"}

// ReadResearch returns the state of a research.
func (d *Dispatcher) ReadResearch(ctx context.Context, w Job) (*app.ResearchFold, error) {
	if w.Kind != Research {
		return nil, errNoResearch
	}
	return app.ReadResearch(ctx, d.Store, w.Thread)
}

// AwaitPlan waits until a research has a plan for approval, or has ended.
func (d *Dispatcher) AwaitPlan(ctx context.Context, w Job) (*app.ResearchFold, error) {
	heads, stop := d.Store.Watch(w.Thread)
	defer stop()
	for {
		l, err := d.ReadResearch(ctx, w)
		if err != nil || l.View.Research.Status == ponder.Paused || l.View.Research.Status.Ended() {
			return l, err
		}
		select {
		case <-heads:
		case <-ctx.Done():
			return l, ctx.Err()
		}
	}
}

// ApprovePlan runs the waiting plan of a research. plan replaces it, unless it is nil.
func (d *Dispatcher) ApprovePlan(ctx context.Context, w Job, plan *ponder.Plan) error {
	l, err := d.ReadResearch(ctx, w)
	if err != nil {
		return err
	}
	commands, err := l.Approval(plan)
	if err != nil {
		return err
	}
	return d.sendSteer(ctx, w, func(tell func() error) error {
		return app.Resume(ctx, d.Service, w.Thread, "", tell)
	}, commands...)
}

// RewriteSection starts a fork of a research that rewrites a section of its answer.
func (d *Dispatcher) RewriteSection(ctx context.Context, owner string, w Job, section, instruction string) (Job, error) {
	l, err := d.ReadResearch(ctx, w)
	if err != nil {
		return Job{}, err
	}
	f, err := l.RewriteFork(ctx, d.Store, section, instruction)
	if err != nil {
		return Job{}, err
	}
	f.Title = l.View.Research.Question
	id := ponder.ThreadID(ponder.NewID("thr"))
	if err := d.Service.Fork(ctx, owner, w.Thread, id, f); err != nil {
		return Job{}, err
	}
	return d.Newest(ctx, owner, id)
}

// AskReport asks a question about the report of a research, in the conversation about it.
func (d *Dispatcher) AskReport(ctx context.Context, owner string, w Job, question string) (Job, error) {
	l, err := d.ReadResearch(ctx, w)
	if err != nil {
		return Job{}, err
	}
	m := app.Message{UserMessage: ponder.UserMessage{Content: question}}
	talk, said, err := app.AskReport(ctx, d.Service, d.Store, owner, l, "", m)
	if err != nil {
		return Job{}, err
	}
	if _, err := d.ownedThread(ctx, owner, talk.ID); err != nil {
		return Job{}, err
	}
	return Job{Thread: talk.ID, Kind: Chat, After: said.Seq - 1, Message: said.ID, Model: talk.Model, Started: said.Time}, nil
}
