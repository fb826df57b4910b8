package ponder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ponder/llm"
)

// A Config says what a mind is made of. Store and Modes are required.
type Config struct {
	Store  Store
	Modes  []Mode           // of a name, the version that new runs get comes first
	Models map[Role][]Model // fallback chains, the preferred model first
	Tools  []Tool
	Logger *slog.Logger // slog.Default() if nil
	Node   Node         // who this process is; an ID is made up if it has none

	// Retry says what to do when a call fails. Its zero value is a sound one, which
	// for the fast role, that users wait for, is [llm.FastPolicy].
	Retry llm.Policy

	// OnDelta, if set, is told what models write while they write it. It is
	// called from many goroutines, must not block, and may miss nothing only by
	// luck: the log is the truth.
	OnDelta func(Delta)
}

// A Delta is a piece of what a model is writing.
type Delta struct {
	Thread ThreadID
	Run    RunID
	Key    string // of the action
	Cause  string // of the events of the attempt at it

	Began    Seq // the event that the attempt began with
	Attempt  int // at the action; each writes from the beginning
	Offset   int // bytes of text that the attempt wrote before
	Reasoned int // bytes of reasoning that it did
	llm.Delta
}

// A Mind runs modes on threads. Many minds, in many processes, may work over
// one store: a thread is held by one of them at a time. It is safe for
// concurrent use.
type Mind struct {
	Config
	modes  map[string][]*Mode
	models map[string]Model
	tools  map[string]Tool
	retry  *llm.RetryBudget
	*life
	shelf shelf
}

// New returns a mind. It holds nothing until [Mind.Open].
func New(c Config) (*Mind, error) {
	if c.Store == nil || len(c.Modes) == 0 {
		return nil, errors.New("ponder: config needs Store and Modes")
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return equip(c, &life{store: c.Store, config: c.Node, logger: c.Logger}, new(llm.RetryBudget))
}

// With returns a mind that is the same process as m, with modes, models and tools of
// its own: c.Store and c.Node are those of m. So one process may work on threads that
// want other models or may look elsewhere. Only m is opened and closed.
func (m *Mind) With(c Config) (*Mind, error) {
	if len(c.Modes) == 0 {
		return nil, errors.New("ponder: config needs Modes")
	}
	c.Store, c.Node, c.Logger = m.Store, m.Config.Node, cmp.Or(c.Logger, m.Logger)
	return equip(c, m.life, m.retry)
}

// equip returns a mind that lives as l says.
func equip(c Config, l *life, retry *llm.RetryBudget) (*Mind, error) {
	m := &Mind{Config: c, life: l, retry: retry, modes: make(map[string][]*Mode), models: make(map[string]Model), tools: make(map[string]Tool)}
	for _, mode := range c.Modes {
		if mode.Name == "" || mode.Start == nil {
			return nil, fmt.Errorf("ponder: mode %q needs a name and a Start", mode.Name)
		}
		for _, o := range m.modes[mode.Name] {
			if o.Version == mode.Version {
				return nil, fmt.Errorf("ponder: mode %q is there twice in version %d", mode.Name, mode.Version)
			}
		}
		mode.Wakes = m.guarded(mode)
		m.modes[mode.Name] = append(m.modes[mode.Name], &mode)
	}
	m.Models = make(map[Role][]Model)
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
func (m *Mind) guarded(mode Mode) func(Event) bool {
	if mode.Wakes == nil {
		return nil
	}
	return func(ev Event) (woken bool) {
		defer func() {
			if p := recover(); p != nil {
				m.Logger.Error("mode panicked when it was asked what wakes it", "mode", mode.Name, "event", ev.Body.Type(), "panic", p)
			}
		}()
		return mode.Wakes(ev)
	}
}

// Fold reads a thread and keeps what its events mean in a checkpoint, so that the
// next [Mind.Work] on it begins at once. It decides and appends nothing. It returns
// ErrHeld if another has the thread, who keeps checkpoints.
func (m *Mind) Fold(ctx context.Context, thread ThreadID) error {
	node, _ := m.self()
	lease, err := m.Store.Take(ctx, thread, node)
	if err != nil {
		return fmt.Errorf("take %s: %w", thread, err)
	}
	h := &holder{Mind: m, thread: thread, lease: lease, taken: true, committed: lease.Head, ctx: ctx, start: m.clock.total(time.Now())}
	err = h.open()
	for err == nil {
		if err = h.release(); err == nil || !errors.Is(err, ErrStale) {
			return err
		}
		err = h.read()
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), BeatEvery)
	defer cancel()
	return errors.Join(err, h.giveUp(rctx))
}

// Work takes the lease of a thread, does what its runs want until there is
// nothing left to do, and releases the lease. It returns nil then; [ErrHeld] if
// another has the thread; [ErrFenced] if the lease was lost, and nothing that
// was decided since is in the log; the error of ctx, with calls in flight left
// open for the next holder; or what made the store fail for longer than the
// lease can last.
func (m *Mind) Work(ctx context.Context, thread ThreadID) error {
	node, dead := m.self()
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(dead, func() { cancel(context.Cause(dead)) })()
	h := &holder{
		Mind: m, thread: thread, node: node, ctx: ctx, start: m.clock.total(time.Now()),
		flight: make(map[string]*flight), ring: make(chan struct{}, 1),
	}
	h.line, h.saved, h.lease = m.shelf.take(thread)
	h.committed = h.lease.Head
	if h.line == nil || !m.letters.waits(thread) { // else the lease is taken with what is decided on them
		if err := h.take(); err != nil {
			cancel(err)
			return err
		}
	}
	heads, stop := m.Store.Watch(thread)
	defer stop()
	defer h.letters.listen(thread, h.ring)()
	defer func() { h.answer(nil) }() // what is not in the log is not
	h.heads = heads
	err := h.loop()
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		err = context.Cause(ctx) // whatever it did at that moment
	}
	cancel(err)
	h.land()
	if errors.Is(err, errIdle) {
		m.shelf.put(thread, shelved{h.line, h.saved, h.lease})
		return nil
	}
	if !h.taken {
		return err
	}
	// What is left of the lease is given up, so that others need not wait for it.
	rctx, rcancel := context.WithTimeout(context.WithoutCancel(ctx), BeatEvery)
	defer rcancel()
	if !errors.Is(err, ErrFenced) {
		h.leave(rctx)
		if err := h.giveUp(rctx); err != nil {
			m.Logger.Info("lease not given up; it lasts as long as this process", "thread", thread, "error", err)
		}
	}
	return err
}
