package subconscious

import (
	"slices"
	"strconv"
	"time"

	"ponder"
)

// A RolledBack says that a state is that of before a tick, restored at a time, and that no
// tick was merged into it since.
type RolledBack struct {
	Tick int       `json:"tick,omitempty"` // the state is of before it
	At   time.Time `json:"at,omitzero"`
}

// rollback returns the state of before a tick. What users and decisions were told since
// stays so, and so does what roles have seen; what is settled by now does not come back.
// What does is as strong as it was then, less what has decayed since, but at least 1, so
// that it is seen what there was; from now on it fades.
func (s State) rollback(ev ponder.Event, b ponder.Resolved) State {
	old, ok := ReadState(b.State)
	if !ok {
		return s
	}
	s = s.bounded()
	a, now := &old.Aside, s.Aside
	drop(&a.Pending, func(p Pending) bool {
		return !slices.ContainsFunc(now.Pending, func(x Pending) bool { return x.Role == p.Role && x.Summary == p.Summary && x.At.Equal(p.At) })
	})
	at := plain(ev.Time)
	old.weaken(at)
	a.Tick, a.Next, a.Raised = now.Tick, max(a.Next, now.Next), now.Raised
	a.Read, a.Alerts, a.Settled, a.Undone = now.Read, now.Alerts, now.Settled, now.Undone
	a.Deadlines = now.Deadlines
	a.Wanted, a.Asked, a.Told = now.Wanted, now.Asked, now.Told
	a.Decayed = at
	tick, _ := strconv.Atoi(b.Ref) // zero if it is not said
	a.Back = RolledBack{Tick: within(tick, 0, maxNumber), At: at}
	old.unsettled()
	return old
}

// weaken lets a state of the past decay up to now, but lets nothing come to nothing.
func (s *State) weaken(now time.Time) {
	n := s.Aside.fade(now)
	for _, c := range categories {
		list := *s.list(c)
		for i := range list {
			list[i].Strength = max(1, list[i].Strength-n)
		}
	}
}

// unsettled removes what was settled after it had come up, or was forgotten.
func (s *State) unsettled() {
	texts := newReader(nil)
	for _, t := range s.Aside.Settled {
		topic := texts.read(t.Text)
		for _, c := range categories {
			drop(s.list(c), func(e Entry) bool {
				if !t.Forgotten && e.Created.After(t.At) { // it came back on new facts
					return false
				}
				said := texts.read(e.Summary)
				if !texts.same(topic, said) && !texts.names(topic, said) {
					return false
				}
				delete(s.Aside.About, e.ID)
				return true
			})
		}
	}
}
