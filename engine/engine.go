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
	Modes  []ponder.Mode                  // of one name, new runs get the version that comes first
	Models map[ponder.Role][]ponder.Model // fallback chains, the preferred model first
	Tools  []ponder.Tool
	Logger *slog.Logger // slog.Default() if nil
	Node   ponder.Node  // who this process is; an ID is made up if it has none

	// Retry says what to do when a call fails. Its zero value is a sound one, which
	// for the fast role, that users wait for, is [llm.FastPolicy].
	Retry llm.Policy

	// OnDelta, if set, is told what models write while they write it. It is
	// called from many goroutines, must not block, and may miss nothing only by
	// luck: the log is the truth.
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
	return newEngine(c, &nodeRuntime{store: c.Store, identity: c.Node, logger: c.Logger}, new(llm.RetryBudget))
}

// Derive returns an engine with the modes, models and tools of c and the node of m, so
// that one process can work on threads with different models and tools. It ignores
// c.Store and c.Node. The caller opens and closes m alone.
func (m *Engine) Derive(c Config) (*Engine, error) {
	if len(c.Modes) == 0 {
		return nil, errors.New("ponder: config needs Modes")
	}
	c.Store, c.Node, c.Logger = m.Store, m.Config.Node, cmp.Or(c.Logger, m.Logger)
	return newEngine(c, m.nodeRuntime, m.retry)
}

// equip returns an engine with the configuration c on the node l.
func newEngine(c Config, l *nodeRuntime, retry *llm.RetryBudget) (*Engine, error) {
	m := &Engine{Config: c, nodeRuntime: l, retry: retry, modes: make(map[string][]*ponder.Mode), models: make(map[string]ponder.Model), tools: make(map[string]ponder.Tool)}
	for _, mode := range c.Modes {
		if mode.Name == "" || mode.Start == nil {
			return nil, fmt.Errorf("ponder: mode %q needs a name and a Start", mode.Name)
		}
		for _, o := range m.modes[mode.Name] {
			if o.Version == mode.Version {
				return nil, fmt.Errorf("ponder: mode %q is there twice in version %d", mode.Name, mode.Version)
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

// guarded returns the Wakes of a mode. An event that it panics on wakes no run of the mode.
func (m *Engine) guardWakes(mode ponder.Mode) func(ponder.Event) bool {
	if mode.Wakes == nil {
		return nil
	}
	return func(ev ponder.Event) (woken bool) {
		defer func() {
			if p := recover(); p != nil {
				m.Logger.Error("mode panicked when it was asked what wakes it", "mode", mode.Name, "event", ev.Body.Type(), "panic", p)
			}
		}()
		return mode.Wakes(ev)
	}
}

// Fold reads a thread and keeps what its events mean in a checkpoint, so that the
// next [Engine.Work] on it begins at once. It decides and appends nothing. It returns
// ErrHeld if another has the thread, who keeps checkpoints.
func (m *Engine) Fold(ctx context.Context, thread ponder.ThreadID) error {
	node, _ := m.current()
	lease, err := m.Store.Take(ctx, thread, node)
	if err != nil {
		return fmt.Errorf("take %s: %w", thread, err)
	}
	h := &holder{Engine: m, thread: thread, lease: lease, hasLease: true, committed: lease.Head, ctx: ctx, clockAtStart: m.clock.total(time.Now())}
	err = h.openThread()
	for err == nil {
		if err = h.releaseLease(); err == nil || !errors.Is(err, ponder.ErrStale) {
			return err
		}
		err = h.readNew()
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ponder.BeatEvery)
	defer cancel()
	return errors.Join(err, h.abandonLease(rctx))
}

// Work takes the lease of a thread, does what its runs want until there is
// nothing left to do, and releases the lease. It returns nil then; [ErrHeld] if
// another has the thread; [ErrFenced] if the lease was lost, and nothing that
// was decided since is in the log; the error of ctx, with calls in flight left
// open for the next holder; or what made the store fail for longer than the
// lease can last.
func (m *Engine) Work(ctx context.Context, thread ponder.ThreadID) error {
	node, dead := m.current()
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(dead, func() { cancel(context.Cause(dead)) })()
	h := &holder{
		Engine: m, thread: thread, node: node, ctx: ctx, clockAtStart: m.clock.total(time.Now()),
		attempts: make(map[string]*attempt), wakeup: make(chan struct{}, 1),
	}
	h.state, h.saved, h.lease = m.states.take(thread)
	h.committed = h.lease.Head
	if h.state == nil || !m.inbox.waits(thread) { // else the lease is taken with what is decided on them
		if err := h.acquireLease(); err != nil {
			cancel(err)
			return err
		}
	}
	heads, stop := m.Store.Watch(thread)
	defer stop()
	defer h.inbox.listen(thread, h.wakeup)()
	defer func() { h.replyPending(nil) }() // what is not in the log is not
	h.heads = heads
	err := h.loop()
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		err = context.Cause(ctx) // whatever it did at that moment
	}
	cancel(err)
	h.waitActions()
	if errors.Is(err, errIdle) {
		m.states.put(thread, cachedState{h.state, h.saved, h.lease})
		return nil
	}
	if !h.hasLease {
		return err
	}
	// What is left of the lease is given up, so that others need not wait for it.
	rctx, rcancel := context.WithTimeout(context.WithoutCancel(ctx), ponder.BeatEvery)
	defer rcancel()
	if !errors.Is(err, ponder.ErrFenced) {
		h.drain(rctx)
		if err := h.abandonLease(rctx); err != nil {
			m.Logger.Info("lease not given up; it lasts as long as this process", "thread", thread, "error", err)
		}
	}
	return err
}
