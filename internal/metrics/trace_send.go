package metrics

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// maxQueue is how many spans may wait.
const maxQueue = 2048

// NewTraces returns traces that are sent as c says. Close them.
func NewTraces(c TraceConfig) (*Traces, error) {
	ctx, t := context.Background(), &Traces{timeout: cmp.Or(c.Timeout, defaultTimeout), done: make(chan struct{})}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "ponder"), attribute.String("service.version", cmp.Or(c.Version, "dev"))),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", errList)
	}
	at, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, errEndpoint
	}
	otlp, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.Endpoint), otlptracehttp.WithHTTPClient(&http.Client{
		Transport: endpoint{at, cmp.Or(c.Transport, http.DefaultTransport), t}, Timeout: t.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers go nowhere else
	}))
	if err != nil {
		return nil, err
	}
	sent := sdktrace.NewBatchSpanProcessor(&exporter{SpanExporter: otlp, traces: t, logger: cmp.Or(c.Logger, slog.Default())}, sdktrace.WithMaxQueueSize(maxQueue))
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithIDGenerator(placedIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithSpanProcessor(queue{sent, t}))
	t.tracer = t.provider.Tracer("ponder", trace.WithInstrumentationVersion(c.Version))
	return t, nil
}

// Close sends the spans that wait, as far as ctx allows. Later spans are dropped.
func (t *Traces) Close(ctx context.Context) error {
	if t.closed.CompareAndSwap(false, true) {
		go func() {
			t.late.Wait()
			_ = t.provider.Shutdown(context.WithoutCancel(ctx)) // the exporter logs its errors
			close(t.done)
		}()
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A spanCount counts spans.
type spanCount struct{ waiting, sent, dropped atomic.Int64 }

// A queue drops and counts the spans that are too many.
type queue struct {
	sdktrace.SpanProcessor
	traces *Traces
}

// OnEnd implements [sdktrace.SpanProcessor].
func (q queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if q.traces.waiting.Add(1) > maxQueue {
		q.traces.waiting.Add(-1)
		q.traces.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// An exporter counts the spans that a collector takes.
type exporter struct {
	sdktrace.SpanExporter
	traces *Traces
	logger *slog.Logger
	failed bool // the last batch
}

// rejected matches the end of an error of the SDK about a batch that a collector took in
// part. The type of that error is internal.
var rejected = regexp.MustCompile(`\((\d+) spans rejected\)$`)

// ExportSpans implements [sdktrace.SpanExporter]. It logs the first of several errors, and
// returns none, since the SDK would write each to standard error.
func (e *exporter) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	lost, err := 0, e.SpanExporter.ExportSpans(ctx, batch)
	if err != nil {
		lost = len(batch)
		if m := rejected.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits
			lost = min(lost, n)
		}
	}
	if lost > 0 && !e.failed {
		text := err.Error()
		e.logger.Warn("traces are lost", "spans", lost, "error", text[:min(len(text), maxLogged)])
	}
	e.failed = lost > 0
	e.traces.dropped.Add(int64(lost))
	e.traces.sent.Add(int64(len(batch) - lost))
	e.traces.waiting.Add(-int64(len(batch)))
	return nil
}

// maxLogged bounds the error of a collector in the log, in bytes.
const maxLogged = 300

// An endpoint sends requests to the whole of a URL: the SDK leaves out its user and query.
type endpoint struct {
	at     *url.URL
	next   http.RoundTripper
	traces *Traces
}

// RoundTrip implements [http.RoundTripper].
func (e endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL = e.at
	if user := e.at.User; user != nil && r.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	resp, err := e.next.RoundTrip(r)
	if err != nil && !e.traces.closed.Load() {
		err = transient{err}
	}
	return resp, err
}

// A transient error has the SDK send a batch again, also after a refused connection.
type transient struct{ error }

// Temporary is for [url.Error].
func (transient) Temporary() bool { return true }

// Unwrap is for [errors.As].
func (t transient) Unwrap() error { return t.error }
