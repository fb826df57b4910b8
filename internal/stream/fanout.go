package stream

import (
	"context"
	"runtime"
	"time"
)

// Limits of waking watchers.
const (
	groupSize       = 64                   // watchers per group
	pausePerWatcher = 5 * time.Microsecond // pause per watcher after a round
	minPause        = time.Millisecond     // shorter pauses are skipped
	maxDirectWakes  = 4                    // up to this number, the sender wakes the watchers itself
)

// A group is a set of watchers that wake together. The feed's mutex protects its fields.
type group struct {
	members int
	changed chan struct{} // closed when something is new
}

// joinGroup returns a group with a free place. The caller holds f.mu.
func (f *feed) joinGroup() *group {
	for _, g := range f.groups {
		if g.members < groupSize {
			g.members++
			return g
		}
	}
	g := &group{members: 1, changed: make(chan struct{})}
	f.groups = append(f.groups, g)
	return g
}

// wantsPieces reports whether a watcher wants pieces.
func (f *feed) wantsPieces() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.pieceReaders > 0
}

// wakeWatchers wakes a few watchers itself, or signals fanOut. It never blocks. The caller holds
// f.mu.
func (f *feed) wakeWatchers() {
	if len(f.groups) == 1 && f.groups[0].members <= maxDirectWakes {
		f.groups[0].wakeMembers()
		return
	}
	select {
	case f.pending <- struct{}{}:
	default: // a signal is pending
	}
}

// fanOut wakes all watchers after each signal, until ctx is done. It yields between groups
// and pauses between rounds. Otherwise thousands of writing watchers would take the
// processors from the engine that they watch.
func (f *feed) fanOut(ctx context.Context) {
	for {
		select {
		case <-f.pending:
		case <-ctx.Done():
			return
		}
		woken := 0
		for i := 0; ; i++ {
			n, ok := f.wakeGroup(i)
			if !ok {
				break
			}
			woken += n
			runtime.Gosched()
		}
		if pause := time.Duration(woken) * pausePerWatcher; pause >= minPause {
			time.Sleep(pause)
		}
	}
}

// wakeGroup wakes group i, and returns its size, or false if there is none.
func (f *feed) wakeGroup(i int) (members int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i >= len(f.groups) {
		return 0, false
	}
	f.groups[i].wakeMembers()
	return f.groups[i].members, true
}

// wakeMembers wakes the group. The caller holds f.mu.
func (g *group) wakeMembers() {
	if g.members > 0 {
		close(g.changed)
		g.changed = make(chan struct{})
	}
}
