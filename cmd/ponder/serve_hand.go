package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ponder"
	"ponder/internal/place"
	"ponder/store/sqlite"
)

// takeTime is how long a server may take to begin with what is left to it.
const takeTime = 5 * time.Second

// handToServer leaves a thread to `ponder serve`, if that runs on the database, and
// reports whether it does.
func (a *app) handToServer(ctx context.Context, store ponder.Store, id ponder.ThreadID) (serving, bool) {
	s, ok := a.served()
	file, is := store.(*sqlite.Store)
	if !ok || !is {
		return s, false
	}
	return s, a.enqueue(ctx, file, id) == nil
}

// enqueue has a thread worked on by a process that serves.
func (a *app) enqueue(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) error {
	p, err := place.Open(ctx, place.Config{Store: store, DB: store.DB(), Node: place.Self(), Work: func(context.Context, ponder.ThreadID) error {
		return errors.New("this process does not work")
	}})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		_ = p.Close(ctx) // what is enqueued is kept
	}()
	return p.Enqueue(ctx, id, a.who(), 0)
}

// takenOn reports whether a thread is worked on before long.
func takenOn(ctx context.Context, store ponder.Threads, id ponder.ThreadID) (bool, error) {
	late := time.NewTimer(takeTime)
	defer late.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		info, err := store.Thread(ctx, id)
		if err != nil {
			return false, fmt.Errorf("look after %s: %w", id, err)
		}
		if hasBegun(info) {
			return true, nil
		}
		select {
		case <-look.C:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// detachToServer leaves a session to `ponder serve`, if that takes it, and says so.
func (a *app) detachToServer(ctx context.Context, store ponder.Store, id ponder.ThreadID) (done bool, err error) {
	s, ok := a.handToServer(ctx, store, id)
	if !ok {
		return false, nil
	}
	if done, err = takenOn(ctx, store, id); !done {
		return false, err
	}
	if a.flags.json {
		return true, a.object(map[string]any{"id": id, "server": s.Address, "pid": s.PID})
	}
	a.printf("%s\n", id)
	a.note("`ponder serve` (process %d) thinks about it; to look on: %s", s.PID, a.command("session watch", id))
	return true, nil
}
