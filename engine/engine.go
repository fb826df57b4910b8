package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ponder"
	"ponder/llm"
)

// A Config configures an [Engine]. Store and Modes are required.
type Config struct {
	Store  ponder.Store
	Modes  []ponder.Mode                  // new runs get the first version of a name
	Models map[ponder.Role][]ponder.Model // fallback chains, the preferred model first
	Tools  []ponder.Tool
	Logger *slog.Logger // slog.Default() if nil
	Node   ponder.Node  // identifies this process; New generates an ID if it has none

	// Now is the wall clock: time.Now if nil. Timers and thinking times do not depend on it,
	// because a wall clock may jump.
	Now func() time.Time

	// Retry decides about the attempt after a failed call. For the zero value, calls of the
	// fast role, for which users wait, use [llm.FastPolicy].
	Retry llm.Policy

	// OnDelta, if set, receives the text of models while they write. It is called from many
	// goroutines and must not block. Deltas may be lost: the log is the truth.
	OnDelta func(ponder.Delta)
}

// An Engine runs modes on threads. Many engines, in many processes, may share one store;
// one of them holds a thread at a time. An Engine is safe for concurrent use.
type Engine struct {
	Config
	modes  map[string][]*ponder.Mode
	models map[string]ponder.Model
	tools  map[string]ponder.Tool
	retry  *llm.RetryBudget
	*nodeRuntime
	states stateCache
}

// New returns an engine. It holds no thread before [Engine.Open].
func New(c Config) (*Engine, error) {
	if c.Store == nil || len(c.Modes) == 0 {
		return nil, errors.New("ponder: config needs Store and Modes")
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	return newEngine(c, &nodeRuntime{store: c.Store, identity: c.Node, logger: c.Logger}, new(llm.RetryBudget))
}

// Derive returns an engine with the modes, models and tools of c and the node of e. One
// process can thereby work on threads with different models and tools. It ignores c.Store,
// c.Node and c.Now. The caller opens and closes only e.
func (e *Engine) Derive(c Config) (*Engine, error) {
	if len(c.Modes) == 0 {
		return nil, errors.New("ponder: config needs Modes")
	}
	c.Store, c.Node, c.Now, c.Logger = e.Store, e.Config.Node, e.Now, cmp.Or(c.Logger, e.Logger)
	return newEngine(c, e.nodeRuntime, e.retry)
}

// newEngine returns an engine with the configuration c on the node n.
func newEngine(c Config, l *nodeRuntime, retry *llm.RetryBudget) (*Engine, error) {
	m := &Engine{Config: c, nodeRuntime: l, retry: retry, modes: make(map[string][]*ponder.Mode), models: make(map[string]ponder.Model), tools: make(map[string]ponder.Tool)}
	for _, mode := range c.Modes {
		if mode.Name == "" || mode.Start == nil {
			return nil, fmt.Errorf("ponder: mode %q needs a name and a Start function", mode.Name)
		}
		for _, o := range m.modes[mode.Name] {
			if o.Version == mode.Version {
				return nil, fmt.Errorf("ponder: mode %q is registered twice with version %d", mode.Name, mode.Version)
			}
		}
		mode.Wakes = m.guardWakes(mode)
		m.modes[mode.Name] = append(m.modes[mode.Name], &mode)
	}
	m.Models = make(map[ponder.Role][]ponder.Model)
	for role, chain := range c.Models {
		for _, model := range chain {
			m.models[model.Name()] = model
			m.Models[role] = append(m.Models[role], model)
		}
	}
	for _, t := range c.Tools {
		m.tools[t.Name] = t
	}
	return m, nil
}

// guardWakes returns the Wakes of a mode. A panic counts as false.
func (e *Engine) guardWakes(mode ponder.Mode) func(ponder.Event) bool {
	if mode.Wakes == nil {
		return nil
	}
	return func(ev ponder.Event) (woken bool) {
		defer func() {
			if p := recover(); p != nil {
				e.Logger.Error("Wakes of mode panicked", "mode", mode.Name, "event", ev.Body.Type(), "panic", p)
			}
		}()
		return mode.Wakes(ev)
	}
}

// Fold folds a thread and saves a checkpoint, so that the next [Engine.Work] starts at
// once. It decides and appends nothing. It returns [ponder.ErrHeld] if another process
// holds the thread, because that process saves checkpoints.
func (e *Engine) Fold(ctx context.Context, thread ponder.ThreadID) error {
	node, _ := e.currentNode()
	lease, err := e.Store.Take(ctx, thread, node)
	if err != nil {
		return fmt.Errorf("acquire %s: %w", thread, err)
	}
	h := &holder{Engine: e, thread: thread, lease: lease, hasLease: true, committed: lease.Head, ctx: ctx, clockAtStart: e.clock.total(time.Now())}
	err = h.openThread()
	for err == nil {
		if err = h.releaseLease(); err == nil || !errors.Is(err, ponder.ErrStale) {
			return err
		}
		err = h.readNew()
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ponder.HeartbeatInterval)
	defer cancel()
	return errors.Join(err, e.Store.Abandon(rctx, thread, lease.Fence, h.elapsed()))
}

// Work takes the lease of a thread, performs the actions of its runs until none is left,
// and releases the lease. It then returns nil. Otherwise it returns:
//
//   - [ponder.ErrHeld], if another process holds the thread;
//   - [ponder.ErrFenced], if this process lost the lease, and with it all decisions since;
//   - the error of ctx; calls in flight stay open for the next holder;
//   - the error of the store, if the store fails for longer than the lease can last.
func (e *Engine) Work(ctx context.Context, thread ponder.ThreadID) error {
	node, dead := e.currentNode()
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(dead, func() { cancel(context.Cause(dead)) })()
	h := &holder{
		Engine: e, thread: thread, node: node, ctx: ctx, clockAtStart: e.clock.total(time.Now()),
		attempts: make(map[string]*attempt), wakeup: make(chan struct{}, 1),
	}
	h.state, h.saved, h.lease = e.states.take(thread)
	h.committed = h.lease.Head
	if h.state == nil || !e.inbox.hasMessages(thread) { // else the first append takes the lease
		if err := h.acquireLease(); err != nil {
			cancel(err)
			return err
		}
	}
	heads, stop := e.Store.Watch(thread)
	defer stop()
	defer h.inbox.listen(thread, h.wakeup)()
	defer func() { h.replyPending(nil) }() // the log does not have their messages, so they are not stored
	h.heads = heads
	err := h.loop()
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		err = context.Cause(ctx) // errors after the end of ctx follow from its cause
	}
	cancel(err)
	h.waitActions()
	if errors.Is(err, errIdle) {
		e.states.put(thread, cachedState{h.state, h.saved, h.lease})
		return nil
	}
	if !h.hasLease {
		return err
	}
	// End the lease, so that other processes need not wait until it ends.
	rctx, rcancel := context.WithTimeout(context.WithoutCancel(ctx), ponder.HeartbeatInterval)
	defer rcancel()
	if !errors.Is(err, ponder.ErrFenced) {
		h.drain(rctx)
		if err := h.Store.Abandon(rctx, thread, h.lease.Fence, h.elapsed()); err != nil {
			e.Logger.Info("cannot abandon the lease; it lasts until this process ends", "thread", thread, "error", err)
		}
	}
	return err
}
