package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/mindrunner"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/sensor/notify"
	"ponder/store/sqlite"
)

// A simulated day of the subconscious.
const (
	dayTicks    = 288
	dayInterval = 5 * time.Minute
	dayMerges   = 200 // timed merges
	dayRepeats  = 2   // repeated reports of a change in other words
)

// A dayChange is a change of the world at a tick.
type dayChange struct {
	tick                         int
	sensor, subject, state, text string
	repeats                      [dayRepeats]string // later reports without news
}

// dayWorld has twelve distinct changes, no two of one sensor at once.
var dayWorld = []dayChange{
	{8, "mail", "message 1", "new", "Anna writes that the contract must be signed by Friday", [dayRepeats]string{"The contract has to be signed before Friday, says Anna", "Anna: sign the contract until Friday"}},
	{30, "system", "disk /", "high", "The disk / is 96 percent full", [dayRepeats]string{"Disk / is at 96 percent", "96 percent of the disk / are used"}},
	{52, "calendar", "dentist", "moved", "The dentist has moved the appointment to Thursday", [dayRepeats]string{"The appointment with the dentist is on Thursday now", "Dentist: Thursday instead"}},
	{75, "git", "kitchen", "conflict", "The branch of the kitchen planner cannot be merged", [dayRepeats]string{"Merging the kitchen planner's branch fails", "The kitchen planner has a conflict"}},
	{97, "feed", "advisory 7", "new", "A security update for the web server was released", [dayRepeats]string{"There is a security release of the web server", "Web server: security update is out"}},
	{120, "mail", "message 2", "new", "The landlord announces that the water is off tomorrow morning", [dayRepeats]string{"No water tomorrow morning, the landlord says", "The landlord turns the water off tomorrow"}},
	{142, "files", "thesis.odt", "changed", "The file thesis.odt lost half of its pages", [dayRepeats]string{"thesis.odt has half as many pages", "Half of thesis.odt is gone"}},
	{165, "system", "unit backup", "failed", "The nightly backup has failed", [dayRepeats]string{"Last night's backup did not complete", "The backup of the night failed"}},
	{187, "calendar", "train", "cancelled", "The train to Basel on Wednesday is cancelled", [dayRepeats]string{"Wednesday's train to Basel does not run", "Basel: the train is cancelled"}},
	{210, "mail", "message 3", "new", "A parcel waits at the post office until Saturday", [dayRepeats]string{"The post office keeps the parcel until Saturday", "A parcel is to be collected by Saturday"}},
	{232, "system", "memory", "high", "The memory of the machine is nearly used up", [dayRepeats]string{"Hardly any memory is left on the machine", "The machine's memory is almost full"}},
	{255, "command", "certificate", "expiring", "The certificate of the shop expires in two days", [dayRepeats]string{"In two days the shop's certificate expires", "The shop needs a new certificate within two days"}},
}

// reportAt returns the sensor's report about a change at a tick, or "".
func (c dayChange) reportAt(tick int) string {
	switch tick {
	case c.tick:
		return c.text
	case c.tick + 2:
		return c.repeats[0]
	case c.tick + 9:
		return c.repeats[1]
	}
	return ""
}

// A dayRun is a subconscious on its own database with a simulated world and clock.
type dayRun struct {
	minder *mindrunner.Runner
	store  *sqlite.Store
	model  *dayModel
	close  func()

	mu       sync.Mutex
	now      time.Time
	tick     int
	notified []string // message IDs sent to the user
}

