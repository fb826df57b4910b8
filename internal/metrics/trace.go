package metrics

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"ponder"
)

// Traces creates spans of calls, tools and runs, named by OpenTelemetry's conventions for
// generative models. The SDK sends them, see trace_send.go. Callers never wait: Traces drops and
// counts spans beyond the queue.
//
// Span IDs derive from run IDs and causes, so that a run in several processes is one trace without
// duplicates. Only a run started by a request with a traceparent belongs to that request's trace,
// and only while the process lasts: see trace_parent.go.
type Traces struct {
	spanCount
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	timeout  time.Duration  // of a request and of a look-up
	lookups  sync.WaitGroup // pending look-ups of run starts
	closed   atomic.Bool
	done     chan struct{} // closed once all spans are sent
	from     remotes
}

// A spanPosition is the position of a span in a trace.
type spanPosition struct {
	trace  trace.TraceID
	id     trace.SpanID
	parent trace.SpanID // zero for a root span
}

type placeKey struct{}

// A positionIDs generates span IDs from the place in the context.
type positionIDs struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (positionIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	at, _ := ctx.Value(placeKey{}).(spanPosition)
	return at.trace, at.id
}

// NewSpanID implements [sdktrace.IDGenerator].
func (g positionIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

func hashOf(id []byte, parts ...string) {
	h := sha256.New()
	for i, part := range parts {
		if i > 0 {
			h.Write([]byte{0})
		}
		h.Write([]byte(part))
	}
	copy(id, h.Sum(nil))
}

// spanOf returns the span ID of a run, or of an action with a cause.
func spanOf(kind string, thread ponder.ThreadID, run ponder.RunID, cause ...string) (id trace.SpanID) {
	if run != "" || kind != "run" {
		hashOf(id[:], append([]string{kind, string(thread), string(run)}, cause...)...)
	}
	return id
}

type span struct {
	spanPosition
	name         string
	kind         trace.SpanKind
	started, end time.Time
	failed       bool
	attributes   []attribute.KeyValue
}

func (t *Traces) sendSpan(s span) {
	ctx := context.WithValue(context.Background(), placeKey{}, s.spanPosition)
	if s.parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.parent, TraceFlags: trace.FlagsSampled}))
	}
	_, made := t.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.started), trace.WithAttributes(s.attributes...))
	if s.failed {
		made.SetStatus(codes.Error, "")
	}
	made.End(trace.WithTimestamp(s.end))
}

func (t *Traces) newSpan(thread ponder.ThreadID, ev ponder.Event, began time.Time) span {
	at := spanPosition{id: spanOf("action", thread, ev.Run, ev.Cause), parent: spanOf("run", thread, ev.Run)}
	at.trace, _ = t.traceOf(thread, ev.Run, false)
	return span{spanPosition: at, started: began, end: ev.Time}
}

