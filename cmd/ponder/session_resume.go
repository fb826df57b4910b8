package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/app"
	"ponder/store/sqlite"
)

func (a *cli) sessionResumeCommand() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Resume a paused or interrupted session",
		Long: `Resume a paused or interrupted session or research with its first model. If another
process runs the session, watch it. A plan that waits for approval runs. -o writes the report of a research. With --detach, a
running ` + "`ponder serve`" + ` continues the session, or else a background process.`,
		Example: "ponder session resume last\nponder session resume 01K --model openai/gpt-5.2\nponder session resume last --detach",
		Args:    requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionResume(cmd.Context(), args[0], f)
		},
	}
	f.addFlags(cmd.Flags())
	return cmd
}

type resumeFlags struct {
	model, output    string
	detach, internal bool
	notice           noticeFlags
	commands         []ponder.Event // that resume a paused session; nil: RunResumed
}

func (f *resumeFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.model, "model", "", "continue with `provider/model`")
	flags.StringVarP(&f.output, "output", "o", "", "write the report of a research to this `file`: .md, .json or .html")
	f.notice.addFlags(flags)
	flags.BoolVar(&f.detach, "detach", false, "continue in the background and print the ID")
	flags.BoolVar(&f.internal, "internal", false, "with --json: include internal events")
}

// resumption returns the commands that resume a paused run.
func (f resumeFlags) resumption(run ponder.RunID) []ponder.Event {
	if f.commands != nil {
		return f.commands
	}
	return []ponder.Event{{Run: run, Body: ponder.RunResumed{Reason: "resumed by the user"}}}
}

func (a *cli) sessionResume(ctx context.Context, name string, f resumeFlags) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	w.internal = f.internal
	return a.resumeOpened(ctx, w, info, store, f)
}

// resumeOpened resumes a session that openSession returned.
func (a *cli) resumeOpened(ctx context.Context, w *sessionScreen, info ponder.Info, store *sqlite.Store, f resumeFlags) error {
	s := w.View.Session
	switch {
	case info.Status.Ended():
		return conflictf("session %s is %s and cannot be resumed; to show it: %s; to continue in a fork: %s",
			w.Id, info.Status, w.formatCommand("session show", w.Id), w.formatCommand("session fork", w.Id))
	case s.Run == "":
		return usagef("session %s has no question; start a new one with `ponder think QUESTION`", w.Id)
	}
	if err := w.checkOutput(f); err != nil {
		return err
	}
	request, err := f.notice.noticeRequest(a)
	if err == nil {
		err = a.RequestNotice(ctx, store, w.Id, request)
	}
	if err != nil {
		return err
	}
	switch held := info.Status == ponder.Thinking && info.Held; {
	case held && f.model != "":
		return usagef("session %s is running with another model; to change the model, pause it first: %s", w.Id, a.formatCommand("session pause", w.Id))
	case held && f.detach:
		return w.printHeldElsewhere()
	case held:
		return w.finishWithReport(ctx, store, f.output, w.watchHeld(ctx))
	case f.detach:
		if err := a.canDetach(); err != nil {
			return err
		}
		e, err := w.resumeElsewhere(ctx, store, f.resumption(s.Run), f.model)
		if err != nil {
			return err
		}
		return a.printTarget(w.Id, e)
	}
	err = a.resumeHere(ctx, w, info, store, f)
	if storeSentinel(err) != nil {
		return w.explainInterruption(ctx, err)
	}
	return err
}

func (w *sessionScreen) checkOutput(f resumeFlags) error {
	switch {
	case f.output == "":
		return nil
	case w.Research == nil:
		return usagef("-o: %s is not a research; write its report afterwards with: ponder session export %s -o FILE", w.Id, w.Id)
	case f.detach:
		return usagef("-o and --detach cannot be combined: write the report afterwards with: ponder session export %s -o FILE", w.Id)
	}
	return checkReportFile(f.output)
}

func (w *sessionScreen) printHeldElsewhere() error {
	if w.flags.json {
		return w.printJSON(map[string]any{"id": w.Id})
	}
	w.printf("%s\n", w.Id)
	w.printNote("another process runs this session; to watch it: %s", w.formatCommand("session watch", w.Id))
	return nil
}

// resumeElsewhere resumes a paused or interrupted session at the server, else in the background.
// If neither starts, it pauses the session again.
func (w *sessionScreen) resumeElsewhere(ctx context.Context, store ponder.Store, commands []ponder.Event, model string) (e handoffTarget, err error) {
	info, err := store.Thread(ctx, w.Id)
	if err != nil {
		return e, fmt.Errorf("read %s: %w", w.Id, err)
	}
	if info.Status != ponder.Paused {
		return w.handOff(ctx, store, w.Id, model)
	}
	if err := w.waitFor(ctx, isResumable); err != nil {
		return e, err
	}
	if _, err := ponder.SendCommands(ctx, store, w.Id, commands...); err != nil {
		return e, fmt.Errorf("resume %s: %w", w.Id, err)
	}
	if e, err = w.handOff(ctx, store, w.Id, model); err != nil {
		back := ponder.Event{Run: commands[0].Run, Body: ponder.RunPaused{Reason: "it could not go on"}}
		_, _ = ponder.SendCommands(context.WithoutCancel(ctx), store, w.Id, back) // if this fails, the session stays interrupted, which is as good
	}
	return e, err
}

