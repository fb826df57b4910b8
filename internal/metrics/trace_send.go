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

// maxQueue limits the pending spans.
const maxQueue = 2048

// NewTraces returns traces with configuration c. The caller must close them.
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
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // sends headers to no other host
	}))
	if err != nil {
		return nil, err
	}
	sent := sdktrace.NewBatchSpanProcessor(&exporter{SpanExporter: otlp, traces: t, logger: cmp.Or(c.Logger, slog.Default())}, sdktrace.WithMaxQueueSize(maxQueue))
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithIDGenerator(positionIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithSpanProcessor(queue{sent, t}))
	t.tracer = t.provider.Tracer("ponder", trace.WithInstrumentationVersion(c.Version))
	return t, nil
}

// Close sends the pending spans until ctx ends. It drops later spans.
func (t *Traces) Close(ctx context.Context) error {
	if t.closed.CompareAndSwap(false, true) {
		go func() {
			t.lookups.Wait()
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

// A spanCount counts spans by state.
type spanCount struct{ waiting, sent, dropped atomic.Int64 }

// A queue drops and counts spans beyond maxQueue.
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

// An exporter counts the accepted spans.
type exporter struct {
	sdktrace.SpanExporter
	traces *Traces
	logger *slog.Logger
	failed bool // the last batch failed
}

// rejected matches the SDK's error for a partly accepted batch. Its type is internal.
var rejected = regexp.MustCompile(`\((\d+) spans rejected\)$`)

// ExportSpans implements [sdktrace.SpanExporter]. It logs the first of consecutive errors and
// returns nil, because the SDK would write each to standard error.
func (e *exporter) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	lost, err := 0, e.SpanExporter.ExportSpans(ctx, batch)
	if err != nil {
		lost = len(batch)
		if m := rejected.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits only
			lost = min(lost, n)
		}
	}
	if lost > 0 && !e.failed {
		text := err.Error()
		e.logger.Warn("cannot export traces", "spans", lost, "error", text[:min(len(text), maxLogged)])
	}
	e.failed = lost > 0
	e.traces.dropped.Add(int64(lost))
	e.traces.sent.Add(int64(len(batch) - lost))
	e.traces.waiting.Add(-int64(len(batch)))
	return nil
}

// maxLogged limits a logged error in bytes.
const maxLogged = 300

// An endpoint sends requests to the full URL, because the SDK drops its user and query.
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

// A transient error makes the SDK retry, also after a refused connection.
type transient struct{ error }

// Temporary implements the interface of temporary errors in [url.Error].
func (transient) Temporary() bool { return true }

// Unwrap supports [errors.As].
func (t transient) Unwrap() error { return t.error }
