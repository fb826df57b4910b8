package subconscious

import (
	"encoding/json"
	"maps"
	"ponder/internal/textkit"
	"slices"
	"time"

	"ponder"
)

// Bounds of what a run knows of its thread.
const (
	maxNews   = 64             // observations that rules are shown at once
	newsAge   = 48 * time.Hour // older ones are no news
	maxKept   = 2048           // observations that may still be needed
	trimEvery = 256            // of them
	maxFails  = 3              // ticks in a row in which a role fails; then rules look
	maxRaised = 200
)

// A knowledge is what follows from what every run of a thread is shown: the state, and
// what of its events may still be needed. It is a value.
type knowledge struct {
	State  State                `json:"state"`
	News   []Seen               `json:"news,omitempty"`   // observations that may still be needed, the oldest first
	Raised []ponder.Event       `json:"raised,omitempty"` // escalations without a decision
	Fails  map[string]int       `json:"fails,omitempty"`  // by role: ticks in a row in which it failed
	Looked map[string]time.Time `json:"looked,omitempty"` // by role: the last tick in which it did not
	Last   time.Time            `json:"last,omitzero"`    // the last tick
	Left   map[string][]int64   `json:"left,omitempty"`   // by role: the seqs of what it was not shown of that up to which it has read
	Lost   map[string]int       `json:"lost,omitempty"`   // by role: observations it was never shown, since it last looked

	Exposed time.Time       `json:"exposed,omitzero"`  // when a model of a role was last shown what strangers wrote
	Tainted map[string]bool `json:"tainted,omitempty"` // of the escalations in the history, those that strangers had a part in
}

// newKnowledge returns what is known of a thread without events.
func newKnowledge() knowledge { return knowledge{State: NewState()} }

func (k knowledge) after(ev ponder.Event, roles []Role) knowledge {
	k.News = slices.Clip(k.News)
	return k.next(ev, roles)
}

// next does the same where what was known before is not used any more. Without roles it
// keeps what is not too old, for those whom they are told later.
func (k knowledge) next(ev ponder.Event, roles []Role) knowledge {
	switch b := ev.Body.(type) {
	case ponder.Observation:
		if own(b.Sensor) {
			return k
		}
		k.News = append(k.News, seenOf(ev, b))
		if len(k.News)%trimEvery == 0 {
			k.trim(roles)
		}
	case ponder.Subconscious:
		if len(roles) > 0 {
			k.trim(roles) // by the state before it: what it merged may be raised yet
		}
		k.State = k.State.Apply(ev)
		k.ticked(b)
	case ponder.Escalation:
		k.State = k.State.Apply(ev)
		k.escalated(ev, b)
	case ponder.Resolved:
		k.State = k.State.Apply(ev)
	}
	return k
}

// own reports whether a sensor is of what the subconscious itself notes of its work.
func own(sensor string) bool {
	kind := sensorKind(sensor)
	return kind == Delivery || kind == Name
}

// seenOf returns an observation as roles are shown it.
func seenOf(ev ponder.Event, b ponder.Observation) Seen {
	b.Cursor = nil
	b.Content, b.Subject, b.State = textkit.TruncateBytes(textkit.CleanTrim(b.Content), 2*maxLine), textkit.Line(b.Subject, maxSign), textkit.Line(b.State, maxName)
	b.Sensor, b.Source = textkit.Line(b.Sensor, maxName), textkit.Line(b.Source, maxSign)
	return Seen{ID: ev.ID, Seq: int64(ev.Seq), At: ev.Time, Observation: b}
}

// ticked takes in what became of the roles in a tick.
func (k *knowledge) ticked(b ponder.Subconscious) {
	t, err := recordOf(b)
	if err != nil {
		return
	}
	fails, looked := maps.Clone(k.Fails), maps.Clone(k.Looked)
	if fails == nil {
		fails = make(map[string]int)
	}
	if looked == nil {
		looked = make(map[string]time.Time)
	}
	for _, r := range t.Roles {
		if r.Exposed && t.At.After(k.Exposed) {
			k.Exposed = t.At
		}
		switch {
		case r.Skipped != "" || !isName(r.Role):
		case r.Failed != "" && !r.Unaided:
			fails[r.Role] = min(fails[r.Role]+1, maxFails)
		default:
			delete(fails, r.Role)
			looked[r.Role] = t.At
			k.shown(r)
		}
	}
	k.Fails, k.Looked, k.Last = fails, looked, t.At
	if len(k.Fails) == 0 {
		k.Fails = nil
	}
}

