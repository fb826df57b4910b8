// Package metrics counts and times what a process thinks, and tells of it in traces.
//
// It learns from what goes into the log: [Meter.Store] wraps the store of the process,
// and the engine knows nothing of it. seen.go makes counts of events, text.go writes
// them in the text format of Prometheus, and the trace files make spans of the same
// events and send them by OTLP.
//
// No label has a value of users or a name that everybody may choose: labels are modes,
// roles, models, classes of errors and types of events, and of each family no more than
// maxSeries are told apart. No span has content, but ids.
package metrics

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"runtime"
	"sync"
	"time"

	"ponder"
)

// A Config says what is measured beside the log. All of it may be left out.
type Config struct {
	Version string

	Queue    func() (n int, known bool) // threads that wait to be worked on
	Watchers func() int                 // open streams of events
	Lag      func() int                 // events that the slowest of them is behind

	// Traces, if set, is told of calls and runs.
	Traces *Traces
}

// A Meter counts. It is safe for concurrent use.
type Meter struct {
	cfg    Config
	now    func() time.Time
	gauges []gauge

	mu      sync.Mutex
	threads map[ponder.ThreadID]*thread
	begun   int // of threads, those that are not held
	families
}

// Families are what is counted.
type families struct {
	calls, hedged, unpriced, tokens, reasoning, money *family
	duration, gap                                     *family
	tools, finished, budgets, events, ticks           *family
	appends, appendErrors, requests, requestDuration  *family
}

// A gauge is a value that is asked for when it is read.
type gauge struct {
	name, help string
	counter    bool
	read       func() (float64, bool) // false: it is not known
}

// Bounds of the buckets of histograms, in seconds.
var (
	callBounds   = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320}
	gapBounds    = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
	appendBounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
)

// New returns a meter.
func New(c Config) *Meter {
	m := &Meter{cfg: c, now: time.Now, threads: make(map[ponder.ThreadID]*thread)}
	m.families = families{
		calls:           counter("ponder_calls_total", "Attempts at calls of models that ended, by what came of them: ok, or a class of errors.", "role", "model", "mode", "outcome"),
		hedged:          counter("ponder_hedged_calls_total", "Of them, those that were made twice, for the first request was slow to begin.", "role", "model"),
		unpriced:        counter("ponder_unpriced_calls_total", "Of all calls, those whose price is not known.", "role", "model"),
		tokens:          counter("ponder_tokens_total", "Tokens that models read and wrote: input (not from a cache), cache_read, cache_write, output.", "role", "model", "kind"),
		reasoning:       counter("ponder_reasoning_tokens_total", "Of the tokens of output, those of reasoning.", "role", "model"),
		money:           counter("ponder_spent_usd_total", "US dollars that calls cost, as far as prices are known.", "role", "model"),
		duration:        histogram("ponder_call_duration_seconds", "How long attempts at calls took.", callBounds, "model"),
		gap:             histogram("ponder_call_gap_seconds", "From the end of a call to the beginning of the same run's next: what the engine adds.", gapBounds),
		tools:           counter("ponder_tool_uses_total", "Uses of tools that ended.", "tool", "outcome"),
		finished:        counter("ponder_runs_finished_total", "Runs that ended.", "mode", "status"),
		budgets:         counter("ponder_budgets_spent_total", "Runs that were told to conclude, by the budget that was spent.", "what"),
		events:          counter("ponder_events_total", "Events that this process appended to the log.", "type"),
		ticks:           counter("ponder_mind_ticks_total", "Ticks of the subconscious."),
		appends:         histogram("ponder_append_seconds", "How long it took until appended events were durable.", appendBounds),
		appendErrors:    counter("ponder_append_errors_total", "Appends that the store refused.", "error"),
		requests:        counter("ponder_http_requests_total", "Requests that were answered.", "method", "route", "status"),
		requestDuration: histogram("ponder_http_request_seconds", "How long it took to answer requests, streams not among them.", appendBounds, "route"),
	}
	m.gauges = m.live()
	return m
}

// all returns the families in the order in which they are written.
func (f *families) all() []*family {
	return []*family{
		f.calls, f.hedged, f.unpriced, f.tokens, f.reasoning, f.money, f.duration, f.gap, f.tools, f.finished, f.budgets, f.events, f.ticks, f.appends, f.appendErrors,
		f.requests, f.requestDuration,
	}
}

// live returns what is measured when it is read.
func (m *Meter) live() []gauge {
	of := func(f func() int) func() (float64, bool) {
		return func() (float64, bool) {
			if f == nil {
				return 0, false
			}
			return float64(f()), true
		}
	}
	list := []gauge{
		{"ponder_leases_held", "Threads that this process holds.", false, of(m.leases)},
		{"ponder_queue_length", "Threads that wait to be worked on: those in the queue, and those that were left.", false, m.queue},
		{"ponder_stream_watchers", "Open streams of events.", false, of(m.cfg.Watchers)},
		{"ponder_stream_lag_events", "Events that the slowest open stream is behind.", false, of(m.cfg.Lag)},
		{"go_goroutines", "Goroutines that exist.", false, of(runtime.NumGoroutine)},
	}
	if t := m.cfg.Traces; t != nil {
		list = append(list,
			gauge{"ponder_spans_sent_total", "Spans that a collector took.", true, func() (float64, bool) { return float64(t.sent.Load()), true }},
			gauge{"ponder_spans_dropped_total", "Spans that were lost: there were too many, or no collector took them.", true, func() (float64, bool) { return float64(t.dropped.Load()), true }})
	}
	return append(list, process()...)
}

// queue returns how many threads wait.
func (m *Meter) queue() (float64, bool) {
	if m.cfg.Queue == nil {
		return 0, false
	}
	n, known := m.cfg.Queue()
	return float64(n), known
}

// leases returns how many threads are held.
func (m *Meter) leases() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.threads {
		if t.held {
			n++
		}
	}
	return n
}

// Request counts a request of HTTP. The route is a pattern, never a path; took is zero
// for a stream.
func (m *Meter) Request(method, route string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if status == 0 {
		status = http.StatusOK
	}
	route = cmp.Or(route, "none")
	m.requests.add(1, values{verb(method), route, number(status)})
	if took > 0 {
		m.requestDuration.observe(took.Seconds(), values{route})
	}
}

// verb returns a method that HTTP has, or "other".
func verb(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// ServeHTTP implements [http.Handler]: it writes what was measured, for a scraper.
func (m *Meter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	m.write(&b)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(b.Bytes())
}

// Close sends the traces that have not been sent, as far as ctx allows.
func (m *Meter) Close(ctx context.Context) error {
	if m.cfg.Traces == nil {
		return nil
	}
	return m.cfg.Traces.Close(ctx)
}
