package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"ponder"
)

// A Log is the part of [ponder.Log] that Apply uses.
type Log interface {
	Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error]
	Erase(ctx context.Context, thread ponder.ThreadID, seqs ...ponder.Seq) error
}

// Apply erases the events after a position that the rule makes due, and returns their number.
// After a turn, the caller may pass the position before its message. A crash erases all or none.
func Apply(ctx context.Context, log Log, thread ponder.ThreadID, after ponder.Seq, rule Rule, now time.Time) (int, error) {
	if rule.KeepsAll() {
		return 0, nil
	}
	s := &Scan{}
	if _, err := s.readEvents(ctx, log, thread, after); err != nil {
		return 0, err
	}
	return s.eraseDue(ctx, log, thread, rule, now)
}

// readEvents adds the events after a position and returns the last position.
func (s *Scan) readEvents(ctx context.Context, log Log, thread ponder.ThreadID, after ponder.Seq) (ponder.Seq, error) {
	for ev, err := range log.Events(ctx, thread, after) {
		if err != nil {
			return 0, fmt.Errorf("look for old thoughts in %s: %w", thread, err)
		}
		s.Add(ev)
		after = ev.Seq
	}
	return after, nil
}

func (s *Scan) eraseDue(ctx context.Context, log Log, thread ponder.ThreadID, rule Rule, now time.Time) (int, error) {
	due := s.Due(rule, now)
	if len(due) == 0 {
		return 0, nil
	}
	if err := log.Erase(ctx, thread, due...); err != nil {
		return 0, fmt.Errorf("erase old thoughts in %s: %w", thread, err)
	}
	return len(due), nil
}

// A Store is the part of [ponder.Store] that Sweep uses.
type Store interface {
	Log
	ponder.Checkpoints
	List(ctx context.Context, filter ponder.Filter) ([]ponder.Info, error)
}

// Name and version of the checkpoints; the version also includes the rule.
const (
	fold    = "retention"
	version = "1 "
)

// A checkpoint is the stored state of a conversation.
type checkpoint struct {
	Next     time.Time `json:"next,omitzero"`
	Thoughts bool      `json:"thoughts,omitempty"`
}

// Sweep applies a rule to all conversations and returns the number of erased events. For known
// conversations it reads only new events, and the rest only if something may be due. Call it when
// a database is opened, and daily in a long-running process. Several processes may call it at
// once.
func Sweep(ctx context.Context, store Store, rule Rule, now time.Time) (erased int, err error) {
	if rule.KeepsAll() {
		return 0, nil
	}
	infos, err := store.List(ctx, ponder.Filter{Kind: ponder.KindConversation})
	if err != nil {
		return 0, fmt.Errorf("look for old thoughts: %w", err)
	}
	for _, info := range infos {
		n, err := sweepThread(ctx, store, info, rule, now)
		erased += n
		if err != nil && !errors.Is(err, ponder.ErrNoThread) { // removed meanwhile
			return erased, err
		}
	}
	return erased, nil
}

func sweepThread(ctx context.Context, store Store, info ponder.Info, rule Rule, now time.Time) (int, error) {
	at, js, err := store.LoadCheckpoint(ctx, info.ID, fold, version+rule.String())
	if err != nil {
		return 0, fmt.Errorf("look for old thoughts in %s: %w", info.ID, err)
	}
	var last checkpoint
	known := js != nil && json.Unmarshal(js, &last) == nil && (last.Next.IsZero() || now.Before(last.Next))
	switch {
	case known && at == info.Head:
		return 0, nil
	case !known:
		at, last = 0, checkpoint{}
	}
	s := &Scan{thoughts: last.Thoughts}
	head, err := s.readEvents(ctx, store, info.ID, at)
	if err != nil {
		return 0, err
	}
	n, err := s.eraseDue(ctx, store, info.ID, rule, now)
	if err != nil || n > 0 {
		return n, err // the next sweep handles the rest
	}
	next := s.Next(rule, now)
	if next.IsZero() || !last.Next.IsZero() && last.Next.Before(next) {
		next = last.Next
	}
	if js, err = json.Marshal(checkpoint{next, s.hasThoughts()}); err != nil {
		return 0, fmt.Errorf("look for old thoughts in %s: %w", info.ID, err)
	}
	if err := store.SaveCheckpoint(ctx, info.ID, fold, version+rule.String(), head, js); err != nil {
		return 0, fmt.Errorf("look for old thoughts in %s: %w", info.ID, err)
	}
	return 0, nil
}
