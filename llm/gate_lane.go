package llm

import (
	"container/heap"
	"context"
	"errors"
	"iter"
	"time"
)

// A lane decides how many requests may be in flight and whose turn it is. It is
// a value: each decision returns the lane after it.
type lane struct {
	max      int       // the limit's limit
	limit    int       // requests that may be in flight now, 1 to max
	inFlight int       //
	good     int       // successes since the limit changed
	cut      time.Time // when the limit was halved last
	passed   int       // interactive requests let in since a background one had to wait
}

// backgroundShare is how many interactive requests may go before a background
// request that waits.
const backgroundShare = 4

// free reports whether a request may go.
func (l lane) free() bool { return l.inFlight < l.limit }

// next decides which class goes, of those with requests waiting.
func (l lane) next(interactive, background bool) (after lane, class int) {
	class, l.passed = turn(l.passed, interactive, background)
	l.inFlight++
	return l, class
}

// turn decides which class goes, of those with requests waiting: interactive (0)
// before background (1), but after backgroundShare of them a background one.
func turn(passed int, interactive, background bool) (class, after int) {
	switch {
	case background && (!interactive || passed >= backgroundShare):
		return 1, 0
	case !background:
		return 0, 0
	}
	return 0, passed + 1
}

// done notes the end of a request that was let in at the time started. A rate
// limit halves the lane, once for all requests that were in flight together; a
// full window of successes widens it by one.
func (l lane) done(o outcome, started, now time.Time) lane {
	l.inFlight--
	switch o {
	case outcomeGood:
		if l.good++; l.good >= l.limit && l.limit < l.max {
			l.limit, l.good = l.limit+1, 0
		}
	case outcomeLimited:
		if started.After(l.cut) {
			l.limit, l.good, l.cut = max(1, l.limit/2), 0, now
		}
	}
	return l
}

// A waiter is a request that waits for its turn.
type waiter struct {
	ticket uint64 // its place in the order
	model  string
	class  int           // 0: interactive, 1: background
	due    time.Time     // when it goes whatever the provider said is left
	woken  chan struct{} // closed when it was let in or has to ask again
	in     bool          // let in; valid once woken is closed
	queue  *queue        // in which it waits
	index  int           // in the queue, -1 when it is out
}

// A queue holds waiters by ticket, the oldest first.
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

// add puts a waiter in its place.
func (q *queue) add(w *waiter) {
	w.queue = q
	heap.Push(q, w)
}

// wakeAll takes the waiters for a model out and has them ask again.
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
	in, err := p.gate.enter(ctx, p.Provider.Model(id).Name(), false)
	if err != nil {
		return nil, Usage{}, err
	}
	o := outcomeUnknown
	defer func() { p.gate.leave(in, o, err) }()
	vectors, usage, err := p.Provider.Embed(p.gate.hearing(ctx, in), id, texts)
	o = outcomeOf(err)
	return vectors, usage, err
}

type gatedModel struct {
	Model
	gate *Gate
}

// Generate implements [Model]. The place is given back before the last delta or
// the error is handed on, so that whoever gets it may ask again from there.
func (m *gatedModel) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return m.pass(ctx, nil, req)
}

// Admits implements [Admitter].
func (m *gatedModel) Admits() (time.Duration, bool) { return m.gate.admits(m.Name()) }

// Hold implements [Holder]. The place is taken while the request is held back.
func (m *gatedModel) Hold(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return m.pass(ctx, released, req)
}

// pass makes a request once it has a place; it is held back until released is closed,
// unless that is nil.
func (m *gatedModel) pass(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		p, err := m.gate.enter(ctx, m.Name(), req.Background)
		switch {
		case err != nil:
			yield(Delta{}, err)
		case req.Hedge:
			m.hedged(ctx, p, released, req)(yield)
		default:
			m.through(ctx, p, released, req)(yield)
		}
	}
}

// through makes a request that has its place.
func (m *gatedModel) through(ctx context.Context, p *pass, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		defer m.gate.leave(p, outcomeUnknown, nil) // whoever looked on left, or panicked
		heard := m.gate.hearing(ctx, p)
		deltas := m.Model.Generate(heard, req)
		if released != nil {
			deltas = Hold(heard, m.Model, released, req)
		}
		for d, err := range deltas {
			switch {
			case err != nil || d.Done != nil:
				m.gate.leave(p, outcomeOf(why(ctx, err)), err)
				err = m.gate.told(m.Name(), err)
			case p.probe:
				m.gate.alive(p)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// why returns why a call was ended: for a failure of the model that whoever asked has
// noticed, if that is the cause of its context.
func why(ctx context.Context, err error) error {
	var cause *Error
	if ClassOf(err) == Cancelled && errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return err
}
