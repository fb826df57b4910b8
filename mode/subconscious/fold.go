package subconscious

import (
	"encoding/json"
	"fmt"
	"iter"
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
		return next.keepDecisions(s)
	case ponder.Escalation:
		if b.ID == "" {
			return s
		}
		s = s.clampLimits()
		if b.Outcome == "" {
			s.addUndecided(ev, b)
		} else {
			s.recordDecision(ev, b)
		}
	case ponder.Resolution:
		switch b.As {
		case asRolledBack:
			return s.restoreState(ev, b)
		case Messaged, Acted, Remembered: // answers of the user, which change no entry
			return s
		case Dismissed:
			s = s.clampLimits()
			s.raiseBar(textkit.Line(b.Ref, maxName), nil)
			return s
		}
		s = s.clampLimits()
		s.resolveTopic(ev, b)
	}
	return s
}

// ReadState decodes a stored state, clamps it to its limits, and reports whether it is valid.
func ReadState(js json.RawMessage) (State, bool) {
	var s State
	if len(js) == 0 || len(js) > maxState || json.Unmarshal(js, &s) != nil {
		return State{}, false
	}
	return s.clampLimits(), true
}

// keepDecisions returns s with the decisions and resolutions that before received since s was computed.
func (s State) keepDecisions(before State) State {
	s.Internal.Undecided, s.Internal.MessageTimes = slices.Clone(before.Internal.Undecided), slices.Clone(before.Internal.MessageTimes)
	for _, h := range before.EscalationHistory {
		if at := slices.IndexFunc(s.EscalationHistory, func(x EscalationRecord) bool { return x.ID == h.ID }); at >= 0 && s.EscalationHistory[at].Outcome == "" {
			s.EscalationHistory[at].Outcome = h.Outcome
		}
	}
	for _, t := range before.Internal.Settled {
		if !slices.ContainsFunc(s.Internal.Settled, func(x SettledTopic) bool { return x.Text == t.Text && x.At.Equal(t.At) }) {
			s.settleTopic(t, "")
		}
	}
	return s
}

func (s *State) addUndecided(ev ponder.Event, b ponder.Escalation) {
	id := textkit.Line(b.ID, maxName)
	if !slices.ContainsFunc(s.Internal.Undecided, func(u UndecidedReference) bool { return u.ID == id }) {
		s.Internal.Undecided = lastN(append(s.Internal.Undecided, UndecidedReference{ID: id, Seq: int64(ev.Seq)}), maxUndecided)
	}
}

func (s *State) recordDecision(ev ponder.Event, b ponder.Escalation) {
	id := textkit.Line(b.ID, maxName)
	dropWhere(&s.Internal.Undecided, func(u UndecidedReference) bool { return u.ID == id })
	at := slices.IndexFunc(s.EscalationHistory, func(h EscalationRecord) bool { return h.ID == id })
	if at < 0 {
		at = min(len(s.EscalationHistory), maxHistory-1)
		s.EscalationHistory = lastN(append(s.EscalationHistory, EscalationRecord{ID: id, Summary: Summary(b.Content), Reason: textkit.Line(b.Reason, maxLine), Created: storableTime(ev.Time)}), maxHistory)
	}
	h := &s.EscalationHistory[at]
	again := h.Outcome != ""
	h.Outcome = textkit.Line(b.Outcome, maxLine)
	if b.Outcome == Messaged && !again {
		s.Internal.MessageTimes = lastN(append(s.Internal.MessageTimes, storableTime(ev.Time)), maxMessageTimes)
	}
	if b.Outcome == Dismissed && !again {
		s.raiseBar(id, b.Signatures)
	}
}

// raiseBar makes findings like a dismissed escalation need more importance.
func (s *State) raiseBar(id string, signatures []string) {
	for i := range s.Internal.Alerts {
		a := &s.Internal.Alerts[i]
		if a.Escalation == id || a.Signature != "" && slices.Contains(signatures, a.Signature) {
			a.Dismissed = min(a.Dismissed+1, maxTimes)
		}
	}
}

