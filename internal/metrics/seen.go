package metrics

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/llm"
)

// maxUnheld limits the known threads that this process started but does not hold.
const maxUnheld = 4096

// A thread is the state of a thread that this process holds or started.
type thread struct {
	held bool
	runs map[ponder.RunID]*run
	open map[action]intent
}

type run struct {
	mode        string
	started     time.Time // zero if it started before this process held the thread
	spent       string    // the budget that forced its conclusion
	lastCallEnd time.Time // end of the last call if no call is open
}

// An action identifies a call or tool use within a thread.
type action struct {
	run   ponder.RunID
	cause string
}

// An intent is an open call or tool use.
type intent struct {
	started     time.Time
	role        ponder.Role
	mode, tool  string
	maxTokens   int
	temperature *float64
}

// threadOf returns the state of a thread. The caller holds m.mu.
func (m *Meter) threadOf(id ponder.ThreadID) *thread {
	if t := m.threads[id]; t != nil {
		return t
	}
	if m.unheld >= maxUnheld {
		maps.DeleteFunc(m.threads, func(_ ponder.ThreadID, t *thread) bool { return !t.held })
		m.unheld = 0
	}
	m.unheld++
	t := &thread{runs: make(map[ponder.RunID]*run), open: make(map[action]intent)}
	m.threads[id] = t
	return t
}

// markHeld marks a thread as held. The caller holds m.mu.
func (m *Meter) markHeld(id ponder.ThreadID) *thread {
	t := m.threadOf(id)
	if !t.held {
		t.held = true
		m.unheld--
	}
	return t
}

func (m *Meter) noteAcquired(id ponder.ThreadID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.markHeld(id)
}

// noteReleased forgets a thread that is no longer held.
func (m *Meter) noteReleased(id ponder.ThreadID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.threads[id]; t != nil {
		if !t.held {
			m.unheld--
		}
		delete(m.threads, id)
	}
}

func (m *Meter) noteAllReleased() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.threads)
	m.unheld = 0
}

// observeCreate observes the first events of a thread. It counts events, but no calls or tools, because
// those of a copy were counted at their origin.
func (m *Meter) observeCreate(id ponder.ThreadID, events []ponder.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for _, ev := range events {
		m.events.add(1, values{typeOf(ev.Body)})
		switch b := ev.Body.(type) {
		case ponder.RunStarted:
			t := m.threadOf(id)
			t.runs[ev.Run] = &run{mode: b.Mode, started: cmp.Or(ev.Time, now)}
		case ponder.RunFinished:
			delete(m.threadOf(id).runs, ev.Run)
		}
	}
}

// observeAppend observes an append or its failure.
func (m *Meter) observeAppend(log ponder.Log, id ponder.ThreadID, fence ponder.Fence, events []ponder.Event, began time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.appendErrors.add(1, values{appendError(err)})
		if errors.Is(err, ponder.ErrFenced) {
			if t := m.threads[id]; t != nil && t.held {
				delete(m.threads, id)
			}
		}
		return
	}
	now := m.now()
	m.appends.observe(now.Sub(began).Seconds(), values{})
	var t *thread
	if fence != 0 {
		t = m.markHeld(id)
	}
	for _, ev := range events {
		m.events.add(1, values{typeOf(ev.Body)})
		m.observeEvent(log, id, t, ev, now)
	}
}

// observeEvent counts an event appended at now. t is nil for events from others than the holder.
func (m *Meter) observeEvent(log ponder.Log, id ponder.ThreadID, t *thread, ev ponder.Event, now time.Time) {
	if b, ok := ev.Body.(ponder.RunStarted); ok {
		m.threadOf(id).runs[ev.Run] = &run{mode: b.Mode, started: ev.Time}
	}
	if t == nil {
		t = m.threads[id]
	}
	if t == nil {
		return
	}
	switch b := ev.Body.(type) {
	case ponder.RunPaused:
		for r, known := range t.runs {
			if r.IsWithin(ev.Run) {
				known.lastCallEnd = time.Time{}
			}
		}
	case ponder.CallStarted:
		m.callStarted(t, ev, b, now)
	case ponder.CallFinished:
		m.callFinished(id, t, ev, b)
	case ponder.ToolCall:
		t.open[action{ev.Run, ev.Cause}] = intent{started: now, tool: b.Name}
	case ponder.ToolResult:
		m.toolFinished(id, t, ev, b)
	case ponder.BudgetSpent:
		m.budgets.add(1, values{oneOf(b.What, "time", "calls", "tokens", "money")})
		if r := t.runs[ev.Run]; r != nil {
			r.spent = b.What
		}
	case ponder.RunFinished:
		m.runFinished(log, id, t, ev, b)
	case ponder.Subconscious:
		if b.Tick > 0 && len(b.State) > 0 {
			m.ticks.add(1, values{})
		}
	}
}

func (m *Meter) callStarted(t *thread, ev ponder.Event, b ponder.CallStarted, now time.Time) {
	in := intent{started: now, role: b.Role, mode: b.Mode}
	if b.Request != nil {
		in.maxTokens, in.temperature = b.Request.MaxTokens, b.Request.Temperature
	}
	t.open[action{ev.Run, ev.Cause}] = in
	r := t.runs[ev.Run]
	if r == nil {
		r = &run{mode: b.Mode}
		t.runs[ev.Run] = r
	}
	if !r.lastCallEnd.IsZero() {
		m.gap.observe(max(0, now.Sub(r.lastCallEnd).Seconds()), values{})
		r.lastCallEnd = time.Time{}
	}
}