// sendCall sends the span of a call attempt.
func (t *Traces) sendCall(thread ponder.ThreadID, ev ponder.Event, in intent, b ponder.CallFinished) {
	if t == nil {
		return
	}
	s := t.newSpan(thread, ev, ev.Time.Add(-time.Duration(b.Took)*time.Millisecond))
	provider, model := providerOf(b.Model)
	s.name, s.kind, s.failed = "chat "+model, trace.SpanKindClient, b.Error != ""
	s.attributes = append(make([]attribute.KeyValue, 0, 18),
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", provider),
		attribute.String("gen_ai.request.model", model),
		attribute.String("gen_ai.conversation.id", string(thread)))
	s.addCount("gen_ai.request.max_tokens", in.maxTokens)
	if in.temperature != nil {
		s.add(attribute.Float64("gen_ai.request.temperature", *in.temperature))
	}
	u := b.Usage
	s.add(attribute.Int("gen_ai.usage.input_tokens", u.Input+u.CacheRead+u.CacheWrite))
	s.add(attribute.Int("gen_ai.usage.output_tokens", u.Output))
	s.addCount("gen_ai.usage.cache_read.input_tokens", u.CacheRead)
	s.addCount("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
	s.addCount("gen_ai.usage.reasoning.output_tokens", u.Reasoning)
	if b.Finish != "" {
		s.add(attribute.StringSlice("gen_ai.response.finish_reasons", []string{string(b.Finish)}))
	}
	s.addText("ponder.role", string(in.role))
	s.addText("ponder.mode", in.mode)
	s.addText("ponder.action", ev.Cause)
	s.add(attribute.Float64("ponder.cost_usd", b.Spent.Money.USD()))
	if s.failed {
		s.addText("error.type", outcomeLabel(b.Outcome))
	}
	t.sendSpan(s)
}

// sendTool sends the span of a tool use.
func (t *Traces) sendTool(thread ponder.ThreadID, ev ponder.Event, in intent, b ponder.ToolResult) {
	if t == nil {
		return
	}
	began := in.started
	if began.IsZero() || began.After(ev.Time) {
		began = ev.Time
	}
	s := t.newSpan(thread, ev, began)
	name := cmp.Or(in.tool, b.Name)
	s.name, s.failed = "execute_tool "+name, b.Error != ""
	s.add(attribute.String("gen_ai.operation.name", "execute_tool"))
	s.add(attribute.String("gen_ai.tool.name", name))
	s.add(attribute.String("gen_ai.conversation.id", string(thread)))
	s.addText("ponder.action", ev.Cause)
	if s.failed {
		s.addText("error.type", outcomeLabel(b.Outcome))
	}
	t.sendSpan(s)
}

// sendRun sends the span of a run. If the start is unknown, it reads the log in the background.
func (t *Traces) sendRun(log ponder.Log, thread ponder.ThreadID, ev ponder.Event, r run, b ponder.RunFinished) {
	if t == nil {
		return
	}
	s := span{
		spanPosition: spanPosition{id: spanOf("run", thread, ev.Run), parent: spanOf("run", thread, ev.Run.Parent())},
		name:         "invoke_agent", end: ev.Time, failed: b.Status == ponder.Failed,
	}
	var above trace.SpanID
	if s.trace, above = t.traceOf(thread, ev.Run, true); above.IsValid() {
		s.parent = above
	}
	s.add(attribute.String("gen_ai.operation.name", "invoke_agent"))
	s.add(attribute.String("gen_ai.conversation.id", string(thread)))
	s.add(attribute.String("ponder.run_id", string(ev.Run)))
	s.add(attribute.String("ponder.status", string(b.Status)))
	s.addText("ponder.budget_spent", r.spent)
	s.add(attribute.Int("ponder.calls", b.Spent.Calls))
	s.add(attribute.Int("ponder.tokens", b.Spent.Tokens))
	s.add(attribute.Float64("ponder.cost_usd", b.Spent.Money.USD()))
	if s.failed {
		s.addText("error.type", "failed")
	}
	put := func() {
		if s.started = cmp.Or(r.started, s.end); r.mode != "" {
			s.name += " " + r.mode
			s.addText("gen_ai.agent.name", r.mode)
		}
		t.sendSpan(s)
	}
	if !r.started.IsZero() {
		put()
		return
	}
	t.lookups.Go(func() {
		if began, mode := t.runStart(log, thread, ev.Run); !began.IsZero() {
			r.started, r.mode = began, mode
		}
		put()
	})
}

// runStart reads the start and mode of a run from the log.
func (t *Traces) runStart(log ponder.Log, thread ponder.ThreadID, run ponder.RunID) (began time.Time, mode string) {
	ctx, cancel := context.WithTimeout(context.Background(), t.timeout)
	defer cancel()
	for ev, err := range log.Events(ctx, thread, 0) {
		if err != nil {
			break // removed
		}
		if b, ok := ev.Body.(ponder.RunStarted); ok && ev.Run == run {
			return ev.Time, b.Mode
		}
	}
	return time.Time{}, ""
}

func (s *span) add(one attribute.KeyValue) { s.attributes = append(s.attributes, one) }

func (s *span) addCount(name string, n int) {
	if n > 0 {
		s.add(attribute.Int(name, n))
	}
}

// addText adds a non-empty text.
func (s *span) addText(name, value string) {
	if value != "" {
		s.add(attribute.String(name, value))
	}
}

// providerOf splits a model name and returns the provider under its conventional name.
func providerOf(model string) (provider, name string) {
	provider, name, ok := strings.Cut(model, "/")
	if !ok {
		return "unknown", model
	}
	if provider == "gemini" {
		provider = "gcp.gemini"
	}
	return provider, name
}