func (s *State) resolveTopic(ev ponder.Event, b ponder.Resolution) {
	t := SettledTopic{Text: textkit.Line(b.Content, maxLine), Forgotten: b.As == asForgotten, At: storableTime(ev.Time)}
	if e, _ := s.findEntry(b.Ref); e != nil {
		t.Text = e.Summary
		t.Signature = s.Internal.Metadata[e.ID].Signature
	} else if at := slices.IndexFunc(s.EscalationHistory, func(h EscalationRecord) bool { return h.ID == b.Ref && b.Ref != "" }); at >= 0 {
		t.Text = s.EscalationHistory[at].Summary
		for _, a := range s.Internal.Alerts {
			if a.Escalation == b.Ref && a.Signature != "" {
				t.Signature = appendMissing(t.Signature, maxRests, a.Signature)
			}
		}
	}
	if t.Text != "" {
		s.settleTopic(t, b.Ref)
	}
}

func (s *State) settleTopic(t SettledTopic, id string) {
	texts := newReader(nil)
	topic := texts.phraseOf(t.Text)
	says := func(text string) bool {
		return texts.isSame(topic, texts.phraseOf(text)) || texts.coversTopic(topic, texts.phraseOf(text))
	}
	for _, c := range categories {
		dropWhere(s.categoryEntries(c), func(e Entry) bool {
			if e.ID != id && !says(e.Summary) {
				return false
			}
			t.Signature = appendMissing(t.Signature, maxRests, s.Internal.Metadata[e.ID].Signature...)
			dropWhere(&s.Internal.Pending, func(p PendingEscalation) bool { return p.Entry == e.ID })
			delete(s.Internal.Metadata, e.ID)
			return true
		})
	}
	dropWhere(&s.Internal.Pending, func(p PendingEscalation) bool { return says(p.Summary) })
	s.Internal.Settled = trimSettled(append(s.Internal.Settled, t))
}

// RollbackBefore returns the event that restores the state from before a tick of the events. If the tick
// does not exist, the event is zero. newest is the number of the newest tick before it.
func RollbackBefore(events iter.Seq2[ponder.Event, error], tick int) (back ponder.Resolution, newest int, err error) {
	state := NewState()
	for ev, err := range events {
		if err != nil {
			return back, newest, err
		}
		if b, ok := ev.Body.(ponder.Subconscious); ok && b.Tick == tick {
			js, err := json.Marshal(state)
			return ponder.Resolution{Content: fmt.Sprintf("to before tick %d", tick), Ref: strconv.Itoa(tick), As: asRolledBack, State: js}, newest, err
		}
		state = state.Apply(ev)
		newest = state.Internal.Tick
	}
	return back, newest, nil
}

// Rollback marks a state restored to before a tick, until the next tick is merged.
type Rollback struct {
	Tick int       `json:"tick,omitempty"`
	At   time.Time `json:"at,omitzero"`
}

// restoreState restores the state from before a tick. Messages, decisions, read positions and later
// resolutions stay. Restored entries have decayed since then, but to no less than 1.
func (s State) restoreState(ev ponder.Event, b ponder.Resolution) State {
	old, ok := ReadState(b.State)
	if !ok {
		return s
	}
	s = s.clampLimits()
	a, now := &old.Internal, s.Internal
	dropWhere(&a.Pending, func(p PendingEscalation) bool {
		return !slices.ContainsFunc(now.Pending, func(x PendingEscalation) bool { return x.Role == p.Role && x.Summary == p.Summary && x.At.Equal(p.At) })
	})
	at := storableTime(ev.Time)
	old.applyDecay(at, 1)
	a.Tick, a.Next, a.LastRaised = now.Tick, max(a.Next, now.Next), now.LastRaised
	a.Pressed = now.Pressed
	a.Read, a.Alerts, a.Settled, a.Undecided = now.Read, now.Alerts, now.Settled, now.Undecided
	a.Deadlines = now.Deadlines
	a.LookUpRequests, a.LookUpRecords, a.MessageTimes = now.LookUpRequests, now.LookUpRecords, now.MessageTimes
	tick, _ := strconv.Atoi(b.Ref)
	a.Rollback = Rollback{Tick: clamp(tick, 0, maxNumber), At: at}
	old.dropSettled()
	return old
}

// dropSettled removes entries whose topic is forgotten, or was settled after they were created.
func (s *State) dropSettled() {
	texts := newReader(nil)
	for _, t := range s.Internal.Settled {
		topic := texts.phraseOf(t.Text)
		for _, c := range categories {
			dropWhere(s.categoryEntries(c), func(e Entry) bool {
				if !t.Forgotten && e.Created.After(t.At) {
					return false
				}
				said := texts.phraseOf(e.Summary)
				if !texts.isSame(topic, said) && !texts.coversTopic(topic, said) {
					return false
				}
				delete(s.Internal.Metadata, e.ID)
				return true
			})
		}
	}
}
