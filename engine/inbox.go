package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"ponder"
)

// A letter is what somebody in this process tells a thread, before it is in the log.
type message struct {
	events []ponder.Event
	after  string // the newest event that the thread was told, or it is not taken; empty: whatever that is
	state  atomic.Int32
	done   chan []ponder.Event // gets the events as they are stored, or nil: not taken; has room for it
}

// The states of a letter.
const (
	posted    int32 = iota
	claimed         // its writer will be told what became of it
	withdrawn       // it is nobody's any more
)

func (l *message) claim() bool    { return l.state.CompareAndSwap(posted, claimed) }
func (l *message) withdraw() bool { return l.state.CompareAndSwap(posted, withdrawn) }

// An office has what the threads of a process are told. It is safe for concurrent use; its
// zero value is ready.
type inbox struct {
	mu       sync.Mutex
	messages map[ponder.ThreadID][]*message
	wakeups  map[ponder.ThreadID]chan struct{} // of those who work on a thread
}

func (o *inbox) put(thread ponder.ThreadID, l *message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.messages == nil {
		o.messages = make(map[ponder.ThreadID][]*message)
	}
	o.messages[thread] = append(o.messages[thread], l)
	if ring := o.wakeups[thread]; ring != nil {
		signal(ring)
	}
}

// take returns the letters to a thread, opened.
func (o *inbox) take(thread ponder.ThreadID) []*message {
	o.mu.Lock()
	list := o.messages[thread]
	delete(o.messages, thread)
	o.mu.Unlock()
	return slices.DeleteFunc(list, func(l *message) bool { return !l.claim() })
}

// waits reports whether there are letters to a thread.
func (o *inbox) waits(thread ponder.ThreadID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.messages[thread]) > 0
}

// listen has a ring rung when there is a letter to a thread, until the caller calls leave.
func (o *inbox) listen(thread ponder.ThreadID, ring chan struct{}) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wakeups == nil {
		o.wakeups = make(map[ponder.ThreadID]chan struct{})
	}
	o.wakeups[thread] = ring
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.wakeups[thread] == ring {
			delete(o.wakeups, thread)
		}
	}
}

func signal(ring chan struct{}) {
	select {
	case ring <- struct{}{}:
	default:
	}
}

// Post appends inputs to a thread and has it worked on: start does, such as
// [ponder.Placement.Start]. Whoever works on the thread in this process writes them in one
// transaction with what is decided on them, so that the call that answers a message waits
// for the disk once and not twice. Where nobody can, they are appended as
// [ponder.Log.Append] does, before start is called again. What Post returns is durable; after an
// error nothing was appended, unless the error is that of start. A crash leaves both
// the inputs and what was decided, or neither.
//
// Callers of [Engine.Work] must call [Engine.ReturnUnclaimed] when Work returns, or when
// they could not call it.
func (m *Engine) Post(ctx context.Context, thread ponder.ThreadID, start func(context.Context) error, events ...ponder.Event) ([]ponder.Event, error) {
	stored, err := m.deliver(ctx, thread, "", start, events)
	if stored != nil || err != nil {
		return stored, err
	}
	if stored, err = m.Store.Append(ctx, thread, 0, events...); err != nil {
		return nil, err
	}
	return stored, start(ctx)
}

// PostAfter is Post for who knows all that the thread was told up to an event of that id,
// which is [ponder.Event.IsExternalInput], and what came of that. It returns [ponder.ErrStale], and nothing was
// appended, if the thread was told something since, if what came of it was erased before work
// on the thread began, or if nobody works on it in this process who could say so: who wants
// to know reads the thread.
func (m *Engine) PostAfter(ctx context.Context, thread ponder.ThreadID, last string, start func(context.Context) error, events ...ponder.Event) ([]ponder.Event, error) {
	stored, err := m.deliver(ctx, thread, last, start, events)
	if stored == nil && err == nil {
		err = ponder.ErrStale
	}
	return stored, err
}

// tell has events written by who works on the thread. It returns none if nobody took them.
func (m *Engine) deliver(ctx context.Context, thread ponder.ThreadID, after string, start func(context.Context) error, events []ponder.Event) ([]ponder.Event, error) {
	for _, ev := range events {
		if !ev.IsInput() {
			return nil, ponder.ErrNotInput
		}
	}
	if len(events) == 0 {
		return []ponder.Event{}, start(ctx)
	}
	l := &message{events: events, after: after, done: make(chan []ponder.Event, 1)}
	m.inbox.put(thread, l)
	if err := start(ctx); err != nil && l.withdraw() {
		return nil, err
	}
	select {
	case stored := <-l.done:
		return stored, nil
	case <-ctx.Done():
		if l.withdraw() {
			return nil, ctx.Err()
		}
		return <-l.done, nil
	}
}

// ReturnUnclaimed gives back what a thread was told and nobody has taken: see [Engine.Post].
func (m *Engine) ReturnUnclaimed(thread ponder.ThreadID) {
	for _, l := range m.inbox.take(thread) {
		l.done <- nil
	}
}

// A heard letter stands in the batch at a place.
type batched struct {
	*message
	at int
}

// hear folds what the thread is told. On an empty thread nothing says that it was still
// empty when that is written: there it is not taken.
func (h *holder) drainInbox() error {
	if h.committed == 0 {
		h.ReturnUnclaimed(h.thread)
		return nil
	}
	for _, l := range h.inbox.take(h.thread) {
		if l.after != "" && l.after != h.state.lastInputID {
			l.done <- nil
			continue
		}
		h.pending = append(h.pending, batched{l, len(h.batch)})
		h.stamp(0, l.events...)
	}
	return h.showHistory()
}

// answer tells those who were heard what is in the log now: the batch, or nothing of it.
func (h *holder) replyPending(batch []ponder.Event) {
	for _, l := range h.pending {
		var own []ponder.Event
		if batch != nil {
			own = slices.Clone(batch[l.at : l.at+len(l.events)])
		}
		l.done <- own
	}
	h.pending = nil
}
