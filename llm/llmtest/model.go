// Package llmtest tests code that talks to models.
//
// A [Model] answers in-process by a function of the request, with virtual latency; a
// [Provider] makes such models. A [Sim] is a simulated server of all wire formats, with
// or without faults. [Serve] and [Pipe] connect tests to it; cmd/ponder-sim is a command.
// [Conform] checks an adapter against it; [Recordings] are exchanges with real providers.
//
// Generated answers are plausible text about the prompt, or JSON of a schema.
package llmtest

import (
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder/llm"
	"ponder/llm/llmtest/internal/mimic"
)

// An Answer returns a model's answer. It must depend only on the request, so that order
// does not matter.
type Answer func(*llm.Request) (llm.Message, error)

func Echo(r *llm.Request) (llm.Message, error) {
	return llm.Say(llm.Assistant, lastText(r)), nil
}

// Plausible returns the answers of a [Sim] with that seed, without tools.
func Plausible(seed uint64) Answer {
	return func(r *llm.Request) (llm.Message, error) {
		p := mimic.Prompt{System: r.System, Text: lastText(r)}
		if r.Schema != nil {
			p.Schema = r.Schema.JSON
		}
		return llm.Say(llm.Assistant, mimic.New(mixHash(seed, requestHash(r)), p).Answer()), nil
	}
}

// A Model is an in-process [llm.Model]. The zero value answers plausibly and at once. Set
// fields before the first Generate.
//
// Latency is virtual in a testing/synctest bubble.
type Model struct {
	ID     string // full name; "" is test/model
	Answer Answer // nil is Plausible(0)

	// Latency is the delay of the first delta, Between of each other. Both depend on
	// request and attempt.
	Latency, Between Delay

	// Deltas is the number of pieces; zero is 4.
	Deltas int

	// Failures is the number of times that each request fails with Failure first. A nil
	// Failure is Transient.
	Failures int
	Failure  error

	// Behaviours may be Hang, Stall, Cut (Truncated midway), Endless, Overlong, Empty,
	// Malformed, Reason and the false usages.
	Behaviours []Behaviour

	// Usage, if set, modifies the reported usage.
	Usage func(*llm.Request, *llm.Usage)

	// Asked, if set, is called with each request, from several goroutines.
	Asked func(*llm.Request)

	mu    sync.Mutex
	count Counts
	seen  keyCounter
}

type Counts struct {
	Calls     int // started
	Answers   int // succeeded
	Failures  int // except by ctx
	Cancelled int // ended by ctx or the reader
	Repeated  int
	Active    int
	Peak      int // of Active
}

// Counts returns the counters. It is safe for concurrent use.
func (m *Model) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

func (m *Model) Name() string {
	if m.ID == "" {
		return "test/model"
	}
	return m.ID
}

func (m *Model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.Asked != nil {
			m.Asked(req)
		}
		hash := requestHash(req)
		attempt := m.seen.add(hash)
		m.countStart(attempt)
		t := playback{model: m, ctx: ctx, yield: yield, rng: rand.New(rand.NewPCG(hash, uint64(attempt)))}
		ended := func(c *Counts) *int { return &c.Cancelled }
		defer func() { m.countEnd(ended) }()
		err := t.playAnswer(req, attempt)
		switch {
		case t.broken:
		case err == nil:
			ended = func(c *Counts) *int { return &c.Answers }
		case ctx.Err() != nil:
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.Name(), Message: "cancelled", Err: context.Cause(ctx)})
		default:
			ended = func(c *Counts) *int { return &c.Failures }
			yield(llm.Delta{}, m.wrapFailure(err))
		}
	}
}

func (m *Model) countStart(attempt int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count.Calls++
	m.count.Active++
	m.count.Peak = max(m.count.Peak, m.count.Active)
	if attempt > 1 {
		m.count.Repeated++
	}
}

func (m *Model) countEnd(how func(*Counts) *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count.Active--
	*how(&m.count)++
}

