// Package storerules holds the promises of [ponder.Store] that do not depend on where
// things are kept, so that all stores keep the same ones: what may be appended
// ([Admit]), how a lease and the time in it are counted ([Lease]), what a
// list's [ponder.Info] follows, and which rows events make in the ledger.
package storerules

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ponder"
)

// Admit returns nil if events may be appended to a thread with that head by
// whoever has fence, as far as that can be said without knowing which keys the
// thread has. Held says that fence is a lease in force.
func Admit(fence ponder.Fence, held bool, head ponder.Seq, events []ponder.Event) error {
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

// Keys returns the keys that a store keeps of events, one for each, or "" of those of
// which it keeps none. It returns ErrTaken if two events have the same, and an
// error if one has no body.
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

// isKept reports whether a store keeps the key of an event. It need not if the event has After
// and is no input: only the holder appends such an event, and it has read its own events.
// The ledger finds requests by the keys of calls and tools, and commands find the end of their
// run by the key of [ponder.RunFinished].
func isKept(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.CallFinished, ponder.ToolCall, ponder.ToolResult, ponder.RunFinished:
		return true
	}
	return ev.After == 0 || ev.IsInput()
}

// fewEvents is how many keys are compared with each other sooner than they are
// put into a map.
const fewEvents = 16

// Now returns the time as stores keep it: in UTC, with microseconds.
func Now() time.Time { return Trim(time.Now()) }

// Trim returns t as stores keep it.
func Trim(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Alive reports whether a node that beat then is alive now.
func Alive(beat, now time.Time) bool { return now.Sub(beat) < ponder.DeadAfter }

// Forgotten reports whether a node that beat then has been dead for so long
// that nobody wants to know.
func Forgotten(beat, now time.Time) bool { return now.Sub(beat) > ForgetAfter }

// ForgetAfter is how long a node is remembered after it beat last.
const ForgetAfter = 24 * time.Hour

// A Lease is what a store keeps of the newest lease on a thread.
type Lease struct {
	Fence ponder.Fence
	Node  ponder.NodeID // empty once it is released
	Base  time.Duration // thinking time of the thread when the lease was taken or released
	Clock time.Duration // of the node, when it took the lease
	Seen  time.Duration // the most that an event of a holder says of it
}

// Elapsed returns the thinking time of the thread, as far as the holder, whose
// clock was last heard to be at clock, was heard of.
func (l Lease) Elapsed(clock time.Duration) time.Duration {
	if l.Node == "" {
		return max(l.Base, l.Seen)
	}
	return max(l.Base+max(0, clock-l.Clock), l.Seen)
}

// Take returns the lease of a node whose clock is at own after l, whose
// holder's clock was last heard to be at clock.
func (l Lease) Take(node ponder.NodeID, own, clock time.Duration) Lease {
	return Lease{Fence: l.Fence + 1, Node: node, Base: l.Elapsed(clock), Clock: own, Seen: l.Seen}
}

// Release returns l after its holder released it and has counted elapsed.
func (l Lease) Release(elapsed time.Duration) Lease {
	return Lease{Fence: l.Fence, Base: max(elapsed, l.Base, l.Seen), Seen: l.Seen}
}

// Follow returns info after the thread has grown by ev.
func Follow(info ponder.Info, ev ponder.Event) ponder.Info {
	info = info.Apply(ev)
	info.Head, info.Updated = ev.Seq, Trim(ev.Time)
	if b, ok := ev.Body.(ponder.TitleGenerated); ok {
		info.Title = b.Content
	}
	return info
}

// AsksForRoots reports whether a store must know which root runs of a thread are open, and
// not only how many: so that the info of the thread follows events, and for commands.
func AsksForRoots(open int, events []ponder.Event) bool {
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

// Matches reports whether a filter lets a thread through, but for the limit.
func Matches(f ponder.Filter, info ponder.Info) bool {
	return (f.Kind == "" || f.Kind == info.Kind) && (f.Without == "" || f.Without != info.Kind) &&
		(f.Status == "" || f.Status == statusFor(f, info)) &&
		(f.Owner == "" || f.Owner == info.Owner) &&
		(f.Before.IsZero() || f.Before.Compare(info.Position()) < 0) &&
		len(info.ID) >= len(f.Prefix) && string(info.ID[:len(f.Prefix)]) == f.Prefix
}

// statusFor returns what a filter takes the status of a thread to be.
func statusFor(f ponder.Filter, info ponder.Info) ponder.Status {
	if !f.Idle.IsZero() && info.Status == ponder.Thinking && !info.Held && info.Updated.Before(f.Idle) {
		return ponder.Paused
	}
	return info.Status
}

// Header returns the header of a thread as it is stored, or an error if it
// cannot be.
func Header(t ponder.Thread) (ponder.Thread, error) {
	if t.ID == "" {
		return t, errors.New("a thread needs an id")
	}
	if t.Created.IsZero() {
		t.Created = time.Now()
	}
	t.Created = Trim(t.Created)
	return t, nil
}
