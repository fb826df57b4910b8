package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

func (a *cli) sessionResumeCommand() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a session that is paused or was interrupted",
		Long: `Go on with a session that is paused or was interrupted, with the model it began
with. If another process thinks already, look on. -o writes the report of a research.
With --detach, ` + "`ponder serve`" + ` goes on with it, if that runs, or else a process in the
background.`,
		Example: "ponder session resume last\nponder session resume 01K --model openai/gpt-5.2\nponder session resume last --detach",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionResume(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.model, "model", "", "go on with `provider/model`")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "of research: write a report to this `file`: .md, .json or .html")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "go on in the background, and print the id")
	cmd.Flags().BoolVar(&f.internal, "internal", false, "with --json: internal events too")
	return cmd
}

// resumeFlags are what `ponder session resume` is told beside the id.
type resumeFlags struct {
	model, output    string
	detach, internal bool
}

func (a *cli) sessionResume(ctx context.Context, name string, f resumeFlags) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	w.internal = f.internal
	s := w.view.Session
	switch {
	case info.Status.Ended():
		return usagef("session %s is %s: there is nothing to go on with; to see it: %s; to think on from within it: %s",
			w.id, info.Status, w.command("session show", w.id), w.command("session fork", w.id))
	case s.Run == "":
		return usagef("session %s has no question to think about", w.id)
	}
	if err := w.checkOutput(f); err != nil {
		return err
	}
	switch held := info.Status == ponder.Thinking && info.Held; {
	case held && f.model != "":
		return usagef("session %s is being thought about, and goes on with the model that it has: to change that, pause it first: %s", w.id, a.command("session pause", w.id))
	case held && f.detach:
		return w.goesOnAlready()
	case held:
		return w.endWithReport(ctx, store, f.output, w.lookOn(ctx))
	case f.detach:
		if err := a.canDetach(); err != nil {
			return err
		}
		e, err := w.goOnElsewhere(ctx, store, s.Run, f.model)
		if err != nil {
			return err
		}
		return a.sayWhere(w.id, e)
	}
	if err = a.resumeHere(ctx, w, info, store, f); ofStore(err) != nil {
		return w.broken(ctx, err) // also if nothing could be begun
	}
	return err
}

// checkOutput makes sure that the report which -o wants can be written.
func (w *viewing) checkOutput(f resumeFlags) error {
	switch {
	case f.output == "":
		return nil
	case w.looked == nil:
		return usagef("-o: %s is no research; afterwards: ponder session export %s -o FILE", w.id, w.id)
	case f.detach:
		return usagef("-o: with --detach there is no report yet; afterwards: ponder session export %s -o FILE", w.id)
	}
	return checkReportFile(f.output)
}

// goesOnAlready says that a session need not be left to anybody.
func (w *viewing) goesOnAlready() error {
	if w.flags.json {
		return w.object(map[string]any{"id": w.id})
	}
	w.printf("%s\n", w.id)
	w.note("another process thinks about it already; to look on: %s", w.command("session watch", w.id))
	return nil
}

// goOnElsewhere goes on with a session, whose run is given, that is paused or was
// interrupted: at the server, or else in the background. If nobody can, it is paused as it
// was.
func (w *viewing) goOnElsewhere(ctx context.Context, store ponder.Store, run ponder.RunID, model string) (e elsewhere, err error) {
	info, err := store.Thread(ctx, w.id)
	if err != nil {
		return e, fmt.Errorf("look after %s: %w", w.id, err)
	}
	if info.Status != ponder.Paused {
		return w.leaveTo(ctx, store, w.id, model)
	}
	if err := w.waitFor(ctx, letGo); err != nil {
		return e, err
	}
	if _, err := ponder.SendCommands(ctx, store, w.id, ponder.Event{Run: run, Body: ponder.RunResumed{Reason: "resumed by the user"}}); err != nil {
		return e, fmt.Errorf("resume %s: %w", w.id, err)
	}
	if e, err = w.leaveTo(ctx, store, w.id, model); err != nil {
		back := ponder.Event{Run: run, Body: ponder.RunPaused{Reason: "it could not go on"}}
		_, _ = ponder.SendCommands(context.WithoutCancel(ctx), store, w.id, back) // or else it is interrupted, which is as good
	}
	return e, err
}

// resumeHere goes on in this process.
func (a *cli) resumeHere(ctx context.Context, w *viewing, info ponder.Info, store *sqlite.Store, f resumeFlags) error {
	s := w.view.Session
	p, err := a.prepareAgain(ctx, info, s, f.model)
	if err != nil {
		return err
	}
	t, err := a.thinker(ctx, store, p.Models, w.sight(), w.onDelta)
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
func (a *cli) prepareAgain(ctx context.Context, info ponder.Info, s session.Session, model string) (*app.SessionModels, error) {
	if model == "" && info.Model == "" && s.Metadata.WithoutModel {
		return &app.SessionModels{}, nil
	}
	l, err := a.ModelSet(ctx, model)
	if err != nil {
		return nil, err
	}
	if slow := l.Choices.Of(ponder.Slow).Models; model == "" && info.Model != "" && (slow == nil || slow[0] != info.Model) {
		if l, err = a.ModelSet(ctx, info.Model); err != nil {
			return nil, err
		}
	}
	roles := rolesOf(info.Kind)
	models, err := l.Chains(roles...)
	if err != nil {
		return nil, err
	}
	if err := app.CheckPrices(models, ponder.Budget{Cost: ponder.Cost{Money: money(s.Budget.USD)}}, l.Config); err != nil {
		return nil, err
	}
	return &app.SessionModels{Models: models}, a.CheckModels(ctx, l, models, roles...)
}

// rolesOf returns the roles whose models are asked on a thread of a kind.
func rolesOf(kind ponder.Kind) []ponder.Role {
	if kind == ponder.KindResearch {
		return researchRoles()
	}
	return app.SessionRoles()
}

// sight returns what is looked into.
func (w *viewing) sight() app.Sources {
	if w.looked != nil {
		return sightForAgain(w.looked.view)
	}
	return app.SourcesOf(w.view.Session)
}