func (m *Model) wrapFailure(err error) error {
	e := llm.Error{Class: llm.ClassOf(err), Message: err.Error(), Err: err}
	if known := (*llm.Error)(nil); errors.As(err, &known) {
		e = *known
	}
	if e.Model == "" {
		e.Model = m.Name()
	}
	return &e
}

func (m *Model) hasBehaviour(b Behaviour) bool { return slices.Contains(m.Behaviours, b) }

func lastText(r *llm.Request) string {
	for _, msg := range slices.Backward(r.Messages) {
		if text := msg.Text(); text != "" && msg.Role == llm.User {
			return text
		}
	}
	return ""
}

// requestHash ignores the hints that should change no answer.
func requestHash(r *llm.Request) uint64 {
	plain := *r
	plain.Cache, plain.Penalty = false, 0
	plain.Messages = slices.Clone(r.Messages)
	for i, m := range plain.Messages {
		plain.Messages[i].Parts = slices.Clone(m.Parts)
		for j := range m.Parts {
			plain.Messages[i].Parts[j].Prefix = 0
		}
	}
	h := fnv.New64a()
	_, _ = h.Write(encodeJSON(&plain)) // never fails
	return h.Sum64()
}

// A Provider is an in-process [llm.Provider]. The zero value has every model. Set fields
// before use.
type Provider struct {
	Name   string            // "" is test
	Models map[string]*Model // by ID; nil: every model exists

	mu   sync.Mutex
	made map[string]*Model
}

func (p *Provider) Model(id string) llm.Model {
	if m := p.Models[id]; m != nil {
		return m
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = make(map[string]*Model)
	}
	m := p.made[id]
	if m == nil {
		m = &Model{ID: p.fullName(id)}
		if p.Models != nil {
			m.Answer = func(*llm.Request) (llm.Message, error) { return llm.Message{}, p.missingError(id) }
		}
		p.made[id] = m
	}
	return m
}

func (p *Provider) Check(_ context.Context, id string) error {
	if p.Models != nil && p.Models[id] == nil {
		return p.missingError(id)
	}
	return nil
}

// Embed implements [llm.Provider]. Texts with the same words are close.
func (p *Provider) Embed(ctx context.Context, _ string, texts []string) ([][]float32, llm.Usage, error) {
	if err := ctx.Err(); err != nil {
		return nil, llm.Usage{}, &llm.Error{Class: llm.Cancelled, Message: "cancelled", Err: err}
	}
	vectors, u := make([][]float32, len(texts)), llm.Usage{}
	for i, t := range texts {
		vectors[i] = hashEmbedding(t, dimensions)
		u.Input += (len(t) + 3) / 4
	}
	return vectors, u, nil
}

func (p *Provider) fullName(id string) string {
	if p.Name == "" {
		return "test/" + id
	}
	return p.Name + "/" + id
}

func (p *Provider) missingError(id string) error {
	return &llm.Error{Class: llm.NotFound, Model: p.fullName(id), Status: 404, Message: "no such model"}
}

type playback struct {
	model  *Model
	ctx    context.Context
	yield  func(llm.Delta, error) bool
	rng    *rand.Rand
	finish llm.Finish
	broken bool // reader stopped
}

func (t *playback) playAnswer(req *llm.Request, attempt int) error {
	m := t.model
	if err := t.waitDelay(m.Latency); err != nil {
		return err
	}
	if m.hasBehaviour(Hang) {
		return t.waitForever()
	}
	if attempt <= m.Failures {
		if m.Failure != nil {
			return m.Failure
		}
		return &llm.Error{Class: llm.Transient, Message: "overloaded", Status: 503}
	}
	answer := m.Answer
	if answer == nil {
		answer = Plausible(0)
	}
	msg, err := answer(req)
	if err != nil {
		return err
	}
	msg = t.applyBehaviours(req, msg)
	if err := t.streamMessage(msg); err != nil || t.broken {
		return err
	}
	t.yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: t.finish, Model: m.Name(), Usage: t.reportedUsage(req, msg)}}, nil)
	return nil
}

