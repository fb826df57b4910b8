package subconscious

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

const (
	asForgotten  = "forgotten"
	asRolledBack = "rolled_back"
)

const outcomeDismiss = "dismiss"

// maxState is the maximum size of a stored state, in bytes.
const maxState = 1 << 20

// Apply returns the state after an event of its thread. It handles ticks, decisions and the user's
// resolutions, ignores other events, and never changes s.
func (s State) Apply(ev ponder.Event) State {
	switch b := ev.Body.(type) {
	case ponder.Subconscious:
		next, ok := ReadState(b.State)
		if !ok {
			return s
		}
		return next.after(s)
	case ponder.Escalation:
		if b.ID == "" {
			return s
		}
		s = s.bounded()
		if b.Outcome == "" {
			s.raised(ev, b)
		} else {
			s.decided(ev, b)
		}
	case ponder.Resolved:
		if b.As == asRolledBack {
			return s.rollback(ev, b)
		}
		s = s.bounded()
		s.resolve(ev, b)
	}
	return s
}

// ReadState decodes a stored state, clamps it to its limits, and reports whether it is valid.
func ReadState(js json.RawMessage) (State, bool) {
	var s State
	if len(js) == 0 || len(js) > maxState || json.Unmarshal(js, &s) != nil {
		return State{}, false
	}
	return s.bounded(), true
}

// after returns s with the decisions and resolutions that before received since s was computed.
func (s State) after(before State) State {
	s.Aside.Undone, s.Aside.Told = slices.Clone(before.Aside.Undone), slices.Clone(before.Aside.Told)
	for _, h := range before.EscalationHistory {
		if at := slices.IndexFunc(s.EscalationHistory, func(x Escalated) bool { return x.ID == h.ID }); at >= 0 && s.EscalationHistory[at].Outcome == "" {
			s.EscalationHistory[at].Outcome = h.Outcome
		}
	}
	for _, t := range before.Aside.Settled {
		if !slices.ContainsFunc(s.Aside.Settled, func(x Settled) bool { return x.Text == t.Text && x.At.Equal(t.At) }) {
			s.settle(t, "")
		}
	}
	return s
}

func (s *State) raised(ev ponder.Event, b ponder.Escalation) {
	id := textkit.Line(b.ID, maxName)
	if !slices.ContainsFunc(s.Aside.Undone, func(u UndecidedReference) bool { return u.ID == id }) {
		s.Aside.Undone = last(append(s.Aside.Undone, UndecidedReference{ID: id, Seq: int64(ev.Seq)}), maxUndone)
	}
}

func (s *State) decided(ev ponder.Event, b ponder.Escalation) {
	id := textkit.Line(b.ID, maxName)
	drop(&s.Aside.Undone, func(u UndecidedReference) bool { return u.ID == id })
	at := slices.IndexFunc(s.EscalationHistory, func(h Escalated) bool { return h.ID == id })
	if at < 0 {
		at = min(len(s.EscalationHistory), maxHistory-1)
		s.EscalationHistory = last(append(s.EscalationHistory, Escalated{ID: id, Summary: Summary(b.Content), Reason: textkit.Line(b.Reason, maxLine), Created: plain(ev.Time)}), maxHistory)
	}
	h := &s.EscalationHistory[at]
	again := h.Outcome != ""
	h.Outcome = textkit.Line(b.Outcome, maxLine)
	if b.Outcome == Messaged && !again {
		s.Aside.Told = last(append(s.Aside.Told, plain(ev.Time)), maxTellings)
	}
	if b.Outcome != outcomeDismiss || again {
		return
	}
	for i := range s.Aside.Alerts {
		a := &s.Aside.Alerts[i]
		if a.Escalation == id || a.Signature != "" && slices.Contains(b.Signatures, a.Signature) {
			a.Dismissed = min(a.Dismissed+1, maxTimes)
		}
	}
}