// measureDay measures a day without changes and one with twelve.
func measureDay(ctx context.Context) ([]figure, error) {
	static, err := playDay(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer static.close()
	spent := cpuTime()
	if err := static.run(ctx); err != nil {
		return nil, err
	}
	spent = cpuTime() - spent
	head, err := static.store.Thread(ctx, subconscious.ThreadOf(dayOwner))
	if err != nil {
		return nil, err
	}
	changed, err := playDay(ctx, dayWorld)
	if err != nil {
		return nil, err
	}
	defer changed.close()
	busy := cpuTime()
	if err := changed.run(ctx); err != nil {
		return nil, err
	}
	busy = cpuTime() - busy
	merge, err := changed.measureMerges(ctx)
	if err != nil {
		return nil, err
	}
	subjects, repeated, err := changed.countAlerts(ctx)
	if err != nil {
		return nil, err
	}
	calls, tokens := changed.model.totalUsage()
	none, _ := static.model.totalUsage()
	return []figure{
		{Name: "static world: CPU of 288 ticks", Value: spent.Seconds(), Unit: "s", Goal: 1},
		{Name: "static world: model calls (want none)", Value: float64(none)},
		{Name: "static world: alerts (want none)", Value: float64(len(static.notified))},
		{Name: "static world: events in the log", Value: float64(head.Head)},
		{Name: "12 changes: changes with an alert", Value: float64(subjects), Goal: float64(len(dayWorld)), Minimum: true},
		{Name: "12 changes: alerts", Value: float64(len(changed.notified)), Goal: float64(len(dayWorld))},
		{Name: "12 changes: repeated alerts (want none)", Value: float64(repeated)},
		{Name: "12 changes: model calls", Value: float64(calls)},
		{Name: "12 changes: tokens, about", Value: float64(tokens)},
		{Name: "12 changes: CPU of 288 ticks", Value: busy.Seconds(), Unit: "s"},
		{Name: "a merge, p50", Value: toMillis(merge), Unit: "ms"},
	}, nil
}

const dayOwner = "local"

// playDay creates the subconscious of a world.
func playDay(ctx context.Context, changes []dayChange) (_ *dayRun, err error) {
	dir, err := os.MkdirTemp("", "ponder-bench")
	if err != nil {
		return nil, err
	}
	d := &dayRun{model: &dayModel{}, now: time.Now().Truncate(time.Second)}
	closers := []func(){func() { os.RemoveAll(dir) }}
	d.close = func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.store, err = sqlite.Open(ctx, filepath.Join(dir, "bench.db")); err != nil {
		return nil, err
	}
	closers = append(closers, func() { d.store.Close() })
	models := map[ponder.Role][]ponder.Model{ponder.Frontier: {{Model: d.model}}}
	for _, r := range subconscious.DefaultRoles() {
		models[subconscious.ModelOf(r.Name)] = models[ponder.Frontier]
	}
	logger := slog.New(slog.DiscardHandler)
	mind, err := engine.New(engine.Config{Store: d.store, Modes: subconscious.New(subconscious.Options{}), Models: models, Logger: logger})
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, err
	}
	closers = append(closers, func() { _ = mind.Close(context.WithoutCancel(ctx)) })
	worker := placement.Memory(placement.Config{Store: d.store, Work: mind.Work, Logger: logger})
	closers = append(closers, func() { _ = worker.Close(context.WithoutCancel(ctx)) })
	d.minder, err = mindrunner.New(mindrunner.Config{
		Store: d.store, Placement: worker, Owner: dayOwner, Sensors: d.makeSensors(changes), Logger: logger, Now: d.currentTime,
		Channels: []notify.Channel{{Name: "bench", Send: d.recordMessage}},
	})
	return d, err
}

func (d *dayRun) currentTime() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *dayRun) recordMessage(_ context.Context, m notify.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notified = append(d.notified, m.ID)
	return nil
}

// makeSensors returns one sensor per kind of change, or two idle ones for a static world.
func (d *dayRun) makeSensors(changes []dayChange) (list []sensor.Sensor) {
	names := []string{"mail", "system"}
	for _, c := range changes {
		if !slices.Contains(names, c.sensor) {
			names = append(names, c.sensor)
		}
	}
	for _, name := range names {
		list = append(list, sensor.Sensor{Name: name, Look: func(_ context.Context, _ time.Time, cursor json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			var out []ponder.Observation
			for _, c := range changes {
				if says := c.reportAt(d.tick); says != "" && c.sensor == name {
					out = append(out, ponder.Observation{Content: says + ".", Subject: c.subject, State: c.state, Level: 8})
				}
			}
			if len(out) == 0 && cursor != nil {
				return nil, cursor, nil
			}
			return out, json.RawMessage(strconv.Itoa(d.tick)), nil
		}})
	}
	return list
}

func (d *dayRun) run(ctx context.Context) error {
	for tick := range dayTicks {
		d.mu.Lock()
		d.tick, d.now = tick, d.now.Add(dayInterval)
		d.mu.Unlock()
		if _, err := d.minder.Tick(ctx, false); err != nil {
			return fmt.Errorf("tick %d: %w", tick, err)
		}
	}
	return nil
}

