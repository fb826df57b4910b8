// Package llmtest is for testing what talks to models.
//
// A [Model] is a model in this process that answers by a function of the
// request, with virtual latency; a [Provider] makes such models. They are for
// tests of what asks models.
//
// A [Sim] is a simulated server that speaks the wire formats of all providers,
// well or badly; [Serve] and [Pipe] connect tests to one, and cmd/ponder-sim is
// one as a command. [Conform] checks an adapter against it, and [Recordings]
// are exchanges that were had with real providers.
//
// What is made up is plausible text about the words of the prompt, and valid
// JSON where a schema asks for it.
package llmtest

import (
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"

	"ponder/llm"
	"ponder/llm/llmtest/internal/mimic"
)

// An Answer says what a model answers. It depends on the request alone, so that
// the same request is answered the same in whatever order it comes.
type Answer func(*llm.Request) (llm.Message, error)

// Echo answers with the text of the last message.
func Echo(r *llm.Request) (llm.Message, error) {
	return llm.Say(llm.Assistant, lastText(r)), nil
}

// Plausible returns what a [Sim] with the seed would answer, tools aside.
func Plausible(seed uint64) Answer {
	return func(r *llm.Request) (llm.Message, error) {
		p := mimic.Prompt{System: r.System, Text: lastText(r)}
		if r.Schema != nil {
			p.Schema = r.Schema.JSON
		}
		return llm.Say(llm.Assistant, mimic.New(mix(seed, hashOf(r)), p).Answer()), nil
	}
}

// A Model is an [llm.Model] in this process. The zero value answers every
// request plausibly and at once. Set its fields before the first Generate.
//
// Latency is waited out with timers of package time, so that it is virtual in a
// testing/synctest bubble.
type Model struct {
	ID     string // full name; "" is test/model
	Answer Answer // nil is Plausible(0)

	// Latency is the time to the first delta, Between the time from one to the
	// next. Both are drawn by the request and how often it came.
	Latency, Between Delay

	// Deltas is how many pieces of text an answer comes in; zero is 4.
	Deltas int

	// Failures is how often each distinct request fails, with Failure, before it
	// is answered. A nil Failure is a Transient [llm.Error].
	Failures int
	Failure  error

	// Behaviours are what all answers have in common, of: Hang, Stall, Cut,
	// Endless, Overlong, Empty, Malformed, Reason and the false usages. Cut is
	// an error of class Truncated in the middle.
	Behaviours []Behaviour

	// Usage, if set, changes what the model says it used.
	Usage func(*llm.Request, *llm.Usage)

	// Asked, if set, is called with each request when it comes, from several
	// goroutines.
	Asked func(*llm.Request)

	mu    sync.Mutex
	count Counts
	seen  tally
}

// Counts says what a [Model] was asked.
type Counts struct {
	Calls     int // begun
	Answers   int // ended well
	Failures  int // ended with an error other than that ctx ended
	Cancelled int // ended by ctx or by whoever read the stream
	Repeated  int // asked what had been asked before
	Active    int // now
	Peak      int // most at a time
}

// Counts returns what was counted. It is safe to call at any time.
func (m *Model) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Name implements [llm.Model].
func (m *Model) Name() string {
	if m.ID == "" {
		return "test/model"
	}
	return m.ID
}

// Generate implements [llm.Model].
func (m *Model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.Asked != nil {
			m.Asked(req)
		}
		hash := hashOf(req)
		attempt := m.seen.add(hash)
		m.began(attempt)
		t := take{model: m, ctx: ctx, yield: yield, rng: rand.New(rand.NewPCG(hash, uint64(attempt)))}
		ended := func(c *Counts) *int { return &c.Cancelled }
		defer func() { m.ended(ended) }()
		err := t.play(req, attempt)
		switch {
		case t.broken:
		case err == nil:
			ended = func(c *Counts) *int { return &c.Answers }
		case ctx.Err() != nil:
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.Name(), Message: "cancelled", Err: context.Cause(ctx)})
		default:
			ended = func(c *Counts) *int { return &c.Failures }
			yield(llm.Delta{}, m.failure(err))
		}
	}
}

func (m *Model) began(attempt int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count.Calls++
	m.count.Active++
	m.count.Peak = max(m.count.Peak, m.count.Active)
	if attempt > 1 {
		m.count.Repeated++
	}
}

func (m *Model) ended(how func(*Counts) *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count.Active--
	*how(&m.count)++
}

// failure makes an error an [llm.Error] of this model.
func (m *Model) failure(err error) error {
	e := llm.Error{Class: llm.ClassOf(err), Message: err.Error(), Err: err}
	if known := (*llm.Error)(nil); errors.As(err, &known) {
		e = *known
	}
	if e.Model == "" {
		e.Model = m.Name()
	}
	return &e
}

func (m *Model) has(b Behaviour) bool { return slices.Contains(m.Behaviours, b) }

func lastText(r *llm.Request) string {
	for _, msg := range slices.Backward(r.Messages) {
		if text := msg.Text(); text != "" && msg.Role == llm.User {
			return text
		}
	}
	return ""
}

// hashOf tells requests apart.
func hashOf(r *llm.Request) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(encode(r)) // never fails
	return h.Sum64()
}
