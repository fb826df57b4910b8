package mindrunner

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"ponder"
	"ponder/mode/subconscious"
)

// The checkpoint of the runner. It is disposable. The version changes with the fold.
const (
	checkpointFold    = "minder"
	checkpointVersion = "1"
	checkpointEvery   = 100 // events
)

// A checkpoint is the stored form of the view and the fold.
type checkpoint struct {
	View     json.RawMessage                  `json:"view"`
	Cursors  map[string]storedCursor          `json:"cursors,omitempty"`
	Failing  map[string]ponder.Seq            `json:"failing,omitempty"`
	Recover  map[string]ponder.Seq            `json:"recover,omitempty"`
	Open     map[ponder.RunID]storedAccount   `json:"open,omitempty"`
	Spent    map[string]ponder.Cost           `json:"spent,omitempty"`
	Ceiling  map[string]bool                  `json:"ceiling,omitempty"`
	Tight    map[string]bool                  `json:"tight,omitempty"`
	Raised   []string                         `json:"raised,omitempty"`
	Asked    map[string]int                   `json:"asked,omitempty"`
	Runs     map[ponder.RunID]string          `json:"runs,omitempty"`
	Told     []ponder.Event                   `json:"told,omitempty"`
	Sent     map[string]map[string]storedSend `json:"sent,omitempty"`
	Answered map[string]time.Time             `json:"answered,omitempty"`
}

type storedCursor struct {
	Value json.RawMessage `json:"value"`
	Seq   ponder.Seq      `json:"seq"`
	At    time.Time       `json:"at"`
}

type storedAccount struct {
	Mode   string      `json:"mode"`
	Budget ponder.Cost `json:"budget,omitzero"`
	Spent  ponder.Cost `json:"spent,omitzero"`
	Paused bool        `json:"paused,omitempty"`
}

type storedSend struct {
	Done  bool      `json:"done,omitempty"`
	Tries int       `json:"tries,omitempty"`
	Fails int       `json:"fails,omitempty"`
	Last  time.Time `json:"last"`
}

// encodeCheckpoint encodes a checkpoint.
func encodeCheckpoint(v subconscious.View, c *fold) ([]byte, error) {
	view, err := v.EncodeCheckpoint()
	if err != nil {
		return nil, err
	}
	k := checkpoint{View: view, Failing: c.failing, Recover: c.recover, Spent: c.spent, Ceiling: c.ceiling, Tight: c.tight, Raised: c.raised, Asked: c.asked, Runs: c.runs,
		Answered: c.answered, Cursors: map[string]storedCursor{}, Open: map[ponder.RunID]storedAccount{}, Sent: map[string]map[string]storedSend{}}
	for name, o := range c.cursors {
		k.Cursors[name] = storedCursor{o.value, o.seq, o.at}
	}
	for run, a := range c.open {
		k.Open[run] = storedAccount{a.mode, a.budget, a.spent, a.paused}
	}
	for _, t := range c.deliveries {
		k.Told = append(k.Told, ponder.Event{Time: t.at, Body: t.Escalation})
	}
	for id, channels := range c.sent {
		k.Sent[id] = map[string]storedSend{}
		for name, s := range channels {
			k.Sent[id][name] = storedSend{s.done, s.tries, s.fails, s.last}
		}
	}
	return json.Marshal(k)
}

// decodeCheckpoint decodes a checkpoint at an event.
func decodeCheckpoint(js []byte, at ponder.Seq, roles []subconscious.Role) (v subconscious.View, c fold, err error) {
	var k checkpoint
	if err = json.Unmarshal(js, &k); err != nil {
		return v, c, err
	}
	if v, err = subconscious.DecodeView(k.View, roles...); err != nil {
		return v, c, err
	}
	c = newFold()
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
			c.deliveries = append(c.deliveries, delivery{b, ev.Time})
		}
	}
	for id, channels := range k.Sent {
		c.sent[id] = map[string]sendState{}
		for name, s := range channels {
			c.sent[id][name] = sendState{s.Done, s.Tries, s.Fails, s.Last}
		}
	}
	return v, c, nil
}

// loadCheckpoint restores the checkpoint, unless the runner has read the thread already. Without a
// checkpoint, the runner reads the whole thread.
func (m *Runner) loadCheckpoint(ctx context.Context) {
	if m.fold.head > 0 {
		return
	}
	at, js, err := m.Store.LoadCheckpoint(ctx, m.thread, checkpointFold, checkpointVersion)
	if err != nil || js == nil {
		return
	}
	info, err := m.Store.Thread(ctx, m.thread)
	if err != nil || info.Head < at {
		return
	}
	if v, c, err := decodeCheckpoint(js, at, m.Options.Roles); err == nil {
		m.view, m.fold, m.saved = v, c, at
	}
}

// saveCheckpoint saves a checkpoint after checkpointEvery events. It ignores errors, because checkpoints
// are disposable.
func (m *Runner) saveCheckpoint(ctx context.Context) {
	if m.fold.head < m.saved+checkpointEvery {
		return
	}
	if js, err := encodeCheckpoint(m.view, &m.fold); err == nil && m.Store.SaveCheckpoint(ctx, m.thread, checkpointFold, checkpointVersion, m.fold.head, js) == nil {
		m.saved = m.fold.head
	}
}
