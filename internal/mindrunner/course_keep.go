package mindrunner

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"ponder"
	"ponder/mode/subconscious"
)

// The checkpoint of what the minder knows. It is disposable. The version is another
// whenever what is folded is.
const (
	keepFold    = "minder"
	keepVersion = "1"
	keepEvery   = 100 // events
)

// A kept is what the minder knows as it is kept.
type kept struct {
	View     json.RawMessage                `json:"view"`
	Cursors  map[string]keptCursor          `json:"cursors,omitempty"`
	Failing  map[string]ponder.Seq          `json:"failing,omitempty"`
	Recover  map[string]ponder.Seq          `json:"recover,omitempty"`
	Open     map[ponder.RunID]keptAccount   `json:"open,omitempty"`
	Spent    map[string]ponder.Cost         `json:"spent,omitempty"`
	Ceiling  map[string]bool                `json:"ceiling,omitempty"`
	Tight    map[string]bool                `json:"tight,omitempty"`
	Raised   []string                       `json:"raised,omitempty"`
	Asked    map[string]int                 `json:"asked,omitempty"`
	Runs     map[ponder.RunID]string        `json:"runs,omitempty"`
	Told     []ponder.Event                 `json:"told,omitempty"` // the decisions
	Sent     map[string]map[string]keptSent `json:"sent,omitempty"`
	Answered map[string]time.Time           `json:"answered,omitempty"`
}

type keptCursor struct {
	Value json.RawMessage `json:"value"`
	Seq   ponder.Seq      `json:"seq"`
	At    time.Time       `json:"at"`
}

type keptAccount struct {
	Mode   string      `json:"mode"`
	Budget ponder.Cost `json:"budget,omitzero"`
	Spent  ponder.Cost `json:"spent,omitzero"`
	Paused bool        `json:"paused,omitempty"`
}

type keptSent struct {
	Done  bool      `json:"done,omitempty"`
	Tries int       `json:"tries,omitempty"`
	Fails int       `json:"fails,omitempty"`
	Last  time.Time `json:"last"`
}

// keep returns what is known as it is kept.
func keep(v subconscious.View, c *course) ([]byte, error) {
	view, err := v.Keep()
	if err != nil {
		return nil, err
	}
	k := kept{View: view, Failing: c.failing, Recover: c.recover, Spent: c.spent, Ceiling: c.ceiling, Tight: c.tight, Raised: c.raised, Asked: c.asked, Runs: c.runs,
		Answered: c.answered, Cursors: map[string]keptCursor{}, Open: map[ponder.RunID]keptAccount{}, Sent: map[string]map[string]keptSent{}}
	for name, o := range c.cursors {
		k.Cursors[name] = keptCursor{o.value, o.seq, o.at}
	}
	for run, a := range c.open {
		k.Open[run] = keptAccount{a.mode, a.budget, a.spent, a.paused}
	}
	for _, t := range c.told {
		k.Told = append(k.Told, ponder.Event{Time: t.at, Body: t.Escalation})
	}
	for id, channels := range c.sent {
		k.Sent[id] = map[string]keptSent{}
		for name, s := range channels {
			k.Sent[id][name] = keptSent{s.done, s.tries, s.fails, s.last}
		}
	}
	return json.Marshal(k)
}

// restored undoes keep, of what was known at a place.
func restored(js []byte, at ponder.Seq, roles []subconscious.Role) (v subconscious.View, c course, err error) {
	var k kept
	if err = json.Unmarshal(js, &k); err != nil {
		return v, c, err
	}
	if v, err = subconscious.KeptView(k.View, roles...); err != nil {
		return v, c, err
	}
	c = newCourse()
	c.head, c.raised = at, k.Raised
	maps.Copy(c.failing, k.Failing)
	maps.Copy(c.recover, k.Recover)
	maps.Copy(c.spent, k.Spent)
	maps.Copy(c.ceiling, k.Ceiling)
	maps.Copy(c.tight, k.Tight)
	maps.Copy(c.asked, k.Asked)
	maps.Copy(c.runs, k.Runs)
	maps.Copy(c.answered, k.Answered)
	for name, o := range k.Cursors {
		c.cursors[name] = cursor{o.Value, o.Seq, o.At}
	}
	for run, a := range k.Open {
		c.open[run] = &account{a.Mode, a.Budget, a.Spent, a.Paused}
	}
	for _, ev := range k.Told {
		if b, ok := ev.Body.(ponder.Escalation); ok {
			c.told = append(c.told, telling{b, ev.Time})
		}
	}
	for id, channels := range k.Sent {
		c.sent[id] = map[string]sent{}
		for name, s := range channels {
			c.sent[id][name] = sent{s.Done, s.Tries, s.Fails, s.Last}
		}
	}
	return v, c, nil
}

// load begins with what was kept, if it knows nothing yet. Without it the thread is read
// from its beginning.
func (m *Minder) load(ctx context.Context) {
	if m.course.head > 0 {
		return
	}
	at, js, err := m.Store.LoadCheckpoint(ctx, m.thread, keepFold, keepVersion)
	if err != nil || js == nil {
		return
	}
	info, err := m.Store.Thread(ctx, m.thread)
	if err != nil || info.Head < at {
		return
	}
	if v, c, err := restored(js, at, m.Options.Roles); err == nil {
		m.view, m.course, m.kept = v, c, at
	}
}

// save keeps what is known, once enough has happened. That it cannot does no harm.
func (m *Minder) save(ctx context.Context) {
	if m.course.head < m.kept+keepEvery {
		return
	}
	if js, err := keep(m.view, &m.course); err == nil && m.Store.SaveCheckpoint(ctx, m.thread, keepFold, keepVersion, m.course.head, js) == nil {
		m.kept = m.course.head
	}
}
