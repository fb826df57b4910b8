// Package storerules implements the parts of the contract of [ponder.Store] that do not
// depend on the storage, so that all stores agree. It decides which appends are allowed
// ([CheckAppend]), and computes leases and their thinking time ([Lease]), the [ponder.Info] of
// lists, and the rows of the ledger.
package storerules

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ponder"
)

// CheckAppend returns nil if the holder of fence may append events to a thread with the head. It
// does not check keys. Held says that fence is a lease in force.
func CheckAppend(fence ponder.Fence, held bool, head ponder.Seq, events []ponder.Event) error {
	if fence != 0 && !held {
		return ponder.ErrFenced
	}
	for _, ev := range events {
		if fence == 0 && !ev.IsInput() {
			return fmt.Errorf("%w: %s", ponder.ErrNotInput, ev.Body.Type())
		}
		if ev.After != 0 && ev.After != head {
			return ponder.ErrStale
		}
	}
	return nil
}

// Keys returns the key of each event, or "" for events whose keys a store does not keep. It
// returns ErrTaken if two events have the same key, and an error if one has no body.
func Keys(events []ponder.Event) ([]string, error) {
	keys := make([]string, len(events))
	var seen map[string]bool
	if len(events) > fewEvents {
		seen = make(map[string]bool, len(events))
	}
	for i, ev := range events {
		if ev.Body == nil {
			return nil, fmt.Errorf("event %d has no body", i+1)
		}
		key := ev.Key()
		if key != "" && (seen[key] || seen == nil && slices.Contains(keys[:i], key)) {
			return nil, fmt.Errorf("%w: %s", ponder.ErrTaken, key)
		}
		if seen != nil {
			seen[key] = true
		}
		keys[i] = key
	}
	for i, ev := range events {
		if !isKept(ev) {
			keys[i] = ""
		}
	}
	return keys, nil
}

// isKept reports whether a store keeps the key of an event. A key is not needed if the
// event has After and is no input. Only the holder appends such an event, and it has read
// its own events. The ledger finds requests by the keys of calls and tools. Commands find
// the end of their run by the key of [ponder.RunFinished].
func isKept(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.CallFinished, ponder.ToolCall, ponder.ToolResult, ponder.RunFinished:
		return true
	}
	return ev.After == 0 || ev.IsInput()
}

// fewEvents limits the linear search for duplicates, which is faster than a map for few
// keys.
const fewEvents = 16

// Now returns the time in the precision of stores: UTC, with microseconds.
func Now() time.Time { return Trim(time.Now()) }

// Trim returns t in the precision of stores.
func Trim(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Alive reports whether a node with this last heartbeat is alive.
func Alive(beat, now time.Time) bool { return now.Sub(beat) < ponder.DeadAfter }

// Replaceable reports whether other nodes may take the threads of a node with this last
// heartbeat. A heartbeat in the future shows that the clock was set back. A node that lives
// replaces it within [ponder.HeartbeatInterval].
func Replaceable(beat, now time.Time) bool {
	return !Alive(beat, now) || beat.Sub(now) >= ponder.DeadAfter
}

// Forgotten reports whether a store may forget a node with this last heartbeat.
func Forgotten(beat, now time.Time) bool { return now.Sub(beat) > ForgetAfter }

// ForgetAfter is the age of the last heartbeat at which a store may forget a node.
const ForgetAfter = 24 * time.Hour

// A Lease is the stored state of the newest lease on a thread.
type Lease struct {
	Fence ponder.Fence
	Node  ponder.NodeID // empty after the release, noNode if the holder abandoned it
	Base  time.Duration // thinking time of the thread when the lease was taken or released
	Clock time.Duration // the clock of the node when it took the lease
	Seen  time.Duration // the highest Elapsed in an event of a holder
}

// Elapsed returns the thinking time of the thread, if the last known clock of the holder is
// clock.
func (l Lease) Elapsed(clock time.Duration) time.Duration {
	if l.Node == "" {
		return max(l.Base, l.Seen)
	}
	return max(l.Base+max(0, clock-l.Clock), l.Seen)
}

// Take returns the next lease after l, for a node whose clock is at own. The last known
// clock of the holder of l is clock.
func (l Lease) Take(node ponder.NodeID, own, clock time.Duration) Lease {
	return Lease{Fence: l.Fence + 1, Node: node, Base: l.Elapsed(clock), Clock: own, Seen: l.Seen}
}

// Release returns l after its holder released it with elapsed as the thinking time.
func (l Lease) Release(elapsed time.Duration) Lease {
	return Lease{Fence: l.Fence, Base: max(elapsed, l.Base, l.Seen), Seen: l.Seen}
}

// noNode takes the place of the holder of an abandoned lease. No node has this ID, so that
// the lease looks like one whose holder died.
const noNode ponder.NodeID = "abandoned"

// Abandon returns l after its holder abandoned it with elapsed as the thinking time.
func (l Lease) Abandon(elapsed time.Duration) Lease {
	l = l.Release(elapsed)
	l.Node = noNode
	return l
}

// ApplyEvent returns the info of a thread after ev.
func ApplyEvent(info ponder.Info, ev ponder.Event) ponder.Info {
	info = info.Apply(ev)
	info.Head, info.Updated = ev.Seq, Trim(ev.Time)
	if b, ok := ev.Body.(ponder.TitleGenerated); ok {
		info.Title = b.Content
	}
	return info
}

// NeedsRoots reports whether the info after events depends on the ids of the open root
// runs, not only on their number. Commands need the ids too.
func NeedsRoots(open int, events []ponder.Event) bool {
	for _, ev := range events {
		if ev.Run.Parent() != "" {
			continue
		}
		switch ev.Body.(type) {
		case ponder.RunStarted:
			open++
		case ponder.RunPaused, ponder.RunResumed, ponder.Steer:
			return true
		case ponder.RunFinished:
			if open--; open > 0 {
				return true
			}
		}
	}
	return false
}

// Matches reports whether a filter selects a thread. It ignores the limit.
func Matches(f ponder.Filter, info ponder.Info) bool {
	return (f.Kind == "" || f.Kind == info.Kind) && (f.Without == "" || f.Without != info.Kind) &&
		(f.Status == "" || f.Status == statusFor(f, info)) &&
		(f.Owner == "" || f.Owner == info.Owner) &&
		(f.Before.IsZero() || f.Before.Compare(info.Position()) < 0) &&
		len(info.ID) >= len(f.Prefix) && string(info.ID[:len(f.Prefix)]) == f.Prefix
}

// statusFor returns the status of a thread for a filter.
func statusFor(f ponder.Filter, info ponder.Info) ponder.Status {
	if !f.Idle.IsZero() && info.Status == ponder.Thinking && !info.Held && info.Updated.Before(f.Idle) {
		return ponder.Paused
	}
	return info.Status
}

// Header returns the stored form of a header, or an error if it has no id.
func Header(t ponder.Thread) (ponder.Thread, error) {
	if t.ID == "" {
		return t, errors.New("thread has no ID")
	}
	if t.Created.IsZero() {
		t.Created = time.Now()
	}
	t.Created = Trim(t.Created)
	return t, nil
}
