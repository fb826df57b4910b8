package llm

import (
	"container/heap"
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"
)

// A lane decides which request is next. It is a value: each decision returns the next lane.
type lane struct {
	inFlight int
	passed   int // interactive requests admitted before a waiting background one
}

const backgroundShare = 4

func (l lane) next(interactive, background bool) (after lane, class int) {
	class, l.passed = pickClass(l.passed, interactive, background)
	l.inFlight++
	return l, class
}

// pickClass picks interactive (0) before background (1), except after backgroundShare in a
// row.
func pickClass(passed int, interactive, background bool) (class, after int) {
	switch {
	case background && (!interactive || passed >= backgroundShare):
		return 1, 0
	case !background:
		return 0, 0
	}
	return 0, passed + 1
}

type waiter struct {
	ticket   uint64 // order
	model    string
	class    int           // 0: interactive, 1: background
	due      time.Time     // goes then regardless of quota
	woken    chan struct{} // closed when admitted, or to ask again
	admitted bool          // valid once woken is closed
	queue    *queue
	index    int // -1 outside
}

// A queue is a heap by ticket.
type queue []*waiter

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].ticket < q[j].ticket }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i]; q[i].index, q[j].index = i, j }

func (q *queue) Push(w any) {
	w.(*waiter).index = len(*q)
	*q = append(*q, w.(*waiter))
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q, w.index = (*q)[:last], -1
	return w
}

func (q *queue) addWaiter(w *waiter) {
	w.queue = q
	heap.Push(q, w)
}

// wakeAll makes the model's waiters ask again.
func (q *queue) wakeAll(model string) {
	kept := (*q)[:0]
	for _, w := range *q {
		if w.model != model {
			w.index = len(kept)
			kept = append(kept, w)
			continue
		}
		w.index = -1
		close(w.woken)
	}
	clear((*q)[len(kept):])
	*q = kept
	heap.Init(q)
}

type gatedProvider struct {
	Provider
	gate *Gate
}

func (p gatedProvider) Model(id string) Model { return p.gate.Model(p.Provider.Model(id)) }

func (p gatedProvider) Embed(ctx context.Context, id string, texts []string) ([][]float32, Usage, error) {
	in, err := p.gate.acquireSlot(ctx, p.Provider.Model(id).Name(), false)
	if err != nil {
		return nil, Usage{}, err
	}
	o := outcomeUnknown
	defer func() { p.gate.releaseSlot(in, o, err) }()
	vectors, usage, err := p.Provider.Embed(p.gate.quotaContext(ctx, in), id, texts)
	o = outcomeOf(err)
	return vectors, usage, err
}

type gatedModel struct {
	Model
	gate *Gate
}

// Generate implements [Model]. It frees the slot before the last yield, so that the
// caller may send the next request there.
func (m *gatedModel) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return m.sendGated(ctx, nil, req)
}

func (m *gatedModel) Available() (time.Duration, bool) { return m.gate.availability(m.Name()) }

// Prepare implements [Preparer]. A held request occupies a slot.
func (m *gatedModel) Prepare(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return m.sendGated(ctx, released, req)
}

// sendGated sends a request when it has a slot and released, if any, is closed.
func (m *gatedModel) sendGated(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		p, err := m.gate.acquireSlot(ctx, m.Name(), req.Background)
		switch {
		case err != nil:
			yield(Delta{}, err)
		case req.Hedge:
			m.sendHedged(ctx, p, released, req)(yield)
		default:
			m.sendInSlot(ctx, p, released, req)(yield)
		}
	}
}

func (m *gatedModel) sendInSlot(ctx context.Context, p *slot, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		defer m.gate.releaseSlot(p, outcomeUnknown, nil) // the reader left or panicked
		if released != nil {
			defer p.noteRelease(released)()
		}
		sendCtx := m.gate.quotaContext(ctx, p)
		deltas := m.Model.Generate(sendCtx, req)
		if released != nil {
			deltas = Prepare(sendCtx, m.Model, released, req)
		}
		for d, err := range deltas {
			if err == nil && p.first == 0 {
				m.gate.noteFirst(p)
			}
			switch {
			case err != nil || d.Done != nil:
				m.gate.releaseSlot(p, outcomeOf(cancelCause(ctx, err)), err)
				err = m.gate.addRetryAfter(m.Name(), err)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// noteRelease sets the time at which a held request is sent. The caller calls stop at its end.
func (p *slot) noteRelease(released <-chan struct{}) (stop func()) {
	p.heldUntil = new(atomic.Int64)
	ended := make(chan struct{})
	go func() {
		select {
		case <-released:
			p.heldUntil.Store(int64(time.Since(p.started)))
		case <-ended:
		}
	}()
	return func() { close(ended) }
}

// sentAt returns the time at which the request was sent.
func (p *slot) sentAt() time.Time {
	if p.heldUntil == nil {
		return p.started
	}
	return p.started.Add(time.Duration(p.heldUntil.Load()))
}

// cancelCause returns the caller's cause for cancelling, if it is a model failure.
func cancelCause(ctx context.Context, err error) error {
	var cause *Error
	if ClassOf(err) == Cancelled && errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return err
}
