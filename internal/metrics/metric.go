// Package metrics counts and times the work of a process, and makes traces of it.
//
// It learns from the log: [Meter.Store] wraps the store of the process, and the engine
// knows nothing of it. seen.go observes events, series.go has the metrics, and the trace
// files make spans of the same events. The Prometheus client writes the metrics, and the
// OpenTelemetry SDK sends the spans.
//
// No label has a value of users or a name that everybody may choose: labels are modes,
// roles, models, classes of errors and types of events, and each metric has at most
// maxSeries series. No span has content, but ids.
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
)

// A Config names the sources of metrics beside the log. Each field may be left out.
type Config struct {
	Version string

	Queue    func() (n int, known bool) // threads that wait to be worked on
	Watchers func() int                 // open streams of events
	Lag      func() int                 // events that the slowest of them is behind

	// Traces, if set, gets a span for each call, tool and run.
	Traces *Traces
}

// A Meter counts. It is safe for concurrent use.
type Meter struct {
	cfg     Config
	now     func() time.Time
	metrics http.Handler // writes the metrics

	mu      sync.Mutex
	threads map[ponder.ThreadID]*thread
	begun   int // number of threads that are not held
	families
}

// New returns a meter.
func New(c Config) *Meter {
	r := prometheus.NewRegistry()
	m := &Meter{cfg: c, now: time.Now, threads: make(map[ponder.ThreadID]*thread), families: newFamilies(r)}
	registerProcess(r, c.Version)
	r.MustRegister(live{m})
	m.metrics = promhttp.HandlerFor(r, promhttp.HandlerOpts{})
	return m
}

// leases returns how many threads are held. The caller holds m.mu.
func (m *Meter) leases() (n int) {
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
	route = cmp.Or(route, "none")
	m.requests.add(1, values{verb(method), route, strconv.Itoa(cmp.Or(status, http.StatusOK))})
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

// ServeHTTP implements [http.Handler]: it writes the metrics for a scraper.
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	m.metrics.ServeHTTP(w, r)
}

// Close sends the traces that wait, as far as ctx allows.
func (m *Meter) Close(ctx context.Context) error {
	if m.cfg.Traces == nil {
		return nil
	}
	return m.cfg.Traces.Close(ctx)
}
