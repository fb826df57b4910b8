package mindrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/sensor/notify"
	"ponder/store/memory"
)

// A roleModel is a model. To roles it answers a finding about the first observation, and to
// decisions a message to the user.
type roleModel struct {
	takes time.Duration
	mu    sync.Mutex
	calls int
	quiet bool // it finds nothing

	report func(req *llm.Request) string // the answer to roles, if set
}

func (v *roleModel) Name() string { return "test/voice" }

func (v *roleModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		v.mu.Lock()
		v.calls++
		v.mu.Unlock()
		select {
		case <-time.After(v.takes):
		case <-ctx.Done():
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: v.Name(), Message: "cancelled", Err: ctx.Err()})
			return
		}
		msg, finish := v.answerRole(req), llm.FinishStop
		if len(msg.Calls()) > 0 {
			finish = llm.FinishTools
		}
		yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: finish, Model: v.Name(), Usage: llm.Usage{Input: 900, Output: 100}}}, nil)
	}
}

func (v *roleModel) answerRole(req *llm.Request) llm.Message {
	if len(req.Tools) > 0 {
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: "message_user", Input: json.RawMessage(`{"text":"You should look at this."}`)}}}}
	}
	if v.report != nil {
		return llm.Say(llm.Assistant, v.report(req))
	}
	if v.quiet {
		return llm.Say(llm.Assistant, `{"findings":[],"escalate":false}`)
	}
	return llm.Say(llm.Assistant, `{"findings":[{"type":"observation","summary":"The server room is getting far too warm","importance":8,"rests_on":["o1"]}],"escalate":true,"reason":"it is hot"}`)
}

func (v *roleModel) countCalls() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.calls
}

// A sensorSource is the source of a test sensor: things with states. The sensor observes each
// change.
type sensorSource struct {
	mu     sync.Mutex
	things []string
	looks  int
}

func (w *sensorSource) addThing(thing string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.things = append(w.things, thing)
}

func (w *sensorSource) newSensor(name string) sensor.Sensor {
	return sensor.Sensor{Name: name, Look: func(_ context.Context, _ time.Time, c json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.looks++
		n := 0
		_ = json.Unmarshal(c, &n)
		var list []ponder.Observation
		for i := n; i < len(w.things); i++ {
			list = append(list, ponder.Observation{Content: w.things[i] + " is warm", Subject: w.things[i], State: "high", Level: 8})
		}
		return list, json.RawMessage(fmt.Sprint(len(w.things))), nil
	}}
}

// A channelRecorder is a channel that stores its messages.
type channelRecorder struct {
	mu   sync.Mutex
	fail bool
	got  []notify.Message
	at   []time.Time
}

func (p *channelRecorder) newChannel(name string) notify.Channel {
	return notify.Channel{Name: name, Send: func(_ context.Context, m notify.Message) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got, p.at = append(p.got, m), append(p.at, time.Now())
		if p.fail {
			return errors.New("no answer")
		}
		return nil
	}}
}

func (p *channelRecorder) messageIDs() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.got {
		ids = append(ids, m.ID)
	}
	return ids
}

// A rig is a process with an engine, a placement and a runner.
type rig struct {
	*Runner
	t     *testing.T
	mind  *engine.Engine
	place *placement.Placement
}

// startProcess starts a process over a store. The runner may have another store.
func startProcess(t *testing.T, store ponder.Store, v *roleModel, c Config) *rig {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	mc := engine.Config{Store: store, Modes: subconscious.New(c.Options), Logger: logger, Models: map[ponder.Role][]ponder.Model{}}
	for _, role := range []ponder.Role{"mind:watcher", "mind:librarian", "mind:oracle", "mind:dreamer", ponder.Frontier} {
		if v != nil {
			mc.Models[role] = []ponder.Model{{Model: v, Price: ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 2}}}
		}
	}
	mind, err := engine.New(mc)
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	pl := placement.Memory(placement.Config{Store: store, Work: mind.Work, Logger: logger})
	if c.Store == nil {
		c.Store = store
	}
	if c.Placement == nil {
		c.Placement = pl
	}
	c.Logger = logger
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Runner: m, t: t, mind: mind, place: pl}
	t.Cleanup(r.stopProcess)
	return r
}

func (r *rig) stopProcess() {
	if r.mind == nil {
		return
	}
	r.place.Close(context.Background())
	r.mind.Close(context.Background())
	r.mind = nil
}

// mustTick calls Tick. An error fails the test.
func (r *rig) mustTick(force bool) Report {
	r.t.Helper()
	report, err := r.Tick(r.t.Context(), force)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// mindEvents returns the events of the subconscious.
func mindEvents(t *testing.T, store ponder.Log) (list []ponder.Event) {
	t.Helper()
	for ev, err := range store.Events(context.Background(), Thread("local"), 0) {
		if errors.Is(err, ponder.ErrNoThread) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, ev)
	}
	return list
}

// escalationOutcomes returns the ids of raised escalations, and the outcomes of decided ones.
func escalationOutcomes(evs []ponder.Event) (raised []string, decided map[string]string) {
	decided = map[string]string{}
	for _, ev := range evs {
		if b, ok := ev.Body.(ponder.Escalation); ok {
			if b.Outcome == "" {
				raised = append(raised, b.ID)
			} else {
				decided[b.ID] = b.Outcome
			}
		}
	}
	return raised, decided
}

// describeEvents lists events for the message of a failed test.
func describeEvents(evs []ponder.Event) string {
	var b strings.Builder
	for _, ev := range evs {
		js, _ := json.Marshal(ev.Body)
		fmt.Fprintf(&b, "%d %s %s %s %.200s\n", ev.Seq, ev.Run, ev.Cause, ev.Body.Type(), js)
	}
	return b.String()
}

var _ ponder.Store = (*memory.Store)(nil)
