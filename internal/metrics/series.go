package metrics

import (
	"cmp"
	"runtime"
	"runtime/metrics"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A families holds the metrics of events and requests. The caller holds the lock of the meter.
type families struct {
	calls, hedged, unpriced, tokens, reasoning, money *counter
	tools, finished, budgets, events, ticks           *counter
	appendErrors, requests                            *counter
	duration, gap, appends, requestDuration           *histogram
}

func newFamilies(r prometheus.Registerer) families {
	// Bucket bounds in seconds.
	callBounds := []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320}
	shortBounds := []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
	return families{
		calls:           newCounter(r, "ponder_calls_total", "Finished attempts of model calls, by outcome: ok or an error class.", "role", "model", "mode", "outcome"),
		hedged:          newCounter(r, "ponder_hedged_calls_total", "Attempts with a hedged second request because the first was late.", "role", "model"),
		unpriced:        newCounter(r, "ponder_unpriced_calls_total", "Model calls with unknown price.", "role", "model"),
		tokens:          newCounter(r, "ponder_tokens_total", "Tokens of model calls: input (uncached), cache_read, cache_write, output.", "role", "model", "kind"),
		reasoning:       newCounter(r, "ponder_reasoning_tokens_total", "Output tokens used for reasoning.", "role", "model"),
		money:           newCounter(r, "ponder_spent_usd_total", "Cost of model calls with known prices, in US dollars.", "role", "model"),
		duration:        newHistogram(r, "ponder_call_duration_seconds", "Duration of attempts of model calls.", callBounds, "model"),
		gap:             newHistogram(r, "ponder_call_gap_seconds", "Time from the end of a call to the start of the next call of the same run (engine overhead).", shortBounds),
		tools:           newCounter(r, "ponder_tool_uses_total", "Finished tool uses.", "tool", "outcome"),
		finished:        newCounter(r, "ponder_runs_finished_total", "Finished runs.", "mode", "status"),
		budgets:         newCounter(r, "ponder_budgets_spent_total", "Runs that had to conclude, by the limit that was reached.", "what"),
		events:          newCounter(r, "ponder_events_total", "Events appended by this process.", "type"),
		ticks:           newCounter(r, "ponder_mind_ticks_total", "Ticks of the subconscious."),
		appends:         newHistogram(r, "ponder_append_seconds", "Time until appended events were durable.", shortBounds),
		appendErrors:    newCounter(r, "ponder_append_errors_total", "Appends refused by the store.", "error"),
		requests:        newCounter(r, "ponder_http_requests_total", "HTTP requests answered.", "method", "route", "status"),
		requestDuration: newHistogram(r, "ponder_http_request_seconds", "Duration of HTTP requests, without streams.", shortBounds, "route"),
	}
}

// maxSeries limits the series of a metric. Further ones count as "other".
const maxSeries = 500

// A values holds the label values of a series, empty beyond the last label.
type values [4]string

// A boundedMetric is a metric with at most maxSeries series plus one for all others.
type boundedMetric[M any] struct {
	known  map[values]M
	labels int
	series func(...string) M
}

func newBoundedMetric[M any](labels int, series func(...string) M) boundedMetric[M] {
	b := boundedMetric[M]{make(map[values]M), labels, series}
	if labels == 0 {
		b.get(values{}) // expose it from the start
	}
	return b
}

func (b *boundedMetric[M]) get(v values) M {
	if one, ok := b.known[v]; ok {
		return one
	}
	if len(b.known) >= maxSeries {
		v = values{"other", "other", "other", "other"}
		clear(v[b.labels:])
	}
	one, ok := b.known[v]
	if !ok {
		list := make([]string, b.labels)
		for i := range list {
			list[i] = labelOf(v[i])
		}
		one = b.series(list...)
		b.known[v] = one
	}
	return one
}

// maxValue limits a label value in bytes.
const maxValue = 120

func labelOf(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxValue)], "?") }

type counter struct {
	boundedMetric[prometheus.Counter]
}

