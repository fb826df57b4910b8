package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/minder"
)

func (a *app) mindTickCommand() *cobra.Command {
	var dry, all bool
	cmd := &cobra.Command{
		Use:   "tick",
		Short: "Have the subconscious look once, now",
		Long: `Have the subconscious look once, now: sensors look, roles to which something is new think
about it, what they find is merged, and what was escalated is decided and delivered. Says
what ran, what it cost, what changed and why; with --json, prints the events.

With --dry-run sensors look too, but no model is asked and nothing is kept: shows what each
role would be asked, and how long that is.`,
		Example: "ponder mind tick\nponder mind tick --dry-run\nponder mind tick --all --json",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dry {
				return a.mindRehearse(cmd.Context(), all, time.Now())
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
func (a *app) oneTick(ctx context.Context) (unlock func(), err error) {
	if _, err := a.config(); err != nil {
		return nil, err
	}
	file, err := a.mindLock()
	if err != nil {
		return nil, err
	}
	for begun, said := time.Now(), false; ; said = true {
		unlock, other, err := lockFile(file + ".tick")
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

func (a *app) mindTick(ctx context.Context, all bool) error {
	unlock, err := a.oneTick(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	store, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	h, err := a.mindHome(ctx, store)
	if err != nil {
		return err
	}
	defer h.close()
	a.note("%s", h.cast.says())
	before, err := readMind(ctx, store)
	if errors.Is(err, errNoMind) {
		before, err = newMindLog(), nil
	}
	if err != nil {
		return err
	}
	report, tickErr := h.Tick(ctx, all)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := &teller{app: a, log: before}
	if err := t.catchUp(ctx, store); err != nil {
		return errors.Join(tickErr, err)
	}
	a.sensorTrouble(h)
	a.waitingNote(t.log, time.Now())
	a.cooldownNote(t.log, time.Now())
	a.unsentNote(t.log, time.Now())
	if tickErr != nil {
		return tickErr
	}
	if a.flags.json {
		if report.Ran {
			return nil
		}
		return a.object(noTick{Why: report.Why})
	}
	text := reportText(report)
	if text != "" {
		a.printf("%s\n", text)
	}
	if report.Ran && report.Unaided {
		a.note("%s", a.unaidedText(report))
	}
	return nil
}

// A noTick is what --json prints where there was no tick.
type noTick struct {
	Tick bool   `json:"tick"`
	Why  string `json:"why"`
}

// unaidedText says why a tick asked no model.
func (a *app) unaidedText(r minder.Report) string {
	m := a.cfg.Mind
	if m.Tokens() == 0 {
		return "by rules alone: mind.tokens_per_day is 0, which turns models off"
	}
	tokens := max(0, m.Tokens()-r.Spent.Tokens)
	text := fmt.Sprintf("left today: %s", counted(tokens, "token", "tokens"))
	if m.Dollars() > 0 {
		text += ", " + usd(max(0, m.Dollars()-r.Spent.Money.USD()), 0, 0)
	}
	return "by rules alone: the next call might not fit in what a day may cost (" + text + ", less what is at work)"
}

// sensorTrouble says which sensors cannot look.
func (a *app) sensorTrouble(h *mindHome) {
	for _, w := range h.Status() {
		if w.Error != "" {
			a.say("sensor %s cannot look: %s", w.Sensor, oneLine(w.Error))
		}
	}
}

// reportText says what a tick came to, beside what the log says of it.
func reportText(r minder.Report) string {
	var parts []string
	if !r.Ran {
		parts = append(parts, "no tick: "+r.Why)
	}
	if r.Decided > 0 && !r.Ran {
		parts = append(parts, counted(r.Decided, "escalation", "escalations")+" of before decided")
	}
	if r.Unsent > 0 {
		parts = append(parts, counted(r.Unsent, "message", "messages")+" could not be sent, and will be tried again")
	}
	if r.Spent.Calls > 0 {
		parts = append(parts, "today "+counted(r.Spent.Calls, "call", "calls")+", "+spentText(r.Spent.Tokens, r.Spent.Money.USD()))
	}
	return oneLine(strings.Join(parts, "; "))
}

// A teller tells what happens on the thread of the subconscious, as it happens.
type teller struct {
	*app
	log *mindLog // what was told
}

// catchUp tells what has come since.
func (t *teller) catchUp(ctx context.Context, log ponder.Log) error {
	for ev, err := range log.Events(ctx, mindID(), t.log.head) {
		if errors.Is(err, ponder.ErrNoThread) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the subconscious: %w", err)
		}
		t.log.apply(ev)
		if err := t.tell(ev); err != nil {
			return err
		}
	}
	return nil
}

// tell tells of an event that was just taken in.
func (t *teller) tell(ev ponder.Event) error {
	if t.flags.json {
		if ev.Internal {
			return nil
		}
		return t.object(ev)
	}
	if text := t.log.eventText(ev); text != "" {
		t.printf("%s", text)
	}
	return nil
}
