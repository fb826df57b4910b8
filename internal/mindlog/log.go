// Package mindlog folds the thread of a subconscious into a [Log]: its history and entries, as
// text and JSON.
package mindlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

// ErrNone means that no subconscious exists yet.
var ErrNone = app.Invalidf("", "the subconscious has not started")

type Log struct {
	subconscious.View
	thread       ponder.ThreadID
	Head         ponder.Seq     // the newest applied event
	events       []ponder.Event // findings, changes, escalations and commands
	observations map[string]ponder.Event
	deliveries   map[string]map[string]time.Time
	spent        map[ponder.RunID]ponder.Cost
	actions      map[ponder.RunID][]Action // of decisions
	broken       map[ponder.RunID]int

	failures map[string]failure // by channel, since its last success
}

func New() *Log {
	return &Log{View: subconscious.NewView(), thread: app.MindID(), observations: make(map[string]ponder.Event), deliveries: make(map[string]map[string]time.Time),
		spent: make(map[ponder.RunID]ponder.Cost), actions: make(map[ponder.RunID][]Action), failures: make(map[string]failure),
		broken: make(map[ponder.RunID]int)}
}

func (m *Log) Apply(ev ponder.Event) {
	m.Head, m.View = ev.Seq, m.View.Apply(ev)
	switch b := ev.Body.(type) {
	case ponder.RunFinished:
		m.spent[ev.Run] = b.Spent
	case ponder.Observation:
		m.noteFailure(ev, b)
		if channel, sent := deliveredBy(b); sent {
			if m.deliveries[b.Subject] == nil {
				m.deliveries[b.Subject] = make(map[string]time.Time)
			}
			m.deliveries[b.Subject][channel] = ev.Time
		} else if b.Content != "" && !ev.Internal && b.Sensor != subconscious.Delivery {
			m.observations[ev.ID] = ev
		}
	case ponder.CallFinished:
		if b.Error != "" && !b.Dropped && !b.Refused {
			root, _, _ := strings.Cut(string(ev.Run), "/")
			m.broken[ponder.RunID(root)]++
		}
	case ponder.ToolCall:
		m.actions[ev.Run] = append(m.actions[ev.Run], Action{Tool: b.Name, At: ev.Time, Reason: app.WhyOf(b.Args), key: keyOf(ev)})
	case ponder.ToolResult:
		m.finishAction(ev, b)
	case ponder.Finding, ponder.Subconscious, ponder.Escalation, ponder.Resolution:
		m.events = append(m.events, ev)
	}
}

// deliveredBy returns the channel of a delivery, if o records one.
func deliveredBy(o ponder.Observation) (channel string, sent bool) {
	return o.State, o.Sensor == subconscious.Delivery && o.State != ""
}

// Open reads the subconscious of a's owner, or returns ErrNone.
func Open(ctx context.Context, a *app.App) (*Log, error) {
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return ReadOwner(ctx, store, a.Owner())
}

// ReadOwner reads the subconscious of an owner, or returns ErrNone.
func ReadOwner(ctx context.Context, log ponder.Log, owner string) (*Log, error) {
	return ReadThread(ctx, log, subconscious.ThreadOf(owner))
}

// ReadThread reads the subconscious of a thread, or returns ErrNone.
func ReadThread(ctx context.Context, log ponder.Log, id ponder.ThreadID) (*Log, error) {
	m := New()
	m.thread = id
	return m.readAll(ctx, log)
}

// Read reads the local user's subconscious, or returns ErrNone.
func Read(ctx context.Context, log ponder.Log) (*Log, error) { return New().readAll(ctx, log) }

func (m *Log) readAll(ctx context.Context, log ponder.Log) (*Log, error) {
	if err := m.Follow(ctx, log, nil); err != nil {
		return nil, err
	}
	if m.Head == 0 {
		return nil, ErrNone
	}
	return m, nil
}

