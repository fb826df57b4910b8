package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/retention"
	"ponder/internal/stream"
	"ponder/store/sqlite"
)

// A conversation sends messages on a thread and has them answered in this process, unless
// another process holds the thread. One goroutine calls its methods.
type conversation struct {
	*cli
	life    context.Context //nolint:containedctx // of the command
	store   *sqlite.Store
	talking app.ChatSetup
	id      ponder.ThreadID // empty until the first message
	fresh   bool
	nextID  ponder.ThreadID
	muses   app.ReflectionView
	mind    app.BackgroundFeed      // escalations of the subconscious
	told    []app.PendingEscalation // escalations to record as delivered

	thinker *app.Runner
	deltas  deltaBuffer
	live    *stream.Broadcasts
	unlive  func() // stops them; nil if not started
	hearing bool
	worked  chan workDone
	started int
	working bool
	retry   <-chan time.Time // when to try to hold the thread again
}

// A workDone reports that start n of the work returned, with its error.
type workDone struct {
	n   int
	err error
}

// converse returns a conversation, on a new thread if id is empty. The caller closes it before
// the store.
func (a *cli) converse(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, t app.ChatSetup) (*conversation, error) {
	c := &conversation{cli: a, life: ctx, store: store, talking: t, id: id, worked: make(chan workDone, 1), live: a.Broadcasts()}
	c.deltas.bell, c.mind.Owner = make(chan struct{}, 1), a.Owner()
	return c, c.open(ctx)
}

func (c *conversation) open(ctx context.Context) (err error) {
	c.thinker, err = c.ChatRunner(ctx, c.store, c.talking, c.written)
	return err
}

func (c *conversation) written(d ponder.Delta) {
	if app.WritesReply(d.Key) {
		c.deltas.add(d)
		c.live.Add(d)
	}
}

// change applies t. Its models repeat calls in flight.
func (c *conversation) change(ctx context.Context, t app.ChatSetup) error {
	if err := c.thinker.Close(ctx); err != nil {
		return err
	}
	if c.working {
		<-c.worked
		c.working = false
	}
	c.talking = t
	if err := c.open(ctx); err != nil {
		return err
	}
	if c.id == "" {
		return nil
	}
	return c.work(ctx)
}

// renew reloads the runner if the tools of MCP servers changed since the last turn.
func (c *conversation) renew(ctx context.Context) error {
	if c.working || c.thinker.Outer == c.ToolsVersion() {
		return nil
	}
	if err := c.thinker.Close(ctx); err != nil {
		return err
	}
	return c.open(ctx)
}

// post appends inputs and the first decisions about them in one transaction, then starts work.
// It creates a missing thread under the title name. It returns the stored inputs.
func (c *conversation) post(ctx context.Context, name string, inputs ...ponder.Event) ([]ponder.Event, error) {
	for i := range inputs {
		inputs[i].ID = ponder.NewID("evt")
	}
	if c.id != "" {
		return c.thinker.Mind.Post(ctx, c.id, c.work, inputs...)
	}
	thread := ponder.Thread{
		ID: c.thread(), Kind: ponder.KindConversation, Title: clip(oneLine(name), app.MaxTitle), Owner: c.Owner(),
		Created: time.Now(), Model: c.talking.Name,
	}
	if err := c.store.Create(ctx, thread, inputs...); err != nil {
		return nil, fmt.Errorf("begin a conversation: %w", err)
	}
	c.id, c.fresh = thread.ID, true
	for i := range inputs {
		inputs[i].Thread, inputs[i].Seq = thread.ID, ponder.Seq(i+1)
	}
	return inputs, c.work(ctx)
}

func (c *conversation) thread() ponder.ThreadID {
	if c.id != "" {
		return c.id
	}
	if c.nextID == "" {
		c.nextID = ponder.ThreadID(ponder.NewID("thr"))
	}
	return c.nextID
}

func (c *conversation) say(ctx context.Context, m message) (ponder.Event, error) {
	for i, f := range m.files { // the log has their text; this notes the files
		if _, err := keepFile(ctx, c.store, c.thread(), f, m.raw[i]); err != nil {
			return ponder.Event{}, err
		}
	}
	if err := c.renew(ctx); err != nil {
		return ponder.Event{}, err
	}
	before, raised := c.inner(ctx, m.text)
	stored, err := c.post(ctx, m.name(), append(before, m.events()...)...)
	if errors.Is(err, ponder.ErrTaken) && len(raised) > 0 { // another process delivered the escalation
		stored, err = c.post(ctx, m.name(), m.events()...)
	}
	if len(stored) == 0 {
		return ponder.Event{}, err
	}
	c.told = append(c.told, raised...)
	return stored[len(stored)-1], err
}

