package subconscious

import (
	"encoding/json"
	"maps"
	"ponder/internal/textkit"
	"slices"
	"time"

	"ponder"
)

const (
	maxNews   = 64             // observations shown to rules at once
	newsAge   = 48 * time.Hour // older observations are ignored
	maxKept   = 2048
	trimEvery = 256
	maxFails  = 3 // consecutive failed ticks after which rules replace the model
	maxRaised = 200
)

// knowledge folds the events that every run of a thread is shown: the state and the observations
// that are still needed. It is a value.
type knowledge struct {
	State  State                `json:"state"`
	News   []Seen               `json:"news,omitempty"` // observations still needed, oldest first
	Raised []ponder.Event       `json:"raised,omitempty"`
	Fails  map[string]int       `json:"fails,omitempty"`  // by role: consecutive failed ticks
	Looked map[string]time.Time `json:"looked,omitempty"` // by role: the last successful tick
	Last   time.Time            `json:"last,omitzero"`
	Left   map[string][]int64   `json:"left,omitempty"` // by role: seqs before the read position that it was not shown
	Lost   map[string]int       `json:"lost,omitempty"` // by role: observations dropped unseen since it last looked

	Exposed time.Time       `json:"exposed,omitzero"`  // when a role's model last read untrusted text
	Tainted map[string]bool `json:"tainted,omitempty"` // escalations in the history that untrusted text influenced
}

func newKnowledge() knowledge { return knowledge{State: NewState()} }

func (k knowledge) after(ev ponder.Event, roles []Role) knowledge {
	k.News = slices.Clip(k.News)
	return k.next(ev, roles)
}

// next is after for callers that discard k. Without roles it keeps all recent observations, for
// roles named later.
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
			k.trim(roles) // trims by the old state, whose support may still be raised
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

func own(sensor string) bool {
	kind := sensorKind(sensor)
	return kind == Delivery || kind == Name
}

func seenOf(ev ponder.Event, b ponder.Observation) Seen {
	b.Cursor = nil
	b.Content, b.Subject, b.State = textkit.TruncateBytes(textkit.CleanTrim(b.Content), 2*maxLine), textkit.Line(b.Subject, maxSign), textkit.Line(b.State, maxName)
	b.Sensor, b.Source = textkit.Line(b.Sensor, maxName), textkit.Line(b.Source, maxSign)
	return Seen{ID: ev.ID, Seq: int64(ev.Seq), At: ev.Time, Observation: b}
}

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

func (k knowledge) raised(id string) (e ponder.Escalation, at time.Time, ok bool) {
	for _, ev := range k.Raised {
		if e, ok = ev.Body.(ponder.Escalation); ok && e.ID == id {
			return e, ev.Time, true
		}
	}
	return ponder.Escalation{}, time.Time{}, false
}

func (k *knowledge) trim(roles []Role) {
	if len(k.News) == 0 {
		return
	}
	newest := k.News[len(k.News)-1].At // the clock may have been set back
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

// lose counts dropped observations that roles may not have been shown.
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

func (k knowledge) observations(ids []string) (list []Seen) {
	for _, s := range k.News {
		if slices.Contains(ids, s.ID) {
			list = append(list, s)
		}
	}
	return list
}

// MarshalJSON includes the content, which events store separately.
func (s Seen) MarshalJSON() ([]byte, error) {
	type plain Seen
	return json.Marshal(struct {
		plain
		Content string `json:"content,omitempty"`
	}{plain(s), s.Content})
}

// UnmarshalJSON reverses MarshalJSON.
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