// countAlerts returns the number of changes reported to the user and the number of repeated reports.
func (d *dayRun) countAlerts(ctx context.Context) (subjects, repeated int, err error) {
	known := make(map[string]bool)
	for ev, err := range d.store.Events(ctx, subconscious.ThreadOf(dayOwner), 0) {
		if err != nil {
			return 0, 0, err
		}
		b, ok := ev.Body.(ponder.Escalation)
		if !ok || b.Outcome != subconscious.Messaged || !slices.Contains(d.notified, b.ID) {
			continue
		}
		news := 0
		for _, c := range dayWorld {
			if name := c.sensor + " " + c.subject; !known[name] && slices.ContainsFunc(b.Signatures, func(s string) bool { return strings.Contains(s, c.subject) }) {
				known[name] = true
				news++
			}
		}
		if news == 0 {
			repeated++
		}
	}
	return len(known), repeated, nil
}

// measureMerges returns the duration of merging four reports into the final state.
func (d *dayRun) measureMerges(ctx context.Context) (time.Duration, error) {
	view, err := d.minder.View(ctx)
	if err != nil {
		return 0, err
	}
	now := d.currentTime()
	in := subconscious.Input{Tick: view.Internal.Tick + 1, Seen: map[string]subconscious.SeenObservation{}, Given: map[string]int64{}}
	for i, r := range subconscious.DefaultRoles() {
		report := subconscious.Report{Role: r.Name}
		for j, c := range dayWorld[3*i : 3*i+3] {
			id := fmt.Sprintf("evt_%d_%d", i, j)
			in.Seen[id] = subconscious.SeenObservation{ID: id, Seq: int64(10*i + j), At: now, Observation: ponder.Observation{Sensor: c.sensor, Subject: c.subject, State: "another", Content: c.repeats[1]}}
			report.Findings = append(report.Findings, subconscious.Finding{Type: "observation", Summary: c.repeats[1], Importance: 5, Rests: []string{id}})
		}
		in.Reports = append(in.Reports, report)
	}
	var took []time.Duration
	for range dayMerges {
		began := time.Now()
		m := subconscious.Aggregate(view.State, in, now, subconscious.Rules{})
		took = append(took, time.Since(began))
		if len(m.Findings) == 0 {
			return 0, errors.New("nothing is merged")
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// A dayModel is a model that returns its input as findings and escalates all.
type dayModel struct {
	mu            sync.Mutex
	calls, tokens int
}

func (*dayModel) Name() string { return "bench/day" }

func (m *dayModel) totalUsage() (calls, tokens int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.tokens
}

var dayFrames = regexp.MustCompile(`<observation id=(o\d+)[^>]*>([^<]*)</observation>`)

// Generate implements [llm.Model].
func (m *dayModel) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		msg, err := dayAnswer(req)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		usage := llm.Usage{Input: req.Size() / 4, Output: 60}
		m.mu.Lock()
		m.calls++
		m.tokens += usage.Input + usage.Output
		m.mu.Unlock()
		yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: llm.FinishStop, Model: m.Name(), Usage: usage}}, nil)
	}
}

// dayAnswer returns one finding per observation for a role, and a notification for a decision.
func dayAnswer(req *llm.Request) (llm.Message, error) {
	text := ""
	for _, msg := range req.Messages {
		text += msg.Text() + "\n"
	}
	frames := dayFrames.FindAllStringSubmatch(text, -1)
	if len(req.Tools) > 0 {
		said := "Something has come up."
		if len(frames) > 0 {
			said = frames[0][2]
		}
		js, err := json.Marshal(map[string]string{"text": said})
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "1", Name: "message_user", Input: js}}}}, err
	}
	findings := []map[string]any{}
	for _, f := range frames {
		findings = append(findings, map[string]any{"type": "observation", "summary": f[2], "importance": 8, "rests_on": []string{f[1]}})
	}
	js, err := json.Marshal(map[string]any{"findings": findings, "escalate": len(findings) > 0, "reason": "it is new, and matters"})
	return llm.Say(llm.Assistant, string(js)), err
}
