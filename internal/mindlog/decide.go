package mindlog

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

// Values of [ponder.Resolution] for the subconscious.
const (
	asResolved   = ""
	asForgotten  = "forgotten"
	asRolledBack = "rolled_back"
)

// maxTopic bounds a topic, in bytes.
const maxTopic = 500

// Resolve settles an entry, or a topic in the user's words. It returns the removed entries.
func Resolve(ctx context.Context, a *app.App, what string, now time.Time) (row Row, removed []Entry, err error) {
	m, err := Open(ctx, a)
	if err != nil {
		return row, nil, err
	}
	said := ponder.Resolution{Content: textkit.OneLine(what), As: asResolved}
	e, err := m.Find(what, now)
	switch {
	case err == nil:
		said.Content, said.Ref = e.Summary, e.ID
	case looksLikeEntry(said.Content):
		return row, nil, err
	case len(said.Content) < 3:
		return row, nil, app.Invalidf("text", "%w, and a topic has at least 3 letters", err)
	case !subconscious.IsTopic(said.Content):
		return row, nil, app.Invalidf("text", "%q is too vague; name the topic, as in \"the invoice of the printer\"", textkit.Truncate(said.Content, 20))
	case len(said.Content) > maxTopic:
		return row, nil, app.Invalidf("text", "the topic has %s bytes; the limit is %s", textkit.Number(len(said.Content)), textkit.Number(maxTopic))
	default:
		said.Ref = m.sameAs(said.Content, now)
	}
	if row, err = appendResolved(ctx, a, said); err != nil {
		return row, nil, err
	}
	after, err := Open(ctx, a)
	if err != nil {
		return row, nil, err
	}
	left := after.allEntries(now)
	for _, l := range listsOf(m.State.DecayTo(now)) {
		for _, e := range l.entries {
			if left[e.ID].List == "" {
				removed = append(removed, Entry{e, l.name})
			}
		}
	}
	return row, removed, nil
}

// sameAs returns the id of the entry with the same meaning, or "".
func (m *Log) sameAs(text string, now time.Time) string {
	for _, l := range listsOf(m.State.DecayTo(now)) {
		for _, e := range l.entries {
			if strings.EqualFold(e.Summary, text) || subconscious.SameFinding(e.Summary, text) {
				return e.ID
			}
		}
	}
	return ""
}

// Forget removes an entry permanently.
func Forget(ctx context.Context, a *app.App, name string, now time.Time) (Row, error) {
	m, err := Open(ctx, a)
	if err != nil {
		return Row{}, err
	}
	e, err := m.Find(name, now)
	if err != nil {
		return Row{}, err
	}
	return appendResolved(ctx, a, ponder.Resolution{Content: e.Summary, Ref: e.ID, As: asForgotten})
}

// Rollback restores the state before a tick.
func Rollback(ctx context.Context, a *app.App, tick int) (Row, error) {
	m, err := Open(ctx, a)
	if err != nil {
		return Row{}, err
	}
	said, newest, err := subconscious.RollbackBefore(m.eventSeq(), tick)
	switch {
	case err != nil:
		return Row{}, fmt.Errorf("roll back to before tick %d: %w", tick, err)
	case said.As == "":
		return Row{}, app.Invalidf("tick", "tick %d does not exist; the newest is %d", tick, newest)
	}
	return appendResolved(ctx, a, said)
}

func (m *Log) eventSeq() iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for _, ev := range m.events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func appendResolved(ctx context.Context, a *app.App, said ponder.Resolution) (Row, error) {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return Row{}, err
	}
	defer store.Close()
	events, err := store.Append(ctx, subconscious.ThreadOf(a.Owner()), 0, ponder.Event{Body: said})
	if err != nil {
		return Row{}, fmt.Errorf("send to the subconscious: %w", err)
	}
	return userRow(events[0], said), nil
}
