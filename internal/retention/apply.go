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

// A Log is what Apply reads and erases. [ponder.Log] is one.
type Log interface {
	Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error]
	Erase(ctx context.Context, thread ponder.ThreadID, seqs ...ponder.Seq) error
}

// Apply erases what a rule says of the events of a thread after one, and returns how
// many these are. When a turn has ended, it is enough to look from its message on.
// After a crash it has erased all of them or none.
func Apply(ctx context.Context, log Log, thread ponder.ThreadID, after ponder.Seq, rule Rule, now time.Time) (int, error) {
	if rule.Keeps() {
		return 0, nil
	}
	s := &Scan{}
	if _, err := s.read(ctx, log, thread, after); err != nil {
		return 0, err
	}
	return s.erase(ctx, log, thread, rule, now)
}

// read takes in what comes after an event, and returns where that ends.
func (s *Scan) read(ctx context.Context, log Log, thread ponder.ThreadID, after ponder.Seq) (ponder.Seq, error) {
	for ev, err := range log.Events(ctx, thread, after) {
		if err != nil {
			return 0, fmt.Errorf("look for old thoughts in %s: %w", thread, err)
		}
		s.Add(ev)
		after = ev.Seq
	}
	return after, nil
}

func (s *Scan) erase(ctx context.Context, log Log, thread ponder.ThreadID, rule Rule, now time.Time) (int, error) {
	due := s.Due(rule, now)
	if len(due) == 0 {
		return 0, nil
	}
	if err := log.Erase(ctx, thread, due...); err != nil {
		return 0, fmt.Errorf("erase old thoughts in %s: %w", thread, err)
	}
	return len(due), nil
}

// A Store is what Sweep works on. [ponder.Store] is one.
type Store interface {
	Log
	ponder.Checkpoints
	List(ctx context.Context, filter ponder.Filter) ([]ponder.Info, error)
}

// fold is the name of the checkpoints, and version what else decides them.
const (
	fold    = "retention"
	version = "1 "
)

// A seen is what is kept of a conversation that was looked at.
type seen struct {
	Next     time.Time `json:"next,omitzero"`
	Thoughts bool      `json:"thoughts,omitempty"`
}

// Sweep applies a rule to all conversations, and returns how many events it has
// erased. Of a conversation that it has looked at before it reads what is new, and
// the rest only when something of it may be due. Call it when a database is opened,
// and once a day in a process that stays. It may be called in several processes at
// once.
func Sweep(ctx context.Context, store Store, rule Rule, now time.Time) (erased int, err error) {
	if rule.Keeps() {
		return 0, nil
	}
	infos, err := store.List(ctx, ponder.Filter{Kind: ponder.KindConversation})
	if err != nil {
		return 0, fmt.Errorf("look for old thoughts: %w", err)
	}
	for _, info := range infos {
		n, err := sweep(ctx, store, info, rule, now)
		erased += n
		if err != nil && !errors.Is(err, ponder.ErrNoThread) { // removed meanwhile
			return erased, err
		}
	}
	return erased, nil
}

// sweep applies a rule to a conversation.
func sweep(ctx context.Context, store Store, info ponder.Info, rule Rule, now time.Time) (int, error) {
	at, js, err := store.LoadCheckpoint(ctx, info.ID, fold, version+rule.String())
	if err != nil {
		return 0, fmt.Errorf("look for old thoughts in %s: %w", info.ID, err)
	}
	var last seen
	known := js != nil && json.Unmarshal(js, &last) == nil && (last.Next.IsZero() || now.Before(last.Next))
	switch {
	case known && at == info.Head:
		return 0, nil
	case !known:
		at, last = 0, seen{}
	}
	s := &Scan{thoughts: last.Thoughts}
	head, err := s.read(ctx, store, info.ID, at)
	if err != nil {
		return 0, err
	}
	n, err := s.erase(ctx, store, info.ID, rule, now)
	if err != nil || n > 0 {
		return n, err // what is left is looked at next time
	}
	next := s.Next(rule, now)
	if next.IsZero() || !last.Next.IsZero() && last.Next.Before(next) {
		next = last.Next
	}
	if js, err = json.Marshal(seen{next, s.any()}); err != nil {
		return 0, fmt.Errorf("look for old thoughts in %s: %w", info.ID, err)
	}
	if err := store.SaveCheckpoint(ctx, info.ID, fold, version+rule.String(), head, js); err != nil {
		return 0, fmt.Errorf("look for old thoughts in %s: %w", info.ID, err)
	}
	return 0, nil
}