func (c *conversation) reflect(ctx context.Context, topic, name string) (ponder.Event, error) {
	stored, err := c.post(ctx, name, ponder.Event{Internal: true, Body: ponder.Observation{Content: topic, Sensor: app.DeepAsked}})
	if len(stored) == 0 {
		return ponder.Event{}, err
	}
	return stored[0], err
}

func (c *conversation) work(ctx context.Context) error {
	c.retry = nil
	if c.unlive == nil {
		c.unlive = c.live.Open(c.id, 0)
	}
	if err := c.thinker.Place.Start(ctx, c.id); err != nil {
		return err
	}
	c.started++
	if !c.working {
		c.await()
	}
	return nil
}

func (c *conversation) await() {
	c.working = true
	p, id, n, worked := c.thinker.Place, c.id, c.started, c.worked
	go func() { worked <- workDone{n, p.Wait(context.Background(), id)} }()
}

// retryAfter is the interval of attempts to take the thread from another process, which may be
// dead.
const retryAfter = 500 * time.Millisecond

// onWorkDone handles the end of work here. Another process may hold the thread.
func (c *conversation) onWorkDone(r workDone) error {
	if c.working = false; r.n < c.started { // restarted meanwhile
		c.await()
		return nil
	}
	if errors.Is(r.err, ponder.ErrHeld) || errors.Is(r.err, ponder.ErrFenced) {
		if !c.hearing {
			c.hearing = true
			c.live.Receive(c.life, c.id, c.deltas.add)
		}
		c.retry = time.After(retryAfter)
		return nil
	}
	c.hearing = false
	return r.err
}

// stop cancels the active turn. run is empty if unknown; seen is the text that the user saw of
// the open round.
func (c *conversation) stop(ctx context.Context, run ponder.RunID, seen string) error {
	_, err := c.store.Append(ctx, c.id, 0, ponder.Event{Run: run, Body: ponder.Steer{Do: ponder.Cancel, Content: seen}})
	return err
}

// background waits briefly, then reports whether work remains that no turn waits for.
func (c *conversation) background() bool {
	t := time.NewTimer(lastMoment)
	defer t.Stop()
	for c.working {
		select {
		case r := <-c.worked:
			if err := c.onWorkDone(r); err != nil {
				return false
			}
		case <-t.C:
			return true
		}
	}
	return false
}

// lastMoment is the time that a run gets to write its end.
const lastMoment = 50 * time.Millisecond

// leave closes the conversation. A background process continues remaining work; if none starts,
// the next message does.
func (c *conversation) leave(ctx context.Context) {
	if c.unlive != nil {
		defer c.unlive()
		c.unlive = nil
	}
	c.noteTold(context.WithoutCancel(ctx))
	left := c.background()
	c.tidy(ctx, 0)
	if err := c.thinker.Close(ctx); err != nil {
		c.note("%v", err)
	}
	if !left {
		return
	}
	if len(c.talking.Sources.Docs) == 0 { // a server would not read them
		if c.handToServer(ctx, c.store, c.id, "") != nil {
			return
		}
	}
	_, worker, err := c.worker(ctx, c.id, workLine(c.talking, c.id)...)
	if err == nil {
		err = worker.Process.Release()
	}
	if err != nil {
		c.note("background thinking goes on with the next message: %v", err)
	}
}

func (c *conversation) noteOpen(ctx context.Context) error {
	if c.id == "" {
		return nil
	}
	info, err := c.store.Thread(ctx, c.id)
	if err != nil || info.Status.Ended() {
		return err
	}
	var left app.PendingMessages
	for ev, err := range c.store.Events(ctx, c.id, max(0, info.Head-readBefore)) {
		if err != nil {
			return err
		}
		left.Apply(ev)
	}
	if len(left.Open) > 0 {
		c.note("answering an earlier message first")
	}
	return nil
}

func (c *conversation) reset(ctx context.Context) error {
	c.leave(ctx)
	c.id, c.nextID, c.fresh = "", "", false
	c.working, c.hearing, c.retry, c.muses = false, false, nil, app.ReflectionView{}
	c.worked = make(chan workDone, 1) // ignore results of cancelled work
	return c.open(ctx)
}

// tidy erases expired thoughts: of the turn that message started, or of all conversations after
// the last turn.
func (c *conversation) tidy(ctx context.Context, message ponder.Seq) {
	rule, err := c.talking.Config.Thinking.Rule()
	if err != nil || rule.Keeps() || c.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.TidyTime)
	defer cancel()
	if message > 0 {
		_, err = retention.Apply(ctx, c.store, c.id, message-1, rule, time.Now())
	} else {
		_, err = retention.Sweep(ctx, c.store, rule, time.Now())
	}
	if err != nil {
		slog.Warn("thoughts that are not to be kept are still there", "error", err)
	}
}

func (c *conversation) drop(ctx context.Context) error {
	if !c.fresh {
		return nil
	}
	c.told = nil // not delivered
	return c.store.Remove(context.WithoutCancel(ctx), c.id)
}