func newCounter(r prometheus.Registerer, name, help string, labels ...string) *counter {
	vec := promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	return &counter{newBoundedMetric(len(labels), vec.WithLabelValues)}
}

// add adds x if it is positive.
func (c *counter) add(x float64, v values) {
	if x > 0 {
		c.get(v).Add(x)
	}
}

type histogram struct {
	boundedMetric[prometheus.Observer]
}

func newHistogram(r prometheus.Registerer, name, help string, bounds []float64, labels ...string) *histogram {
	vec := promauto.With(r).NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	return &histogram{newBoundedMetric(len(labels), vec.WithLabelValues)}
}

func (h *histogram) observe(x float64, v values) { h.get(v).Observe(x) }

func registerProcess(r prometheus.Registerer, version string) {
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	auto := promauto.With(r)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "go_memory_used_bytes", Help: "Memory in use by the program."}, memoryUsed)
	auto.NewGauge(prometheus.GaugeOpts{
		Name: "ponder_build_info", Help: "Version of the program.",
		ConstLabels: prometheus.Labels{"version": labelOf(cmp.Or(version, "dev")), "goversion": runtime.Version()},
	}).Set(1)
}

// memoryUsed returns the memory in use, in bytes.
func memoryUsed() float64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// A live collects the metrics that are read at each scrape.
type live struct{ m *Meter }

// Describe implements [prometheus.Collector]. It sends no descriptions, so that Collect may omit
// unknown values.
func (live) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (l live) Collect(to chan<- prometheus.Metric) {
	put := func(kind prometheus.ValueType, name, help string, n int) {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, float64(n))
	}
	c := l.m.cfg
	if c.Queue != nil {
		if n, known := c.Queue(); known {
			put(prometheus.GaugeValue, "ponder_queue_length", "Threads that wait for work: queued or abandoned.", n)
		}
	}
	if c.Watchers != nil {
		put(prometheus.GaugeValue, "ponder_stream_watchers", "Open streams of events.", c.Watchers())
	}
	if c.Lag != nil {
		put(prometheus.GaugeValue, "ponder_stream_lag_events", "Lag of the slowest open stream, in events.", c.Lag())
	}
	if c.ModelServers != nil {
		collectServers(to, c.ModelServers())
	}
	if t := c.Traces; t != nil {
		put(prometheus.CounterValue, "ponder_spans_sent_total", "Spans accepted by the collector.", int(t.sent.Load()))
		put(prometheus.CounterValue, "ponder_spans_dropped_total", "Spans lost because the queue was full or no collector accepted them.", int(t.dropped.Load()))
	}
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	put(prometheus.GaugeValue, "ponder_leases_held", "Threads held by this process.", l.m.leaseCount())
	runs := prometheus.NewDesc("ponder_open_runs", "Top-level runs active in this process.", []string{"mode"}, nil)
	for mode, n := range l.m.openRuns() {
		to <- prometheus.MustNewConstMetric(runs, prometheus.GaugeValue, float64(n), mode)
	}
}

// collectServers sends the metrics of model servers, of at most maxSeries unavailable models.
func collectServers(to chan<- prometheus.Metric, servers []ModelServer) {
	calls := prometheus.NewDesc("ponder_server_calls", "Model calls of this process by state: in_flight, or waiting for a free slot.", []string{"provider", "state"}, nil)
	limit := prometheus.NewDesc("ponder_server_call_limit", "Current limit of concurrent model calls.", []string{"provider"}, nil)
	fault := prometheus.NewDesc("ponder_model_unavailable", "1 for each model without calls, except tests, because of the reason: an error class.", []string{"model", "reason"}, nil)
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	left := maxSeries
	for _, s := range servers[:min(len(servers), maxSeries)] {
		name := labelOf(s.Name)
		gauge(calls, s.Load.InFlight, name, "in_flight")
		gauge(calls, s.Load.Waiting, name, "waiting")
		gauge(limit, s.Load.Limit, name)
		for _, f := range s.Faults[:min(len(s.Faults), left)] {
			gauge(fault, 1, labelOf(f.Model), string(f.Class))
			left--
		}
	}
}
