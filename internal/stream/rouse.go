package stream

import (
	"context"
	"runtime"
	"time"
)

// Of how many watchers are told.
const (
	groupSize = 64                   // that are told at a time
	restOfOne = 5 * time.Microsecond // after all were told, for each of them
	leastRest = time.Millisecond     // a shorter one is none
	few       = 4                    // that are told at once, by whoever has something new
)

// A group is watchers that are told together that something has come. Its fields are those
// of the feed's mutex.
type group struct {
	members int
	changed chan struct{} // closed when something comes
}

// join returns a group that has room. The caller holds f.mu.
func (f *feed) join() *group {
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

// isHeard reports whether anybody wants pieces.
func (f *feed) isHeard() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.heard > 0
}

// wake tells watchers that something has come, or has many of them told. It never waits.
// The caller holds f.mu.
func (f *feed) wake() {
	if len(f.groups) == 1 && f.groups[0].members <= few {
		f.groups[0].tell()
		return
	}
	select {
	case f.news <- struct{}{}:
	default: // they will be
	}
}

// rouse tells watchers when something has come, until ctx is done. Whatever comes during a
// round is told with it, or with the next. Between two groups whoever else wants to run
// has a turn, and between two rounds is a rest: thousands who write to their connections
// would otherwise keep the processors from the thinking that they watch.
func (f *feed) rouse(ctx context.Context) {
	for {
		select {
		case <-f.news:
		case <-ctx.Done():
			return
		}
		told := 0
		for i := 0; ; i++ {
			n, ok := f.tell(i)
			if !ok {
				break
			}
			told += n
			runtime.Gosched()
		}
		if rest := time.Duration(told) * restOfOne; rest >= leastRest {
			time.Sleep(rest)
		}
	}
}

// tell tells a group, and returns how many that are; false if there is no such group.
func (f *feed) tell(i int) (members int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i >= len(f.groups) {
		return 0, false
	}
	f.groups[i].tell()
	return f.groups[i].members, true
}

// tell tells those of a group. The caller holds f.mu.
func (g *group) tell() {
	if g.members > 0 {
		close(g.changed)
		g.changed = make(chan struct{})
	}
}
