package metrics

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"ponder"
)

// remoteOf adds the W3C trace context in the header traceparent to ctx. It returns false if there
// is none or the caller's trace is not sampled.
func remoteOf(ctx context.Context, h http.Header) (context.Context, bool) {
	if len(h.Values("traceparent")) != 1 {
		return ctx, false
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(h))
	return ctx, trace.SpanContextFromContext(ctx).IsSampled()
}

// Handler wraps next. A request with a traceparent gets a span in that trace, and the runs that it
// starts are below that span.
func (m *Meter) Handler(next http.Handler) http.Handler {
	t := m.cfg.Traces
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, ok := remoteOf(r.Context(), r.Header)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		var at spanPosition
		rand.Read(at.id[:])
		_, s := t.tracer.Start(context.WithValue(ctx, placeKey{}, at), methodLabel(r.Method), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(m.now()))
		seen := &statusWriter{ResponseWriter: w}
		defer func() { finishSpan(s, r.Method, cmp.Or(seen.status, http.StatusOK), m.now()) }()
		next.ServeHTTP(seen, r.WithContext(trace.ContextWithSpan(ctx, s)))
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (a *statusWriter) WriteHeader(status int) {
	a.status = cmp.Or(a.status, status)
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap supports [http.ResponseController].
func (a *statusWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// finishSpan ends the span of a request. It drops spans of rejected requests, so that strangers create
// none.
func finishSpan(s trace.Span, method string, status int, end time.Time) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return
	}
	s.SetAttributes(attribute.String("http.request.method", methodLabel(method)), attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		s.SetStatus(codes.Error, "")
		s.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
	}
	s.End(trace.WithTimestamp(end))
}

// maxRemotes limits the recorded threads and runs.
const maxRemotes = 4096

// A remotes holds the request spans that started runs. It is safe for concurrent use.
type remotes struct {
	mu       sync.Mutex
	runs     map[rootRun]trace.SpanContext
	messages map[ponder.ThreadID]trace.SpanContext // span of the newest message
}

type rootRun struct {
	thread ponder.ThreadID
	run    ponder.RunID
}

// recordStarts records events stored for ctx. A run belongs to the trace of the request that started it or
// that sent the message which woke it.
func (t *Traces) recordStarts(ctx context.Context, thread ponder.ThreadID, events []ponder.Event) {
	if t == nil {
		return
	}
	from := trace.SpanContextFromContext(ctx)
	t.from.mu.Lock()
	defer t.from.mu.Unlock()
	for _, ev := range events {
		switch ev.Body.(type) {
		case ponder.UserMessage:
			delete(t.from.messages, thread)
			if from.IsValid() {
				t.from.messages = putBounded(t.from.messages, thread, from)
			}
		case ponder.RunStarted:
			r := t.from.messages[thread]
			if from.IsValid() {
				r = from
			}
			if r.IsValid() && ev.Run.Parent() == "" {
				t.from.runs = putBounded(t.from.runs, rootRun{thread, ev.Run}, r)
			}
		}
	}
}

// putBounded adds an entry and evicts arbitrary ones beyond the limit.
func putBounded[K comparable](m map[K]trace.SpanContext, key K, s trace.SpanContext) map[K]trace.SpanContext {
	if m == nil {
		m = make(map[K]trace.SpanContext)
	}
	for other := range m {
		if len(m) < maxRemotes {
			break
		}
		delete(m, other)
	}
	m[key] = s
	return m
}

// traceOf returns the trace of a run: that of the request that started the root run, if known. If
// the root run itself ends, it also returns the request's span and forgets it.
func (t *Traces) traceOf(thread ponder.ThreadID, run ponder.RunID, ends bool) (id trace.TraceID, above trace.SpanID) {
	root, _, _ := strings.Cut(string(run), "/")
	key := rootRun{thread, ponder.RunID(root)}
	t.from.mu.Lock()
	defer t.from.mu.Unlock()
	from, known := t.from.runs[key]
	if !known {
		hashOf(id[:], "trace", string(thread), root)
		return id, above
	}
	if ends && key.run == run {
		above = from.SpanID()
		delete(t.from.runs, key)
	}
	return from.TraceID(), above
}
