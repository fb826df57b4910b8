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
	maxNews     = 64             // observations shown to rules at once
	maxNewsAge  = 48 * time.Hour // older observations are ignored
	maxKeptNews = 2048
	trimEvery   = 256
	maxFails    = 3 // consecutive failed ticks after which rules replace the model
	maxRaised   = 200
)

// knowledge folds the events that every run of a thread is shown: the state and the observations
// that are still needed. It is a value.
type knowledge struct {
	State  State                `json:"state"`
	News   []SeenObservation    `json:"news,omitempty"` // observations still needed, oldest first
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

func (k knowledge) applyEvent(ev ponder.Event, roles []Role) knowledge {
	k.News = slices.Clip(k.News)
	return k.applyInPlace(ev, roles)
}

// applyInPlace is after for callers that discard k. Without roles it keeps all recent observations, for
// roles named later.
func (k knowledge) applyInPlace(ev ponder.Event, roles []Role) knowledge {
	switch b := ev.Body.(type) {
	case ponder.Observation:
		if isInternalSensor(b.Sensor) {
			return k
		}
		k.News = append(k.News, newSeen(ev, b))
		if len(k.News)%trimEvery == 0 {
			k.trimNews(roles)
		}
	case ponder.Subconscious:
		if len(roles) > 0 {
			k.trimNews(roles) // trims by the old state, whose support may still be raised
		}
		k.State = k.State.Apply(ev)
		k.applyTick(b)
	case ponder.Escalation:
		k.State = k.State.Apply(ev)
		k.applyEscalation(ev, b)
	case ponder.Resolution:
		k.State = k.State.Apply(ev)
	}
	return k
}

func isInternalSensor(sensor string) bool {
	kind := sensorKind(sensor)
	return kind == Delivery || kind == Name
}

func newSeen(ev ponder.Event, b ponder.Observation) SeenObservation {
	b.Cursor = nil
	b.Content, b.Subject, b.State = textkit.TruncateBytes(textkit.CleanTrim(b.Content), 2*maxLine), textkit.Line(b.Subject, maxSign), textkit.Line(b.State, maxName)
	b.Sensor, b.Source = textkit.Line(b.Sensor, maxName), textkit.Line(b.Source, maxSign)
	return SeenObservation{ID: ev.ID, Seq: int64(ev.Seq), At: ev.Time, Observation: b}
}

func (k *knowledge) applyTick(b ponder.Subconscious) {
	t, err := decodeTick(b)
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
		case r.Failed != "" && !r.WithoutModel:
			fails[r.Role] = min(fails[r.Role]+1, maxFails)
		default:
			delete(fails, r.Role)
			looked[r.Role] = t.At
			k.recordShown(r)
		}
	}
	k.Fails, k.Looked, k.Last = fails, looked, t.At
	if len(k.Fails) == 0 {
		k.Fails = nil
	}
}

func (k *knowledge) recordShown(r RoleOutcome) {
	k.Left, k.Lost = maps.Clone(k.Left), maps.Clone(k.Lost)
	delete(k.Left, r.Role)
	delete(k.Lost, r.Role)
	if len(r.Left) > 0 {
		if k.Left == nil {
			k.Left = make(map[string][]int64)
		}
		k.Left[r.Role] = slices.Sorted(slices.Values(lastN(r.Left, maxWaiting)))
	}
}

func decodeTick(b ponder.Subconscious) (t Tick, err error) {
	if len(b.Changes) == 0 {
		return Tick{Number: b.Tick}, nil
	}
	err = json.Unmarshal(b.Changes, &t)
	return t, err
}

func (k *knowledge) applyEscalation(ev ponder.Event, b ponder.Escalation) {
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
		k.Raised = lastN(append(slices.Clip(k.Raised), ev), maxRaised)
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

func (k knowledge) findRaised(id string) (e ponder.Escalation, at time.Time, ok bool) {
	for _, ev := range k.Raised {
		if e, ok = ev.Body.(ponder.Escalation); ok && e.ID == id {
			return e, ev.Time, true
		}
	}
	return ponder.Escalation{}, time.Time{}, false
}

func (k *knowledge) trimNews(roles []Role) {
	if len(k.News) == 0 {
		return
	}
	newest := k.News[len(k.News)-1].At // the clock may have been set back
	keep := k.supportIDs()
	for _, r := range roles {
		list, _ := k.unreadObservations(r, newest, noSeqLimit)
		if len(list) > maxWaiting+maxNews {
			list = interleaveSensors(list, true)[:maxWaiting+maxNews]
		}
		for _, s := range list {
			keep[s.ID] = true
		}
		recalled := 0
		for _, s := range slices.Backward(k.News) {
			if newest.Sub(s.At) < maxNewsAge && r.recalls(s) && recalled < maxShown {
				keep[s.ID] = true
				recalled++
			}
		}
	}
	news := make([]SeenObservation, 0, len(k.News))
	var gone []SeenObservation
	for _, s := range k.News {
		if keep[s.ID] || len(roles) == 0 && newest.Sub(s.At) < maxNewsAge {
			news = append(news, s)
		} else {
			gone = append(gone, s)
		}
	}
	k.News = lastN(news, maxKeptNews)
	k.countLost(append(gone, news[:len(news)-len(k.News)]...), roles)
}

// countLost counts dropped observations that roles may not have been shown.
func (k *knowledge) countLost(gone []SeenObservation, roles []Role) {
	lost := maps.Clone(k.Lost)
	for _, r := range roles {
		for _, s := range gone {
			if k.State.Internal.Read[r.Name] == 0 || !k.isWaiting(r, s) {
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

func (k knowledge) supportIDs() map[string]bool {
	ids := make(map[string]bool)
	add := func(list []string) {
		for _, id := range list {
			ids[id] = true
		}
	}
	for _, about := range k.State.Internal.Metadata {
		add(about.Rests)
	}
	add(k.State.Internal.Exposure.Rests)
	for _, p := range k.State.Internal.Pending {
		add(p.Rests)
	}
	for _, ev := range k.Raised {
		if b, ok := ev.Body.(ponder.Escalation); ok {
			add(b.Observations)
		}
	}
	return ids
}

func (k knowledge) findObservations(ids []string) (list []SeenObservation) {
	for _, s := range k.News {
		if slices.Contains(ids, s.ID) {
			list = append(list, s)
		}
	}
	return list
}

// MarshalJSON includes the content, which events store separately.
func (s SeenObservation) MarshalJSON() ([]byte, error) {
	type plain SeenObservation
	return json.Marshal(struct {
		plain
		Content string `json:"content,omitempty"`
	}{plain(s), s.Content})
}

// UnmarshalJSON reverses MarshalJSON.
func (s *SeenObservation) UnmarshalJSON(js []byte) error {
	type plain SeenObservation
	var v struct {
		plain
		Content string `json:"content"`
	}
	if err := json.Unmarshal(js, &v); err != nil {
		return err
	}
	*s = SeenObservation(v.plain)
	s.Content = v.Content
	return nil
}
