package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ponder/internal/mindlog"

	"ponder/internal/app"

	"github.com/spf13/cobra"

	"ponder"
)

func (a *cli) mindTickCommand() *cobra.Command {
	var dry, all bool
	cmd := &cobra.Command{
		Use:   "tick",
		Short: "Have the subconscious look once, now",
		Long: `Have the subconscious look once, now: sensors look, roles to which something is new think
about it, what they find is merged, and what was escalated is decided and delivered. Says
what ran, what it cost, what changed and why; with --json, prints the events. Where a
` + "`ponder serve`" + ` keeps the subconscious, it is that which looks, unless --all is given.

With --dry-run sensors look too, but no model is asked and nothing is kept: shows what each
role would be asked, and how long that is.`,
		Example: "ponder mind tick\nponder mind tick --dry-run\nponder mind tick --all --json",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dry {
				return a.mindDryRun(cmd.Context(), all, time.Now())
			}
			return a.mindTick(cmd.Context(), all)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be asked; ask nobody and keep nothing")
	cmd.Flags().BoolVar(&all, "all", false, "have all roles look, though nothing is new to them")
	return cmd
}

// How long a tick waits for another that a command has begun, and how often it looks.
const (
	tickPatience = 3 * time.Minute
	tickLook     = 200 * time.Millisecond
)

// oneTick waits until no other command has the subconscious tick, so that the world is
// not looked at twice.
func (a *cli) oneTick(ctx context.Context) (unlock func(), err error) {
	if _, err := a.Config(); err != nil {
		return nil, err
	}
	file, err := a.MindLock()
	if err != nil {
		return nil, err
	}
	for begun, said := time.Now(), false; ; said = true {
		unlock, other, err := app.LockFile(file + ".tick")
		switch {
		case err != nil:
			return nil, fmt.Errorf("tick: %w", err)
		case unlock != nil:
			return unlock, nil
		case time.Since(begun) > tickPatience:
			return nil, fmt.Errorf("another tick (process %s) does not end: look with `ponder mind log`", other)
		case !said:
			a.note("another tick (process %s) is at work: waiting for it", other)
		}
		select {
		case <-time.After(tickLook):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (a *cli) mindTick(ctx context.Context, all bool) error {
	if !all { // which the API cannot say
		if ticked, err := a.tickAtServer(ctx); ticked || err != nil {
			return err
		}
	}
	unlock, err := a.oneTick(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	h, err := a.MindHome(ctx, store)
	if err != nil {
		return err
	}
	defer h.Close()
	a.note("%s", h.Cast.Says())
	t, err := a.tellerFromNow(ctx, store)
	if err != nil {
		return err
	}
	report, tickErr := h.Tick(ctx, all)
	return t.ticked(ctx, store, app.TickReport{Report: report, Trouble: app.TroubleOf(h.Status())}, tickErr)
}

// tickAtServer has the `ponder serve` tick that keeps the subconscious, since its sensors
// know what they saw before, and tells what has come of that. It reports false if none
// keeps it, or is not for who asks.
func (a *cli) tickAtServer(ctx context.Context) (ticked bool, err error) {
	if _, err := a.Config(); err != nil {
		return false, err
	}
	s, ok := a.served(ctx)
	if !ok || !a.mindKeptBy(s.PID) {
		return false, nil
	}
	if s.token { // which may be that of another owner
		if _, err := s.Thread(ctx, string(app.MindID())); err != nil {
			if isStranger(err) {
				a.note("`ponder serve` (process %d) refuses the token in PONDER_TOKEN: %s", s.PID, whyStranger(err))
			}
			return false, nil
		}
	}
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return false, err
	}
	defer store.Close()
	t, err := a.tellerFromNow(ctx, store)
	if err != nil {
		return false, err
	}
	js, err := s.Tick(ctx)
	var r app.TickReport
	switch {
	case err != nil && isStranger(err):
		return false, nil
	case err != nil && ctx.Err() == nil:
		err = fmt.Errorf("`ponder serve` (process %d), which keeps the subconscious, could not tick: %s", s.PID, reasonWhy(err))
	case err == nil:
		a.note("`ponder serve` (process %d) keeps the subconscious: it has looked", s.PID)
		if err := json.Unmarshal(js, &r); err != nil {
			return true, fmt.Errorf("read the report of a tick: %w", err)
		}
	}
	return true, t.ticked(ctx, store, r, err)
}

func (t *teller) ticked(ctx context.Context, log ponder.Log, r app.TickReport, tickErr error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := t.catchUp(ctx, log); err != nil {
		return errors.Join(tickErr, err)
	}
	t.sayTrouble(r.Trouble)
	t.notes(t.log.Remarks(t.App, time.Now())...)
	if tickErr != nil {
		return tickErr
	}
	if t.flags.json {
		if r.Ran {
			return nil
		}
		return t.object(noTick{Why: r.Why})
	}
	if text := mindlog.TickText(r.Report); text != "" {
		t.printf("%s\n", text)
	}
	if r.Ran && r.Unaided {
		t.note("%s", mindlog.UnaidedText(t.Settings.Mind, r.Report))
	}
	return nil
}

// A noTick is what --json prints where there was no tick.
type noTick struct {
	Tick bool   `json:"tick"`
	Why  string `json:"why"`
}

// A teller tells what happens on the thread of the subconscious, as it happens.
type teller struct {
	*cli
	log *mindlog.Log // what was told
}

// catchUp tells what has come since.
func (t *teller) catchUp(ctx context.Context, log ponder.Log) error {
	return t.log.Follow(ctx, log, t.tell)
}

func (t *teller) tell(ev ponder.Event) error {
	if t.flags.json {
		if ev.Internal {
			return nil
		}
		return t.object(ev)
	}
	if text := t.log.EventText(ev); text != "" {
		t.printf("%s", text)
	}
	return nil
}
