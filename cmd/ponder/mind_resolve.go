package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ponder/internal/app"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/mode/subconscious"
)

// What [ponder.Resolved] says of the subconscious.
const (
	asResolved   = ""
	asForgotten  = "forgotten"
	asRolledBack = "rolled_back"
)

// maxTopic is the longest topic that may be resolved, in bytes.
const maxTopic = 500

func (a *cli) mindResolveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resolve [ENTRY|TEXT]",
		Short: "Say that something is settled: it stays away until there are new facts",
		Long: `Say that something is settled: an entry, or a topic in your words. It stays away until
something new is known of it. Without an argument, list what is settled.`,
		Example: "ponder mind resolve e3\nponder mind resolve \"the invoice of the printer\"\nponder mind resolve",
		Args:    take(0, 1, "the id of an entry, or a topic in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.mindSettled(cmd.Context(), time.Now())
			}
			return a.mindResolve(cmd.Context(), args[0], time.Now())
		},
	}
}

func (a *cli) mindForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "forget ENTRY",
		Short:   "Take an entry off its mind for good",
		Long:    "Take an entry off its mind for good: nothing brings the topic back. What was seen and found\nof it stays in the log.",
		Example: "ponder mind forget e3",
		Args:    take(1, 1, "the id of an entry: `ponder mind show` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mindForget(cmd.Context(), args[0], time.Now())
		},
	}
}

func (a *cli) mindRollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rollback TICK",
		Short: "Go back to what was on its mind before a tick",
		Long: `Go back to what was on its mind before a tick. Nothing is erased: the log says that it was
done, and what was thought since. What was settled, told and looked at stays so.`,
		Example: "ponder mind rollback 12",
		Args:    take(1, 1, "the number of a tick: `ponder mind log` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mindRollback(cmd.Context(), args[0])
		},
	}
}

// mindSettled lists what is settled, the newest first.
func (a *cli) mindSettled(ctx context.Context, now time.Time) error {
	m, err := a.mindLog(ctx)
	if errors.Is(err, errNoMind) {
		a.note("%v", errNoMind)
		return nil
	}
	if err != nil {
		return err
	}
	if len(m.Aside.Settled) == 0 {
		a.note("nothing is settled: `ponder mind resolve ENTRY` says that something is")
	}
	for _, s := range m.Aside.Settled {
		if a.flags.json {
			if err := a.object(s); err != nil {
				return err
			}
			continue
		}
		how := "resolved"
		if s.Forgotten {
			how = "forgotten"
		}
		a.printf("%s, %s: %s\n", how, textkit.Ago(s.At, now), oneLine(s.Text))
	}
	return nil
}

func (a *cli) mindResolve(ctx context.Context, what string, now time.Time) error {
	m, err := a.mindLog(ctx)
	if err != nil {
		return err
	}
	said := ponder.Resolved{Content: oneLine(what), As: asResolved}
	e, err := m.find(what, now)
	switch {
	case err == nil:
		said.Content, said.Ref = e.Summary, e.ID
	case len(said.Content) < 3 || looksLikeEntry(said.Content):
		return err
	case !subconscious.IsTopic(said.Content):
		return usagef("%q says too little: write what it is about, as in \"the invoice of the printer\"", clip(said.Content, 20))
	case len(said.Content) > maxTopic:
		return usagef("the topic has %s bytes, and may have %s", textkit.Number(len(said.Content)), textkit.Number(maxTopic))
	default:
		said.Ref = m.sameAs(said.Content, now)
	}
	if err := a.mindSay(ctx, said); err != nil || a.flags.json {
		return err
	}
	return a.mindRemoved(ctx, m, now)
}

// mindRemoved prints which entries are not on its mind any more that were before.
func (a *cli) mindRemoved(ctx context.Context, before *mindLog, now time.Time) error {
	m, err := a.mindLog(ctx)
	if err != nil {
		return err
	}
	left := m.entries(now)
	for _, l := range listsOf(before.State.At(now)) {
		for _, e := range l.list {
			if left[e.ID].list == "" {
				a.printf("removed %s %s\n", e.ID, oneLine(e.Summary))
			}
		}
	}
	return nil
}

// sameAs returns the id of the entry that says the same as a text, or "".
func (m *mindLog) sameAs(text string, now time.Time) string {
	for _, l := range listsOf(m.State.At(now)) {
		for _, e := range l.list {
			if strings.EqualFold(e.Summary, text) || subconscious.SameFinding(e.Summary, text) {
				return e.ID
			}
		}
	}
	return ""
}

func (a *cli) mindForget(ctx context.Context, name string, now time.Time) error {
	m, err := a.mindLog(ctx)
	if err != nil {
		return err
	}
	e, err := m.find(name, now)
	if err != nil {
		return err
	}
	return a.mindSay(ctx, ponder.Resolved{Content: e.Summary, Ref: e.ID, As: asForgotten})
}

func (a *cli) mindRollback(ctx context.Context, word string) error {
	tick, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(word), "#"))
	if err != nil || tick < 1 {
		return usagef("%q is no number of a tick: `ponder mind log` shows them", clip(oneLine(word), 20))
	}
	m, err := a.mindLog(ctx)
	if err != nil {
		return err
	}
	before, ok := m.before(tick)
	if !ok {
		return usagef("there is no tick %d: the newest is %d", tick, m.Aside.Tick)
	}
	state, err := json.Marshal(before)
	if err != nil {
		return fmt.Errorf("go back to before tick %d: %w", tick, err)
	}
	return a.mindSay(ctx, ponder.Resolved{Content: fmt.Sprintf("to before tick %d", tick), Ref: strconv.Itoa(tick), As: asRolledBack, State: state})
}

// before returns the state before a tick.
func (m *mindLog) before(tick int) (subconscious.State, bool) {
	state := subconscious.NewState()
	for _, ev := range m.events {
		if b, ok := ev.Body.(ponder.Subconscious); ok && b.Tick == tick {
			return state, true
		}
		state = state.Apply(ev)
	}
	return state, false
}

// mindSay adds to the thread of the subconscious what the user says of it, and prints that.
func (a *cli) mindSay(ctx context.Context, said ponder.Resolved) error {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	events, err := store.Append(ctx, app.MindID(), 0, ponder.Event{Body: said})
	if err != nil {
		return fmt.Errorf("tell the subconscious: %w", err)
	}
	row := saidRow(events[0], said)
	if a.flags.json {
		return a.object(row)
	}
	a.printf("%s\n", oneLine(row.said()))
	return nil
}
