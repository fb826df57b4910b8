package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"ponder"
)

// A message is a group of inputs from this process to a thread.
type message struct {
	events []ponder.Event
	after  string // must be the id of the newest external input of the thread; empty: no condition
	state  atomic.Int32
	done   chan []ponder.Event // receives the stored events, or nil if no holder appended them; buffered
}

// The states of a message.
const (
	posted    int32 = iota
	claimed         // the sender waits for the result
	withdrawn       // the sender gave up
)

func (m *message) claim() bool    { return m.state.CompareAndSwap(posted, claimed) }
func (m *message) withdraw() bool { return m.state.CompareAndSwap(posted, withdrawn) }

// An inbox holds the messages posted in this process, by thread. It is safe for concurrent
// use, and its zero value is ready.
type inbox struct {
	mu       sync.Mutex
	messages map[ponder.ThreadID][]*message
	wakeups  map[ponder.ThreadID]chan struct{} // of the holders, by thread
}

func (b *inbox) put(thread ponder.ThreadID, m *message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.messages == nil {
		b.messages = make(map[ponder.ThreadID][]*message)
	}
	b.messages[thread] = append(b.messages[thread], m)
	if wakeup := b.wakeups[thread]; wakeup != nil {
		signalWakeup(wakeup)
	}
}

// claimMessages removes the messages to a thread and returns those that it claimed.
func (b *inbox) claimMessages(thread ponder.ThreadID) []*message {
	b.mu.Lock()
	list := b.messages[thread]
	delete(b.messages, thread)
	b.mu.Unlock()
	return slices.DeleteFunc(list, func(m *message) bool { return !m.claim() })
}

func (b *inbox) hasMessages(thread ponder.ThreadID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.messages[thread]) > 0
}

// listen signals wakeup for each message to a thread until the caller calls leave.
func (b *inbox) listen(thread ponder.ThreadID, wakeup chan struct{}) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wakeups == nil {
		b.wakeups = make(map[ponder.ThreadID]chan struct{})
	}
	b.wakeups[thread] = wakeup
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.wakeups[thread] == wakeup {
			delete(b.wakeups, thread)
		}
	}
}

func signalWakeup(wakeup chan struct{}) {
	select {
	case wakeup <- struct{}{}:
	default:
	}
}

// Post appends inputs to a thread and calls start, such as [ponder.Placement.Start], so
// that a process works on the thread. The holder in this process appends the inputs and its
// decisions about them in one transaction, so that an answer waits for the disk once.
// Without such a holder, Post appends the inputs as [ponder.Log.Append] does and calls
// start again.
//
// The events that Post returns are durable. After an error Post has appended nothing,
// unless the error is the error of start. A crash leaves the inputs with the decisions, or
// neither.
//
// Callers of [Engine.Work] must call [Engine.ReturnUnclaimed] when Work returns, or when
// they could not call Work.
func (e *Engine) Post(ctx context.Context, thread ponder.ThreadID, start func(context.Context) error, events ...ponder.Event) ([]ponder.Event, error) {
	stored, err := e.deliverEvents(ctx, thread, "", start, events)
	if stored != nil || err != nil {
		return stored, err
	}
	if stored, err = e.Store.Append(ctx, thread, 0, events...); err != nil {
		return nil, err
	}
	return stored, start(ctx)
}

// PostAfter is Post on the condition that the external input with the id last is the newest
// of the thread: see [ponder.Event.IsExternalInput]. Otherwise it returns [ponder.ErrStale]
// and appends nothing. It does so too if a later event was erased before the holder
// started, or if no holder in this process can check the condition. The caller then reads
// the thread.
func (e *Engine) PostAfter(ctx context.Context, thread ponder.ThreadID, last string, start func(context.Context) error, events ...ponder.Event) ([]ponder.Event, error) {
	stored, err := e.deliverEvents(ctx, thread, last, start, events)
	if stored == nil && err == nil {
		err = ponder.ErrStale
	}
	return stored, err
}

// deliverEvents passes events to the holder of the thread. It returns no events if no holder
// appended them.
func (e *Engine) deliverEvents(ctx context.Context, thread ponder.ThreadID, after string, start func(context.Context) error, events []ponder.Event) ([]ponder.Event, error) {
	for _, ev := range events {
		if !ev.IsInput() {
			return nil, ponder.ErrNotInput
		}
	}
	if len(events) == 0 {
		return []ponder.Event{}, start(ctx)
	}
	m := &message{events: events, after: after, done: make(chan []ponder.Event, 1)}
	e.inbox.put(thread, m)
	if err := start(ctx); err != nil && m.withdraw() {
		return nil, err
	}
	select {
	case stored := <-m.done:
		return stored, nil
	case <-ctx.Done():
		if m.withdraw() {
			return nil, ctx.Err()
		}
		return <-m.done, nil
	}
}

// ReturnUnclaimed returns messages that no holder claimed to their senders: see
// [Engine.Post].
func (e *Engine) ReturnUnclaimed(thread ponder.ThreadID) {
	for _, m := range e.inbox.claimMessages(thread) {
		m.done <- nil
	}
}

// batchedMessage is a message and the index of its first event in the batch.
type batchedMessage struct {
	*message
	index int
}

// drainInbox folds the messages to the thread. It returns the messages to an empty thread,
// because After cannot express that the thread was empty.
func (h *holder) drainInbox() error {
	if h.committed == 0 {
		h.ReturnUnclaimed(h.thread)
		return nil
	}
	for _, m := range h.inbox.claimMessages(h.thread) {
		if m.after != "" && m.after != h.state.lastInputID {
			m.done <- nil
			continue
		}
		h.pending = append(h.pending, batchedMessage{m, len(h.batch)})
		h.stampEvents(0, m.events...)
	}
	return h.showHistory()
}

// replyPending sends the stored events to the senders of the batched messages, or nil if the
// batch was not appended.
func (h *holder) replyPending(batch []ponder.Event) {
	for _, m := range h.pending {
		var stored []ponder.Event
		if batch != nil {
			stored = slices.Clone(batch[m.index : m.index+len(m.events)])
		}
		m.done <- stored
	}
	h.pending = nil
}