func (m *Meter) callFinished(id ponder.ThreadID, t *thread, ev ponder.Event, b ponder.CallFinished) {
	key := action{ev.Run, ev.Cause}
	in := t.open[key]
	delete(t.open, key)
	r := t.runs[ev.Run]
	if in.mode == "" && r != nil {
		in.mode = r.mode
	}
	role, mode, model := cmp.Or(string(in.role), "unknown"), cmp.Or(in.mode, "unknown"), cmp.Or(b.Model, "unknown")
	m.calls.add(1, values{role, model, mode, outcomeLabel(b.Outcome)})
	if !b.Made() {
		return
	}
	u := b.Usage
	for kind, n := range map[string]int{"input": u.Input, "cache_read": u.CacheRead, "cache_write": u.CacheWrite, "output": u.Output} {
		m.tokens.add(float64(n), values{role, model, kind})
	}
	m.reasoning.add(float64(u.Reasoning), values{role, model})
	m.money.add(b.Spent.Money.USD(), values{role, model})
	if u.Hedged {
		m.hedged.add(1, values{role, model})
	}
	if b.Price == ponder.PriceUnknown {
		m.unpriced.add(1, values{role, model})
	}
	took := time.Duration(b.Took) * time.Millisecond
	m.duration.observe(took.Seconds(), values{model})
	if r != nil && b.Error == "" {
		r.lastCallEnd = callEnd(ev, in, took)
	}
	m.cfg.Traces.sendCall(id, ev, in, b)
}

// callEnd returns the end of a call. It is the earlier of the event's time, when the holder
// recorded the end, and the start plus the duration rounded up to milliseconds.
func callEnd(ev ponder.Event, in intent, took time.Duration) time.Time {
	if at := in.started.Add(took + time.Millisecond); !in.started.IsZero() && at.Before(ev.Time) {
		return at
	}
	return ev.Time
}

func (m *Meter) toolFinished(id ponder.ThreadID, t *thread, ev ponder.Event, b ponder.ToolResult) {
	key := action{ev.Run, ev.Cause}
	in := t.open[key]
	delete(t.open, key)
	m.tools.add(1, values{cmp.Or(in.tool, b.Name, "unknown"), outcomeLabel(b.Outcome)})
	m.cfg.Traces.sendTool(id, ev, in, b)
}

func (m *Meter) runFinished(log ponder.Log, id ponder.ThreadID, t *thread, ev ponder.Event, b ponder.RunFinished) {
	r := t.runs[ev.Run]
	if r == nil {
		r = &run{}
	}
	delete(t.runs, ev.Run)
	m.finished.add(1, values{cmp.Or(r.mode, "unknown"), oneOf(string(b.Status), "completed", "failed", "cancelled")})
	m.cfg.Traces.sendRun(log, id, ev, *r, b)
}

// openRuns counts the root runs in progress here by mode. The caller holds m.mu.
func (m *Meter) openRuns() map[string]int {
	open := make(map[string]int)
	for _, t := range m.threads {
		for id, r := range t.runs {
			if !t.held || id.Parent() != "" {
				continue
			}
			mode := labelOf(r.mode)
			if open[mode] == 0 && len(open) >= maxSeries {
				mode = "other"
			}
			open[mode]++
		}
	}
	return open
}

// outcomeLabel returns the outcome of an attempt: "ok" or the cause of the failure.
func outcomeLabel(o ponder.Outcome) string {
	switch {
	case !o.Made():
		return "refused"
	case o.Dropped:
		return "dropped"
	case o.Error == "":
		return "ok"
	case o.Class == "":
		return "error"
	}
	return oneOf(string(o.Class), classes...)
}

var classes = []string{
	string(llm.Transient), string(llm.RateLimited), string(llm.Truncated), string(llm.Unreachable), string(llm.Auth), string(llm.Payment),
	string(llm.NotFound), string(llm.TooLong), string(llm.Filtered), string(llm.BadRequest), string(llm.Malformed), string(llm.Cancelled),
}

func appendError(err error) string {
	for _, one := range []struct {
		err  error
		name string
	}{
		{ponder.ErrTaken, "taken"}, {ponder.ErrStale, "stale"}, {ponder.ErrFenced, "fenced"}, {ponder.ErrNoThread, "no_thread"},
		{ponder.ErrNotInput, "not_input"}, {ponder.ErrFull, "full"}, {ponder.ErrDisk, "disk"}, {ponder.ErrReadOnly, "read_only"}, {ponder.ErrNewer, "newer"},
		{ponder.ErrTooBig, "too_big"}, {ponder.ErrDamaged, "damaged"}, {ponder.ErrLost, "lost"},
	} {
		if errors.Is(err, one.err) {
			return one.name
		}
	}
	return "other"
}

// typeOf returns the event type, "unknown" for foreign events.
func typeOf(b ponder.Body) string {
	if _, foreign := b.(ponder.Unknown); foreign {
		return "unknown"
	}
	return b.Type()
}

// oneOf returns word if it is known, otherwise "other".
func oneOf(word string, known ...string) string {
	if slices.Contains(known, word) {
		return word
	}
	return "other"
}