// Follow applies newer events and calls each, if not nil, after each. A missing thread is no
// error.
func (m *Log) Follow(ctx context.Context, log ponder.Log, each func(ponder.Event) error) error {
	for ev, err := range log.Events(ctx, m.thread, m.Head) {
		if errors.Is(err, ponder.ErrNoThread) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the subconscious: %w", err)
		}
		if m.Apply(ev); each != nil {
			if err := each(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

type Action struct {
	Tool    string          `json:"tool"`
	At      time.Time       `json:"at"`
	Reason  string          `json:"Reason,omitempty"`
	Outcome string          `json:"outcome,omitempty"` // empty before its end
	Failed  bool            `json:"failed,omitempty"`
	Session ponder.ThreadID `json:"session_id,omitempty"` // the started session

	key string
}

// keyOf returns the action's key of an event.
func keyOf(ev ponder.Event) string {
	key, _, _ := strings.Cut(ev.Cause, "#")
	return key
}

func (m *Log) finishAction(ev ponder.Event, b ponder.ToolResult) {
	list := m.actions[ev.Run]
	for i := range list {
		d := &list[i]
		if d.key != keyOf(ev) || d.Outcome != "" {
			continue
		}
		d.Outcome, d.Failed = textkit.Truncate(textkit.OneLine(cmp.Or(b.Error, b.Result)), 300), b.Error != ""
		if rest, ok := strings.CutPrefix(b.Result, "session "); ok && d.Tool == config.ThinkAbout && !d.Failed {
			id, _, _ := strings.Cut(rest, " ")
			d.Session = ponder.ThreadID(id)
		}
		return
	}
}

func (d Action) text() string {
	text := d.At.Local().Format(time.TimeOnly) + ", did " + textkit.OneLine(d.Tool)
	switch {
	case d.Failed:
		text = d.At.Local().Format(time.TimeOnly) + ", failed to do " + textkit.OneLine(d.Tool) + ": " + d.Outcome
	case d.Outcome == "":
		text += ", result unknown"
	default:
		text += ": " + d.Outcome
	}
	if d.Reason != "" {
		text += " (because: " + d.Reason + ")"
	}
	return fmt.Sprintf("    %s\n", text)
}

type failure struct {
	at  time.Time
	why string
}

// noteFailure records a delivery attempt: see the stored formats of package mindrunner.
func (m *Log) noteFailure(ev ponder.Event, o ponder.Observation) {
	parts := strings.SplitN(ev.Cause, ":", 5)
	if len(parts) != 5 || parts[0] != "delivery" {
		return
	}
	switch parts[3] {
	case "failed":
		m.failures[parts[1]] = failure{ev.Time, o.Content}
	case "sent":
		delete(m.failures, parts[1])
	}
}

// Unsent lists channels whose last use failed, with the reason.
func (m *Log) Unsent(now time.Time) (lines []string) {
	for _, channel := range slices.Sorted(maps.Keys(m.failures)) {
		f := m.failures[channel]
		lines = append(lines, textkit.OneLine(fmt.Sprintf("%s could not deliver a message, %s: %s", channel, textkit.Ago(f.at, now), f.why)))
	}
	return lines
}

// Cooldown says until when findings wait for an escalation, or returns "".
func (m *Log) Cooldown(cooldown config.Duration, now time.Time) string {
	rules := subconscious.Rules{Cooldown: time.Duration(cooldown)}
	at, any := rules.RaisesAt(m.State)
	if !any || !now.Before(at) {
		return ""
	}
	list := m.Internal.Pending
	text := fmt.Sprintf("%s waits to be escalated until %s", textkit.OneLine(list[0].Summary), at.Local().Format("15:04"))
	if len(list) > 1 {
		text = fmt.Sprintf("%d findings wait to be escalated until %s", len(list), at.Local().Format("15:04"))
	}
	return text + " (mind.cooldown; longer after many messages)"
}