// applyBehaviours applies behaviours.
func (t *playback) applyBehaviours(req *llm.Request, msg llm.Message) llm.Message {
	m, text := t.model, msg.Text()
	if t.finish = llm.FinishStop; len(msg.Calls()) > 0 {
		t.finish = llm.FinishTools
	}
	switch {
	case m.hasBehaviour(Empty):
		msg = llm.Message{Role: llm.Assistant}
	case m.hasBehaviour(Overlong):
		msg = llm.Say(llm.Assistant, strings.Repeat(text+"\n\n", overlong))
	case m.hasBehaviour(Malformed):
		msg = llm.Say(llm.Assistant, mimic.Mangle(requestHash(req), text))
	case req.MaxTokens > 0 && countPieces(text) > req.MaxTokens:
		msg, t.finish = llm.Say(llm.Assistant, cutPieces(text, req.MaxTokens)), llm.FinishLength
	}
	if m.hasBehaviour(Reason) {
		thought := mimic.New(requestHash(req), mimic.Prompt{Text: lastText(req)}).Reasoning()
		msg.Parts = append([]llm.Part{{Reasoning: thought}}, msg.Parts...)
	}
	return msg
}

func (t *playback) streamMessage(msg llm.Message) error {
	for _, p := range msg.Parts {
		if p.Reasoning != "" && !t.yieldDelta(llm.Delta{Reasoning: p.Reasoning}) {
			return t.ctx.Err()
		}
	}
	n := t.model.Deltas
	if n <= 0 {
		n = 4
	}
	i := 0
	for piece := range splitPieces(msg.Text(), n, t.model.hasBehaviour(Endless)) {
		if i > 0 {
			if err := t.waitDelay(t.deltaDelay()); err != nil {
				return err
			}
		}
		if !t.yieldDelta(llm.Delta{Text: piece}) {
			return t.ctx.Err()
		}
		if i++; i < max(n/2, 1) {
			continue
		}
		if t.model.hasBehaviour(Stall) {
			return t.waitForever()
		}
		if t.model.hasBehaviour(Cut) {
			return &llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer did"}
		}
	}
	return nil
}

// deltaDelay returns the delay between deltas, never zero in an endless answer.
func (t *playback) deltaDelay() Delay {
	if d := t.model.Between; d.Mean > 0 || !t.model.hasBehaviour(Endless) {
		return d
	}
	return Delay{Mean: time.Millisecond}
}

// yieldDelta yields a delta and reports whether the reader continues.
func (t *playback) yieldDelta(d llm.Delta) bool {
	t.broken = !t.yield(d, nil)
	return !t.broken
}

func (t *playback) waitDelay(d Delay) error {
	if w := d.drawDelay(t.rng); w > 0 {
		sleepContext(t.ctx, w)
	}
	return t.ctx.Err()
}

func (t *playback) waitForever() error {
	<-t.ctx.Done()
	return t.ctx.Err()
}

func (t *playback) reportedUsage(req *llm.Request, msg llm.Message) llm.Usage {
	u := llm.Usage{Input: (req.Size() + 3) / 4, Output: (msg.Size() + 3) / 4}
	for _, p := range msg.Parts {
		u.Reasoning += (len(p.Reasoning) + 3) / 4
	}
	switch m := t.model; {
	case m.hasBehaviour(UsageZero):
		u = llm.Usage{}
	case m.hasBehaviour(UsageNegative):
		u = llm.Usage{Input: -u.Input, Output: -u.Output}
	case m.hasBehaviour(UsageHuge):
		u = llm.Usage{Input: 4e9, Output: 4e9}
	case m.hasBehaviour(UsageMissing):
		u.Estimated = true
	}
	if t.model.Usage != nil {
		t.model.Usage(req, &u)
	}
	return u
}
