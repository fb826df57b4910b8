package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

func (a *app) sessionResumeCommand() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a session that is paused or was interrupted",
		Long: `Go on with a session that is paused or was interrupted, with the model it began
with. If another process thinks already, look on. -o writes the report of a research.`,
		Example: "ponder session resume last\nponder session resume 01K --model openai/gpt-5.2",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionResume(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.model, "model", "", "go on with `provider/model`")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "of research: write a report to this `file`: .md, .json or .html")
	cmd.Flags().BoolVar(&f.internal, "internal", false, "with --json: internal events too")
	return cmd
}

// resumeFlags are what `ponder session resume` is told beside the id.
type resumeFlags struct {
	model, output string
	internal      bool
}

func (a *app) sessionResume(ctx context.Context, name string, f resumeFlags) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	w.internal = f.internal
	s := w.view.Session
	switch {
	case info.Status.Ended():
		return usagef("session %s is %s: there is nothing to go on with; to see it: ponder session show %s", w.id, info.Status, w.id)
	case s.Run == "":
		return usagef("session %s has no question to think about", w.id)
	}
	if f.output != "" {
		if w.looked == nil {
			return usagef("-o: %s is no research; afterwards: ponder session export %s -o FILE", w.id, w.id)
		}
		if err := checkReportFile(f.output); err != nil {
			return err
		}
	}
	if info.Status == ponder.Thinking && info.Held {
		return w.endWithReport(ctx, store, f.output, w.lookOn(ctx))
	}
	return a.resumeHere(ctx, w, info, store, f)
}

// resumeHere goes on in this process.
func (a *app) resumeHere(ctx context.Context, w *viewing, info ponder.Info, store *sqlite.Store, f resumeFlags) error {
	s := w.view.Session
	p, err := a.prepareAgain(ctx, info, s, f.model)
	if err != nil {
		return err
	}
	t, err := a.thinker(ctx, store, p.models, w.sight(), w.onDelta)
	if err != nil {
		return err
	}
	defer t.close(ctx)
	if info.Status == ponder.Paused {
		if err := w.waitFor(ctx, letGo); err != nil {
			return err
		}
		if err := w.wish(ctx, "resume", ponder.RunResumed{Reason: "resumed by the user"}); err != nil {
			return err
		}
	}
	a.note("going on with %s after %s: %s", w.id, w.soFar(), clip(oneLine(s.Question), 80))
	err = w.work(ctx, t)
	switch {
	case errors.Is(err, errDetach):
		return w.handOver(ctx, t)
	case errors.Is(err, ponder.ErrHeld):
		return w.endWithReport(ctx, store, f.output, w.lookOn(ctx))
	}
	w.keep(ctx, store)
	return w.endWithReport(ctx, store, f.output, w.end(ctx, err))
}

// letGo reports whether a session can be gone on with: who held it when it was paused
// has let go of it, or it is thought about again.
func letGo(info ponder.Info) bool { return !info.Held || info.Status != ponder.Paused }

// lookOn shows what another process thinks.
func (w *viewing) lookOn(ctx context.Context) error {
	w.note("another process thinks about it already; looking on")
	return w.watched(w.watch(ctx))
}

// watched returns how a command ends that looked on. Who left it to itself has
// seen what he wanted to see.
func (w *viewing) watched(err error) error {
	switch {
	case errors.Is(err, errDetach):
		return nil
	case err != nil:
		return err
	}
	return w.outcome()
}

// prepareAgain finds the models to go on with: the one the user names now, else
// what is configured, if the session began with that, else the model it began
// with.
func (a *app) prepareAgain(ctx context.Context, info ponder.Info, s session.Session, model string) (*prepared, error) {
	if model == "" && info.Model == "" && s.Metadata.WithoutModel {
		return &prepared{}, nil
	}
	l, err := a.lineup(ctx, model)
	if err != nil {
		return nil, err
	}
	if slow := l.choices.Of(ponder.Slow).Models; model == "" && info.Model != "" && (slow == nil || slow[0] != info.Model) {
		if l, err = a.lineup(ctx, info.Model); err != nil {
			return nil, err
		}
	}
	roles := rolesOf(info.Kind)
	models, err := l.models(roles...)
	if err != nil {
		return nil, err
	}
	if err := priced(models, ponder.Budget{Cost: ponder.Cost{Money: money(s.Budget.USD)}}, l.cfg); err != nil {
		return nil, err
	}
	return &prepared{models: models}, a.check(ctx, l, models, roles...)
}

// rolesOf returns the roles whose models are asked on a thread of a kind.
func rolesOf(kind ponder.Kind) []ponder.Role {
	if kind == ponder.KindResearch {
		return researchRoles()
	}
	return sessionRoles()
}

// sight returns what is looked into.
func (w *viewing) sight() sight {
	if w.looked != nil {
		return sightForAgain(w.looked.view)
	}
	return sightOf(w.view.Session)
}
