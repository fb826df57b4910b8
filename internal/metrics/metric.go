// Package metrics measures the work of a process and records traces.
//
// It derives both from the log: [Meter.Store] wraps the process's store, and the engine knows
// nothing of it. seen.go observes events, series.go defines the metrics, and the trace files
// create spans from the same events. The Prometheus client exposes the metrics; the OpenTelemetry
// SDK sends the spans.
//
// No label has a value that users or clients can choose freely. Labels are modes, roles, models,
// error classes and event types, and a metric has at most maxSeries series. Spans contain IDs, but
// no content.
package metrics

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ponder"
	"ponder/llm"
)

// A Config names the sources of metrics besides the log. All fields are optional.
type Config struct {
	Version string

	Queue    func() (n int, known bool) // threads with pending work
	Watchers func() int                 // open event streams
	Lag      func() int                 // events by which the slowest stream lags

	ModelServers func() []ModelServer

	// Traces, if set, receives a span for each call, tool use and run.
	Traces *Traces
}

// A ModelServer is the state of the calls to a model server.
type ModelServer struct {
	Name   string
	Load   llm.GateLoad
	Faults []llm.Fault
}

// A Meter collects metrics and traces. It is safe for concurrent use.
type Meter struct {
	cfg     Config
	now     func() time.Time
	metrics http.Handler // serves the metrics

	mu      sync.Mutex
	threads map[ponder.ThreadID]*thread
	unheld  int // number of threads that are not held
	families
}

// New returns a meter for c.
func New(c Config) *Meter {
	r := prometheus.NewRegistry()
	m := &Meter{cfg: c, now: time.Now, threads: make(map[ponder.ThreadID]*thread), families: newFamilies(r)}
	registerProcess(r, c.Version)
	r.MustRegister(live{m})
	m.metrics = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return m
}

// leaseCount returns the number of held threads. The caller holds m.mu.
func (m *Meter) leaseCount() (n int) {
	for _, t := range m.threads {
		if t.held {
			n++
		}
	}
	return n
}

// Request counts an HTTP request. The route is a pattern, never a path. A zero took means a
// stream, whose duration does not count.
func (m *Meter) Request(method, route string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	route = cmp.Or(route, "none")
	m.requests.add(1, values{methodLabel(method), route, strconv.Itoa(cmp.Or(status, http.StatusOK))})
	if took > 0 {
		m.requestDuration.observe(took.Seconds(), values{route})
	}
}

// methodLabel returns a standard HTTP method, or "other".
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// ServeHTTP implements [http.Handler]. It serves the metrics for scrapers.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	m.metrics.ServeHTTP(w, r)
}

// Close sends the pending traces until ctx ends.
func (m *Meter) Close(ctx context.Context) error {
	if m.cfg.Traces == nil {
		return nil
	}
	return m.cfg.Traces.Close(ctx)
}