func (a *cli) resumeHere(ctx context.Context, w *sessionScreen, info ponder.Info, store *sqlite.Store, f resumeFlags) error {
	s := w.View.Session
	p, err := a.PrepareAgain(ctx, info, s, f.model)
	if err != nil {
		return err
	}
	t, err := a.Runner(ctx, store, p.Models, w.Sources(), w.onDelta)
	if err != nil {
		return err
	}
	defer t.Close(ctx)
	if info.Status == ponder.Paused {
		if err := w.waitFor(ctx, isResumable); err != nil {
			return err
		}
		if err := w.sendCommands(ctx, "resume", f.resumption(s.Run)...); err != nil {
			return err
		}
	}
	a.printNote("resuming %s after %s: %s", w.Id, w.SoFar(), truncate(oneLine(s.Question), 80))
	err = w.runSession(ctx, t)
	switch {
	case errors.Is(err, errDetach):
		return w.detachRun(ctx, t)
	case errors.Is(err, ponder.ErrHeld):
		return w.finishWithReport(ctx, store, f.output, w.watchHeld(ctx))
	}
	w.Keep(ctx, store)
	defer w.SendNotices(ctx, store, w.Id)
	return w.finishWithReport(ctx, store, f.output, w.finishCommand(ctx, err))
}

// isResumable reports whether a session can be resumed: its holder has released it since the pause,
// or it thinks again.
func isResumable(info ponder.Info) bool { return !info.Held || info.Status != ponder.Paused }

func (w *sessionScreen) watchHeld(ctx context.Context) error {
	w.printNote("another process runs this session; watching it")
	return w.watchOutcome(w.watchSession(ctx))
}

// watchOutcome returns the exit of a viewer. Detaching is success.
func (w *sessionScreen) watchOutcome(err error) error {
	switch {
	case errors.Is(err, errDetach):
		return nil
	case err != nil:
		return err
	}
	return w.printOutcome()
}

func (a *cli) sessionPauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "pause ID",
		Short:   "Pause a session",
		Example: "ponder session pause last",
		Args:    requireID,
		RunE:    runWithArg(a.sessionPause),
	}
}

func (a *cli) sessionPause(ctx context.Context, name string) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	switch {
	case info.Status.Ended():
		return conflictf("session %s is already %s", w.Id, info.Status)
	case info.Status == ponder.Thinking:
		if err := w.sendCommand(ctx, "pause", ponder.RunPaused{Reason: "paused by the user"}); err != nil {
			return err
		}
	}
	if err := w.waitFor(ctx, func(i ponder.Info) bool { return !i.Held }); err != nil {
		return err
	}
	a.printNote("%s is paused; to continue: %s", w.Id, w.resumeCommand())
	return nil
}

// sendCommand sends a command to the session, unless it has ended.
func (w *sessionScreen) sendCommand(ctx context.Context, do string, body ponder.Body) error {
	return w.sendCommands(ctx, do, ponder.Event{Run: w.View.Session.Run, Body: body})
}

func (w *sessionScreen) sendCommands(ctx context.Context, do string, commands ...ponder.Event) error {
	_, err := ponder.SendCommands(ctx, w.Store, w.Id, commands...)
	switch {
	case errors.Is(err, ponder.ErrEnded):
		return usagef("session %s has just ended; to show it: ponder session show %s", w.Id, w.Id)
	case err != nil:
		return fmt.Errorf("%s %s: %w", do, w.Id, err)
	}
	return nil
}

// ackTimeout is the time that a holder has to apply a command.
const ackTimeout = 15 * time.Second

// waitFor blocks until ok accepts the state of the session.
func (w *sessionScreen) waitFor(ctx context.Context, ok func(ponder.Info) bool) error {
	done, err := pollUntil(ctx, ackTimeout, func() (bool, error) {
		info, err := w.Store.Thread(ctx, w.Id)
		if err != nil {
			return false, fmt.Errorf("read %s: %w", w.Id, err)
		}
		return ok(info), nil
	})
	if !done && err == nil {
		err = fmt.Errorf("the process that runs %s does not answer and may have stopped; check with: ponder session show %s", w.Id, w.Id)
	}
	return err
}

func (a *cli) sessionCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cancel ID",
		Short:   "End a session without an answer",
		Long:    "End a session without an answer. Its thoughts stay.",
		Example: "ponder session cancel last",
		Args:    requireID,
		RunE:    runWithArg(a.sessionCancel),
	}
}

func (a *cli) sessionCancel(ctx context.Context, name string) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	if info.Status.Ended() {
		return conflictf("session %s is already %s", w.Id, info.Status)
	}
	if err := w.sendCommand(ctx, "cancel", ponder.Steer{Do: ponder.Cancel}); err != nil {
		return err
	}
	if !info.Held {
		if err := w.applyCommands(ctx, store); err != nil {
			return err
		}
	}
	if err := w.waitFor(ctx, func(i ponder.Info) bool { return i.Status.Ended() }); err != nil {
		return err
	}
	a.printNote("%s is cancelled; to show its thoughts: %s", w.Id, a.formatCommand("session show", w.Id))
	return nil
}

// applyCommands holds the session until it applies commands, without a model. A new holder elsewhere
// is no error.
func (w *sessionScreen) applyCommands(ctx context.Context, store *sqlite.Store) error {
	t, err := w.Runner(ctx, store, nil, app.Sources{}, nil)
	if err != nil {
		return err
	}
	defer t.Close(ctx)
	if err := t.Work(ctx, w.Id); err != nil && !errors.Is(err, ponder.ErrHeld) {
		return err
	}
	return nil
}
