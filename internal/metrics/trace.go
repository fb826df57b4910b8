package metrics

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ponder"
)

// Traces sends spans of calls, tools and runs to a collector, by OTLP over HTTP in JSON,
// under the names of OpenTelemetry's conventions for generative models. Whoever makes
// spans never waits: what does not fit in the queue is dropped, and counted.
//
// The ids of spans follow from the ids of runs and causes. So a run that one process
// began and another ended is one trace, in which every span is there once. Only runs that
// a request with a traceparent began are in the trace of that, as long as the process
// lasts: see trace_parent.go.
type Traces struct {
	cfg     TraceConfig
	queue   chan span
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
	sent    atomic.Int64
	dropped atomic.Int64
	failed  bool // the last batch; of the sender alone
	from    remotes
}

// Sizes of what is sent.
const (
	maxQueue = 2048 // spans that wait
	maxBatch = 512
)

// NewTraces returns traces that are sent as c says. Close them.
func NewTraces(c TraceConfig) *Traces {
	c.Logger, c.Service = cmp.Or(c.Logger, slog.Default()), cmp.Or(c.Service, defaultService)
	c.Timeout, c.Delay = cmp.Or(c.Timeout, defaultTimeout), cmp.Or(c.Delay, defaultDelay)
	t := &Traces{cfg: c, queue: make(chan span, maxQueue), closing: make(chan struct{}), done: make(chan struct{})}
	go t.work()
	return t
}

// Close sends what waits, as far as ctx allows. What comes later is dropped.
func (t *Traces) Close(ctx context.Context) error {
	t.once.Do(func() { close(t.closing) })
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put adds a span to those that wait.
func (t *Traces) put(s span) {
	select {
	case <-t.done:
		t.dropped.Add(1)
		return
	default:
	}
	select {
	case t.queue <- s:
	default:
		t.dropped.Add(1)
	}
}

// A span is something that took time.
type span struct {
	thread     ponder.ThreadID
	run        ponder.RunID // that it is of, or is
	trace      string
	id         string
	parent     string
	name       string
	kind       int // internal if zero
	failed     bool
	began, end time.Time // began may be zero: see log
	attributes []attribute
	log        ponder.Log // has when the run began
}

// An attribute is a name and a string, an int, a float64 or a []string.
type attribute struct {
	name  string
	value any
}

// idOf returns so many bytes that follow from parts, in hexadecimal digits.
func idOf(size int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:size])
}

// Sizes of ids in bytes.
const (
	traceSize = 16
	spanSize  = 8
)

// traceOf returns the trace of a root run and all below it.
func traceOf(thread ponder.ThreadID, run ponder.RunID) string {
	root, _, _ := strings.Cut(string(run), "/")
	return idOf(traceSize, "trace", string(thread), root)
}

func spanOfRun(thread ponder.ThreadID, run ponder.RunID) string {
	if run == "" {
		return ""
	}
	return idOf(spanSize, "run", string(thread), string(run))
}

// action returns the span of something that a run did.
func (t *Traces) action(thread ponder.ThreadID, ev ponder.Event, began time.Time) span {
	s := span{
		thread: thread, run: ev.Run, id: idOf(spanSize, "action", string(thread), string(ev.Run), ev.Cause), parent: spanOfRun(thread, ev.Run),
		began: began, end: ev.Time,
	}
	t.place(&s, false)
	return s
}

