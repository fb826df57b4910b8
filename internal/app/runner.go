package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/mode/passthrough"
	"ponder/mode/research"
	"ponder/mode/session"
	"ponder/mode/title"
	"ponder/store/sqlite"
)

func Modes(t ChatSetup, tools []ponder.Tool) []ponder.Mode {
	if t.Relay {
		return []ponder.Mode{passthrough.New(passthrough.Config{Tools: ToolSpecs(tools), Gate: t.ExchangeGate, Described: t.Described})} // only: an exchange has no title
	}
	return []ponder.Mode{session.New(), research.New(), chat.New(t.ChatOptions(tools)), deep.New(t.DeepOptions(tools)), title.New()}
}

type Runner struct {
	Mind  *engine.Engine
	Place *placement.Placement
	tools func()
	Outer uint64
	ended bool
}

// Runner returns a runner with models that may read the sources what. The caller closes it.
func (a *App) Runner(ctx context.Context, store *sqlite.Store, models map[ponder.Role][]ponder.Model, what Sources,
	onDelta func(ponder.Delta)) (*Runner, error) {
	return a.ChatRunner(ctx, store, ChatSetup{Models: models, Sources: what}, onDelta)
}

// ChatRunner returns a runner of conversations with setup t.
func (a *App) ChatRunner(ctx context.Context, store *sqlite.Store, t ChatSetup, onDelta func(ponder.Delta)) (*Runner, error) {
	if t.Hold != nil {
		t.Models = t.Hold.wrap(t.Models)
	}
	equipped, end, err := a.engineConfig(ctx, store, &t)
	if err != nil {
		return nil, err
	}
	node := placement.CurrentNode()
	equipped.Store, equipped.OnDelta, equipped.Node = store, onDelta, node
	mind, err := engine.New(equipped)
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, fmt.Errorf("open the engine: %w", err)
	}
	p, err := placement.Open(ctx, placement.Config{Store: store, DB: store.DB(), Node: node, Work: a.guardWork(mind.Work), Ended: mind.ReturnUnclaimed})
	if err != nil {
		return nil, errors.Join(err, mind.Close(context.WithoutCancel(ctx)))
	}
	return &Runner{Mind: mind, Place: p, tools: end, Outer: t.ToolsVersion}, nil
}

// A BackgroundHold lets a process that ends soon leave its background calls to the next process on the
// thread. A held call is in the log but not sent, so that no call is made twice.
type BackgroundHold struct{ started atomic.Bool }

// Start holds the background calls that begin from now on. A nil hold does nothing.
func (h *BackgroundHold) Start() {
	if h != nil {
		h.started.Store(true)
	}
}

func (h *BackgroundHold) wrap(models map[ponder.Role][]ponder.Model) map[ponder.Role][]ponder.Model {
	wrapped := make(map[ponder.Role][]ponder.Model, len(models))
	for role, chain := range models {
		for _, m := range chain {
			m.Model = heldModel{m.Model, h}
			wrapped[role] = append(wrapped[role], m)
		}
	}
	return wrapped
}

type heldModel struct {
	llm.Model
	hold *BackgroundHold
}

func (m heldModel) Available() (time.Duration, bool) { return llm.Available(m.Model) }

func (m heldModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	if !req.Background || !m.hold.started.Load() {
		return m.Model.Generate(ctx, req)
	}
	return func(yield func(llm.Delta, error) bool) {
		<-ctx.Done()
		yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.Name(), Message: "left to another process", Unsent: true, Err: ctx.Err()})
	}
}

// engineConfig returns the engine configuration of conversations, and a function that releases the
// tools.
func (a *App) engineConfig(ctx context.Context, store *sqlite.Store, t *ChatSetup) (c engine.Config, end func(), err error) {
	tools, end, err := a.SourceTools(ctx, store, t.Sources)
	if err != nil {
		return c, nil, err
	}
	others, err := a.MCPToolsFor(ctx, t)
	if err != nil {
		end()
		return c, nil, err
	}
	tools = append(tools, others...)
	ended, err := store.List(ctx, ponder.Filter{Kind: ponder.KindSession, Status: ponder.Completed, Owner: a.Owner(), Limit: 1})
	if err != nil {
		end()
		return c, nil, err
	}
	t.FirstSession = len(ended) == 0
	if !t.Relay {
		tools = append(tools, t.OwnTools()...)
	}
	if t.CanRemember() {
		k := a.memoryWriter(store)
		tools = append(tools, k.Tools()...)
		look := end
		end = func() { look(); k.close() }
	}
	return engine.Config{Modes: Modes(*t, tools), Models: t.Models, Tools: tools}, end, nil
}

// Work runs a thread until nothing is left to do, or ctx is done.
func (t *Runner) Work(ctx context.Context, thread ponder.ThreadID) error {
	if err := t.Place.Start(ctx, thread); err != nil {
		return err
	}
	return t.Place.Wait(ctx, thread)
}

const CloseTime = 5 * time.Second

// Close stops all work. It is idempotent.
func (t *Runner) Close(ctx context.Context) error {
	if t.ended {
		return nil
	}
	t.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTime)
	defer cancel()
	err := errors.Join(t.Place.Close(ctx), t.Mind.Close(ctx))
	t.tools()
	return err
}