func (s *State) resolve(ev ponder.Event, b ponder.Resolved) {
	t := Settled{Text: textkit.Line(b.Content, maxLine), Forgotten: b.As == asForgotten, At: plain(ev.Time)}
	if e, _ := s.find(b.Ref); e != nil {
		t.Text = e.Summary
		t.Signature = s.Aside.About[e.ID].Signature
	} else if at := slices.IndexFunc(s.EscalationHistory, func(h Escalated) bool { return h.ID == b.Ref && b.Ref != "" }); at >= 0 {
		t.Text = s.EscalationHistory[at].Summary
		for _, a := range s.Aside.Alerts {
			if a.Escalation == b.Ref && a.Signature != "" {
				t.Signature = include(t.Signature, maxRests, a.Signature)
			}
		}
	}
	if t.Text != "" {
		s.settle(t, b.Ref)
	}
}

func (s *State) settle(t Settled, id string) {
	texts := newReader(nil)
	topic := texts.read(t.Text)
	says := func(text string) bool {
		return texts.same(topic, texts.read(text)) || texts.names(topic, texts.read(text))
	}
	for _, c := range categories {
		drop(s.list(c), func(e Entry) bool {
			if e.ID != id && !says(e.Summary) {
				return false
			}
			t.Signature = include(t.Signature, maxRests, s.Aside.About[e.ID].Signature...)
			drop(&s.Aside.Pending, func(p Pending) bool { return p.Entry == e.ID })
			delete(s.Aside.About, e.ID)
			return true
		})
	}
	drop(&s.Aside.Pending, func(p Pending) bool { return says(p.Summary) })
	s.Aside.Settled = fewerSettled(append(s.Aside.Settled, t))
}

// RolledBack marks a state restored to before a tick, until the next tick is merged.
type RolledBack struct {
	Tick int       `json:"tick,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// rollback restores the state from before a tick. Messages, decisions, read positions and later
// resolutions stay. Restored entries have decayed since then, but to no less than 1.
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
	tick, _ := strconv.Atoi(b.Ref)
	a.Back = RolledBack{Tick: within(tick, 0, maxNumber), At: at}
	old.unsettled()
	return old
}

// weaken applies the decay up to now but keeps each entry at 1 or more.
func (s *State) weaken(now time.Time) {
	n := s.Aside.fade(now)
	for _, c := range categories {
		list := *s.list(c)
		for i := range list {
			list[i].Strength = max(1, list[i].Strength-n)
		}
	}
}

// unsettled removes entries whose topic is forgotten, or was settled after they were created.
func (s *State) unsettled() {
	texts := newReader(nil)
	for _, t := range s.Aside.Settled {
		topic := texts.read(t.Text)
		for _, c := range categories {
			drop(s.list(c), func(e Entry) bool {
				if !t.Forgotten && e.Created.After(t.At) {
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

// At returns the state at a time without new events: strengths decay and entries without strength
// disappear.
func (s State) At(now time.Time) State {
	s = s.bounded()
	s.decay(now)
	for _, c := range categories {
		for _, e := range *s.list(c) {
			if e.Strength <= 0 {
				delete(s.Aside.About, e.ID)
			}
		}
		drop(s.list(c), func(e Entry) bool { return e.Strength <= 0 })
	}
	return s
}

// decay subtracts the decay up to now from all entries and returns it. It keeps entries at strength
// zero.
func (s *State) decay(now time.Time) int {
	n := s.Aside.fade(now)
	for _, c := range categories {
		list := *s.list(c)
		for i := range list {
			list[i].Strength = max(0, list[i].Strength-n)
		}
	}
	return n
}

// fade returns the decay since the last call, at most [MaxStrength], and advances Decayed. It
// carries the rounding remainder over.
func (a *Aside) fade(now time.Time) int {
	elapsed := now.Sub(a.Decayed)
	switch {
	case a.Decayed.IsZero(), elapsed < -DecayEvery: // the clock was set back
		a.Decayed = now
		return 0
	case elapsed > math.MaxInt64/2: // near the maximum Duration
		a.Decayed = now
		return MaxStrength
	}
	n := max(0, int((elapsed+DecayEvery/2)/DecayEvery))
	a.Decayed = a.Decayed.Add(time.Duration(n) * DecayEvery)
	return min(n, MaxStrength)
}
