package httpapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ponder"
	"ponder/mode/session"
)

// Bounds of what is kept of sessions that are looked at.
const (
	maxViews = 256
	viewLife = 5 * time.Minute // then it is read anew: another process may have erased contents, which nothing does of sessions
)

// Views keep what sessions look like, so that asking again reads only what is new. They
// are safe for concurrent use.
type views struct {
	log ponder.Log
	now func() time.Time

	mu   sync.Mutex
	list map[ponder.ThreadID]*view
}

// A view is a session, read up to a place.
type view struct {
	mu   sync.Mutex
	made time.Time
	head ponder.Seq
	last time.Time // of the newest event
	session.View
}

func newViews(log ponder.Log) *views {
	return &views{log: log, now: time.Now, list: make(map[ponder.ThreadID]*view)}
}

// look calls show with a session as it is now. The view is of that call alone: show
// copies what it keeps of it.
func (v *views) look(ctx context.Context, info ponder.Info, show func(session.View)) error {
	one := v.of(info.ID)
	one.mu.Lock()
	defer one.mu.Unlock()
	if now := v.now(); one.made.IsZero() || now.Sub(one.made) > viewLife {
		one.View, one.head, one.made = session.NewView(), 0, now
	}
	if one.head < info.Head {
		for ev, err := range v.log.Events(ctx, info.ID, one.head) {
			if err != nil {
				one.made = time.Time{}
				return fmt.Errorf("read %s: %w", info.ID, err)
			}
			one.View, one.head, one.last = one.Apply(ev), ev.Seq, ev.Time
		}
	}
	seen := one.View
	if info.Held && !info.Status.Ended() {
		seen = seen.At(v.now().Sub(one.last))
	}
	show(seen)
	return nil
}

// of returns the place of a thread's view. Where there are too many, some are dropped.
func (v *views) of(id ponder.ThreadID) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.list[id] == nil {
		for other := range v.list {
			if len(v.list) < maxViews {
				break
			}
			delete(v.list, other)
		}
		v.list[id] = &view{}
	}
	return v.list[id]
}

// drop forgets a thread that was removed.
func (v *views) drop(id ponder.ThreadID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.list, id)
}
