package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/app"
	"ponder/store/sqlite"
)

type chatFlags struct {
	thread    string
	goOn      bool
	docs      []string
	knowledge []string
	model     string
	think     bool
	plan      bool
	noMemory  bool
	noWeb     bool
}

func (f *chatFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.thread, "thread", "", "continue the conversation with this `id`")
	flags.BoolVar(&f.goOn, "continue", false, "continue the newest conversation")
	f.addSourceFlags(flags)
}

func (f *chatFlags) addSourceFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.docs, "docs", nil, "search the file or folder at `path`; may be repeated")
	flags.StringArrayVar(&f.knowledge, "knowledge", nil, "search the notes in the `folder`; may be repeated")
	flags.StringVar(&f.model, "model", "", "use `provider/model`")
	flags.BoolVar(&f.think, "think", false, "let the model note its thoughts before it answers (default: enable_thinking)")
	flags.BoolVar(&f.plan, "plan", false, "show a plan and ask for approval before any change")
	flags.BoolVar(&f.noMemory, "no-memory", false, "neither search the memory nor add to it")
	flags.BoolVar(&f.noWeb, "no-web", false, "do not search the web")
}

// chatSetup returns the setup of a conversation after all checks that need no model.
func (f *chatFlags) chatSetup(ctx context.Context, a *cli, given func(string) bool) (app.ChatSetup, error) {
	docs, err := a.CheckDocs(ctx, "docs", f.docs)
	if err != nil {
		return app.ChatSetup{}, err
	}
	notes, err := a.CheckDocs(ctx, "knowledge", f.knowledge)
	if err != nil {
		return app.ChatSetup{}, err
	}
	docs = append(docs, notes...)
	memory, web, _, err := a.DefaultSources(ctx, f.noMemory, f.noWeb)
	if err != nil {
		return app.ChatSetup{}, err
	}
	t, err := a.ChatSetup(ctx, f.model, memory || len(docs) > 0)
	if err != nil {
		return app.ChatSetup{}, err
	}
	if given("think") {
		t.Think = f.think
	}
	t.Plan, t.Named, t.NoMemory = f.plan, f.model, f.noMemory
	t.Sources = app.Sources{Docs: docs, Memory: memory, Web: web, OtherTools: true}
	return t, nil
}

func workerArgs(t app.ChatSetup, id ponder.ThreadID) []string {
	line := []string{"thread", "work", string(id)}
	for _, path := range t.Sources.Docs {
		line = append(line, "--docs", path)
	}
	if t.Named != "" {
		line = append(line, "--model", t.Named)
	}
	for flag, on := range map[string]bool{"--think": t.Think, "--plan": t.Plan, "--no-memory": t.NoMemory, "--no-web": !t.Sources.Web} {
		if on {
			line = append(line, flag)
		}
	}
	return line
}

// findConversation returns the named conversation and its head, or an empty id.
func (f *chatFlags) findConversation(ctx context.Context, a *cli, store *sqlite.Store) (id ponder.ThreadID, head ponder.Seq, err error) {
	name := f.thread
	switch {
	case f.thread != "" && f.goOn:
		return "", 0, usagef("--thread and --continue cannot be combined: use one")
	case f.goOn:
		name = "last"
	case f.thread == "":
		return "", 0, nil
	}
	info, err := a.FindThread(ctx, store, name, ponder.KindConversation)
	if errors.Is(err, app.ErrNothingYet) {
		err = usagef("no conversation yet: start one with `ponder ask TEXT`")
	}
	return info.ID, info.Head, err
}

func modelBanner(t app.ChatSetup) string {
	if t.Extractive {
		return noModelText(t.Missed, "; answers consist of quotations; `ponder doctor` explains how to set up a model")
	}
	return "talking with " + t.Name
}

// noModelText explains that no model is configured, or why the configured one is unavailable.
func noModelText(missed error, what string) string {
	if missed == nil {
		return "no model is configured" + what
	}
	return missed.Error() + what
}

// backgroundEvents returns the background events to append before a message, and the escalations among
// them. Its errors do not stop the conversation.
func (c *conversation) backgroundEvents(ctx context.Context, said string) (before []ponder.Event, raised []app.OpenEscalation) {
	if !c.setup.Config.Mind.Feeds() || c.setup.Extractive || c.setup.NoMemory {
		return nil, nil
	}
	c.recordDelivered(ctx)
	now := time.Now()
	err := c.background.Read(ctx, c.store)
	if err == nil {
		before = c.background.Background(said, c.id, true, now)
		raised, err = c.background.ClaimEscalations(ctx, c.store, c.threadID(), now)
	}
	if err != nil {
		slog.Warn("cannot add entries of the subconscious to the message", "error", err)
	}
	for _, e := range raised {
		before = append(before, e.Observation())
	}
	return before, raised
}

// recordDelivered records the delivered escalations. Call it once the conversation is certain to stay;
// until then they remain pending.
func (c *conversation) recordDelivered(ctx context.Context) {
	for _, e := range c.deliveredEscalations {
		if err := c.background.NoteDelivered(ctx, c.store, e); err != nil {
			slog.Warn("cannot record a delivered escalation; it may appear again", "error", err)
		}
	}
	c.deliveredEscalations = nil
}

// A turnUpdate is an event, a delta of an unfinished answer, or the final error.
type turnUpdate struct {
	event *ponder.Event
	delta ponder.Delta
	err   error
}

// followUpdates sends updates after an event until ctx is done. A delta comes after the event that
// started its call and before the event with its text.
func (c *conversation) followUpdates(ctx context.Context, after ponder.Seq) <-chan turnUpdate {
	events, lost := followThread(ctx, c.store, c.id, after)
	thread, out := c.id, make(chan turnUpdate)
	send := func(u turnUpdate) bool {
		select {
		case out <- u:
			return true
		case <-ctx.Done():
			return false
		}
	}
	flush := func() bool {
		for _, d := range c.deltas.takeSeen(thread, after) {
			if !send(turnUpdate{delta: d}) {
				return false
			}
		}
		return true
	}
	go func() {
		for flush() {
			select {
			case <-c.deltas.ready:
			case ev := <-events:
				if !flush() || !send(turnUpdate{event: &ev}) {
					return
				}
				after = ev.Seq
			case err := <-lost:
				send(turnUpdate{err: err})
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// A deltaBuffer collects deltas of turns. It is safe for concurrent use, and add does not
// block.
type deltaBuffer struct {
	ready chan struct{} // full if there are deltas

	mu   sync.Mutex
	list []ponder.Delta
}

func (b *deltaBuffer) appendDelta(d ponder.Delta) {
	if d.Text == "" {
		return
	}
	b.mu.Lock()
	if n := len(b.list) - 1; n >= 0 && b.list[n].Key == d.Key && b.list[n].Attempt == d.Attempt && b.list[n].Offset+len(b.list[n].Text) == d.Offset {
		b.list[n].Text += d.Text
	} else {
		b.list = append(b.list, d)
	}
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// takeSeen removes all deltas and returns those of thread whose calls started up to seen.
func (b *deltaBuffer) takeSeen(thread ponder.ThreadID, seen ponder.Seq) []ponder.Delta {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := slices.IndexFunc(b.list, func(d ponder.Delta) bool { return d.Thread == thread && d.Began > seen })
	if n < 0 {
		n = len(b.list)
	}
	list := b.list[:n:n]
	b.list = b.list[n:]
	return slices.DeleteFunc(list, func(d ponder.Delta) bool { return d.Thread != thread })
}