// call makes the span of an attempt at a call.
func (t *Traces) call(thread ponder.ThreadID, ev ponder.Event, in intent, b ponder.CallFinished) {
	if t == nil {
		return
	}
	s := t.action(thread, ev, ev.Time.Add(-time.Duration(b.Took)*time.Millisecond))
	provider, model := providerOf(b.Model)
	s.name, s.kind, s.failed = "chat "+model, kindClient, b.Error != ""
	s.add("gen_ai.operation.name", "chat")
	s.add("gen_ai.provider.name", provider)
	s.add("gen_ai.request.model", model)
	s.add("gen_ai.conversation.id", string(thread))
	if in.maxTokens > 0 {
		s.add("gen_ai.request.max_tokens", in.maxTokens)
	}
	if in.temperature != nil {
		s.add("gen_ai.request.temperature", *in.temperature)
	}
	u := b.Usage
	s.add("gen_ai.usage.input_tokens", u.Input+u.CacheRead+u.CacheWrite)
	s.add("gen_ai.usage.output_tokens", u.Output)
	s.count("gen_ai.usage.cache_read.input_tokens", u.CacheRead)
	s.count("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
	s.count("gen_ai.usage.reasoning.output_tokens", u.Reasoning)
	if b.Finish != "" {
		s.add("gen_ai.response.finish_reasons", []string{string(b.Finish)})
	}
	s.text("ponder.role", string(in.role))
	s.text("ponder.mode", in.mode)
	s.text("ponder.action", ev.Cause)
	s.add("ponder.cost_usd", b.Spent.Money.USD())
	if s.failed {
		s.add("error.type", outcome(b.Outcome))
	}
	t.put(s)
}

// tool makes the span of the use of a tool.
func (t *Traces) tool(thread ponder.ThreadID, ev ponder.Event, in intent, b ponder.ToolResult) {
	if t == nil {
		return
	}
	began := in.began
	if began.IsZero() || began.After(ev.Time) {
		began = ev.Time
	}
	s := t.action(thread, ev, began)
	name := cmp.Or(in.tool, b.Name)
	s.name, s.failed = "execute_tool "+name, b.Error != ""
	s.add("gen_ai.operation.name", "execute_tool")
	s.add("gen_ai.tool.name", name)
	s.add("gen_ai.conversation.id", string(thread))
	s.text("ponder.action", ev.Cause)
	if s.failed {
		s.add("error.type", outcome(b.Outcome))
	}
	t.put(s)
}

// run makes the span of a run.
func (t *Traces) run(log ponder.Log, thread ponder.ThreadID, ev ponder.Event, r run, b ponder.RunFinished) {
	if t == nil {
		return
	}
	s := span{
		thread: thread, run: ev.Run, id: spanOfRun(thread, ev.Run), parent: spanOfRun(thread, ev.Run.Parent()), name: "invoke_agent", failed: b.Status == ponder.Failed,
		began: r.began, end: ev.Time, log: log,
	}
	t.place(&s, true)
	s.add("gen_ai.operation.name", "invoke_agent")
	s.add("gen_ai.conversation.id", string(thread))
	s.add("ponder.run_id", string(ev.Run))
	s.mode(r.mode)
	s.add("ponder.status", string(b.Status))
	s.text("ponder.budget_spent", r.spent)
	s.add("ponder.calls", b.Spent.Calls)
	s.add("ponder.tokens", b.Spent.Tokens)
	s.add("ponder.cost_usd", b.Spent.Money.USD())
	if s.failed {
		s.add("error.type", "failed")
	}
	t.put(s)
}

// mode says which mode a run is of, if that is known.
func (s *span) mode(mode string) {
	if mode != "" && s.name == "invoke_agent" {
		s.name += " " + mode
		s.add("gen_ai.agent.name", mode)
	}
}

// begin finds out when a run began that was begun before this process had its thread.
func (s *span) begin(ctx context.Context) {
	if !s.began.IsZero() {
		return
	}
	s.began = s.end
	if s.log == nil {
		return
	}
	for ev, err := range s.log.Events(ctx, s.thread, 0) {
		if err != nil {
			return // it was removed
		}
		if b, ok := ev.Body.(ponder.RunStarted); ok && ev.Run == s.run {
			s.began = ev.Time
			s.mode(b.Mode)
			return
		}
	}
}

func (s *span) add(name string, value any) {
	s.attributes = append(s.attributes, attribute{name, value})
}

// count adds a number that there is not always.
func (s *span) count(name string, n int) {
	if n > 0 {
		s.add(name, n)
	}
}

// text adds a word that there is not always.
func (s *span) text(name, value string) {
	if value != "" {
		s.add(name, value)
	}
}

// providerOf takes a model apart, as conventions name providers.
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