// shown takes in what a role was not shown when it looked.
func (k *knowledge) shown(r Ran) {
	k.Left, k.Lost = maps.Clone(k.Left), maps.Clone(k.Lost)
	delete(k.Left, r.Role)
	delete(k.Lost, r.Role)
	if len(r.Left) > 0 {
		if k.Left == nil {
			k.Left = make(map[string][]int64)
		}
		k.Left[r.Role] = slices.Sorted(slices.Values(last(r.Left, maxWaiting)))
	}
}

func recordOf(b ponder.Subconscious) (t Tick, err error) {
	if len(b.Changes) == 0 {
		return Tick{Number: b.Tick}, nil
	}
	err = json.Unmarshal(b.Changes, &t)
	return t, err
}

// escalated takes in that something was raised, or decided.
func (k *knowledge) escalated(ev ponder.Event, b ponder.Escalation) {
	if b.Untrusted {
		tainted := map[string]bool{b.ID: true}
		for _, h := range k.State.EscalationHistory {
			if k.Tainted[h.ID] {
				tainted[h.ID] = true
			}
		}
		k.Tainted = tainted
	}
	if b.Outcome == "" {
		k.Raised = last(append(slices.Clip(k.Raised), ev), maxRaised)
		return
	}
	k.Raised = slices.DeleteFunc(slices.Clone(k.Raised), func(o ponder.Event) bool {
		raised, _ := o.Body.(ponder.Escalation)
		return raised.ID == b.ID
	})
	if len(k.Raised) == 0 {
		k.Raised = nil
	}
}

// raised returns the escalation of an id that waits for its decision, and when it was
// raised.
func (k knowledge) raised(id string) (e ponder.Escalation, at time.Time, ok bool) {
	for _, ev := range k.Raised {
		if e, ok = ev.Body.(ponder.Escalation); ok && e.ID == id {
			return e, ev.Time, true
		}
	}
	return ponder.Escalation{}, time.Time{}, false
}

// trim forgets the observations that nobody needs any more.
func (k *knowledge) trim(roles []Role) {
	if len(k.News) == 0 {
		return
	}
	newest := k.News[len(k.News)-1].At // by the clock as it is now
	keep := k.rests()
	for _, r := range roles {
		list, _ := k.unread(r, newest, all)
		if len(list) > maxWaiting+maxNews {
			list = byTurns(list, true)[:maxWaiting+maxNews]
		}
		for _, s := range list {
			keep[s.ID] = true
		}
	}
	news := make([]Seen, 0, len(k.News))
	var gone []Seen
	for _, s := range k.News {
		if keep[s.ID] || len(roles) == 0 && newest.Sub(s.At) < newsAge {
			news = append(news, s)
		} else {
			gone = append(gone, s)
		}
	}
	k.News = last(news, maxKept)
	k.lose(append(gone, news[:len(news)-len(k.News)]...), roles)
}

// lose takes in that observations are forgotten that roles may not have been shown.
func (k *knowledge) lose(gone []Seen, roles []Role) {
	lost := maps.Clone(k.Lost)
	for _, r := range roles {
		for _, s := range gone {
			if k.State.Aside.Read[r.Name] == 0 || !k.waits(r, s) {
				continue
			}
			if lost == nil {
				lost = make(map[string]int)
			}
			lost[r.Name]++
		}
	}
	k.Lost = lost
}

// rests returns the ids of the observations that something rests on which may still be
// told.
func (k knowledge) rests() map[string]bool {
	ids := make(map[string]bool)
	add := func(list []string) {
		for _, id := range list {
			ids[id] = true
		}
	}
	for _, about := range k.State.Aside.About {
		add(about.Rests)
	}
	add(k.State.Aside.Exposure.Rests)
	for _, p := range k.State.Aside.Pending {
		add(p.Rests)
	}
	for _, ev := range k.Raised {
		if b, ok := ev.Body.(ponder.Escalation); ok {
			add(b.Rests)
		}
	}
	return ids
}

// observations returns those of ids that are still known.
func (k knowledge) observations(ids []string) (list []Seen) {
	for _, s := range k.News {
		if slices.Contains(ids, s.ID) {
			list = append(list, s)
		}
	}
	return list
}

// MarshalJSON keeps the content too, which an event has elsewhere.
func (s Seen) MarshalJSON() ([]byte, error) {
	type plain Seen
	return json.Marshal(struct {
		plain
		Content string `json:"content,omitempty"`
	}{plain(s), s.Content})
}

// UnmarshalJSON undoes MarshalJSON.
func (s *Seen) UnmarshalJSON(js []byte) error {
	type plain Seen
	var v struct {
		plain
		Content string `json:"content"`
	}
	if err := json.Unmarshal(js, &v); err != nil {
		return err
	}
	*s = Seen(v.plain)
	s.Content = v.Content
	return nil
}
