package subconscious

import (
	"encoding/json"
	"ponder/internal/textkit"
	"slices"

	"ponder"
)

// What became of things that a user settled: Resolved.As.
const (
	asForgotten  = "forgotten"
	asRolledBack = "rolled_back"
)

// Outcomes of escalations.
const outcomeDismiss = "dismiss"

// maxState is how many bytes of a stored state are read.
const maxState = 1 << 20

// Apply returns the state after an event of its thread: ticks, decisions, and what the
// user said is resolved, forgotten or rolled back. It takes any event, and never changes s.
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

// ReadState reads a state that was stored, and reports whether it is one. Nothing in it
// is out of bounds.
func ReadState(js json.RawMessage) (State, bool) {
	var s State
	if len(js) == 0 || len(js) > maxState || json.Unmarshal(js, &s) != nil {
		return State{}, false
	}
	return s.bounded(), true
}

// after returns a state that replaces another: what was decided or said since it was
// made stays so.
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

// raised notes an escalation that waits for its decision.
func (s *State) raised(ev ponder.Event, b ponder.Escalation) {
	id := textkit.Line(b.ID, maxName)
	if !slices.ContainsFunc(s.Aside.Undone, func(u UndecidedReference) bool { return u.ID == id }) {
		s.Aside.Undone = last(append(s.Aside.Undone, UndecidedReference{ID: id, Seq: int64(ev.Seq)}), maxUndone)
	}
}

// decided notes what came of an escalation.
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

// resolve settles an entry, or a topic in the user's words, and removes what says it.
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

// settle removes from the mind the entry of an id and what else says what is settled.
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
