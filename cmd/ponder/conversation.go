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

// A conversation is a thread that a command talks on: it sends messages, has them
// answered here, unless another process holds the thread, and hears what comes of
// that. Its methods are called from one goroutine.
type conversation struct {
	*cli
	life    context.Context //nolint:containedctx // of the command
	store   *sqlite.Store
	talking app.ChatSetup
	id      ponder.ThreadID // empty: it is made with the first message
	fresh   bool            // it was made here
	nextID  ponder.ThreadID // that it is made with
	muses   app.ReflectionView
	mind    app.BackgroundFeed      // what is told of the subconscious
	told    []app.PendingEscalation // of that, what is to be noted as told

	thinker *app.Runner
	deltas  deltaBuffer
	live    *stream.Broadcasts // of what is written here
	unlive  func()             // ends that; nil: it is not begun
	hearing bool               // what another process writes
	worked  chan workDone      // of the work that goes on here
	started int                // how often it was begun
	working bool
	retry   <-chan time.Time // when to try to hold the thread again
}

// A workDone reports that the nth start of the work here returned, with its error.
type workDone struct {
	n   int
	err error
}

// converse returns a conversation, on a new thread if id is empty. The caller closes
// it, and the store after it.
func (a *cli) converse(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, t app.ChatSetup) (*conversation, error) {
	c := &conversation{cli: a, life: ctx, store: store, talking: t, id: id, worked: make(chan workDone, 1), live: a.Broadcasts()}
	c.deltas.bell, c.mind.Owner = make(chan struct{}, 1), a.Owner()
	return c, c.open(ctx)
}

// open makes the thinker.
func (c *conversation) open(ctx context.Context) (err error) {
	c.thinker, err = c.ChatRunner(ctx, c.store, c.talking, c.written)
	return err
}

// written takes what a model writes here.
func (c *conversation) written(d ponder.Delta) {
	if app.WritesReply(d.Key) {
		c.deltas.add(d)
		c.live.Add(d)
	}
}

// change goes on as t says: what is in flight is asked again, by the models of t.
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

// renew takes in that MCP servers have other tools than when the last turn began.
func (c *conversation) renew(ctx context.Context) error {
	if c.working || c.thinker.Outer == c.ToolsVersion() {
		return nil
	}
	if err := c.thinker.Close(ctx); err != nil {
		return err
	}
	return c.open(ctx)
}

// post appends inputs to the thread, in one transaction with the first decisions about
// them, and has the thread worked on. It makes the thread under a title if there is none. It
// returns the inputs as they are stored.
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

// thread returns the id of the thread, or what it will be.
func (c *conversation) thread() ponder.ThreadID {
	if c.id != "" {
		return c.id
	}
	if c.nextID == "" {
		c.nextID = ponder.ThreadID(ponder.NewID("thr"))
	}
	return c.nextID
}

// say sends a message, and has it answered. It returns the message.
func (c *conversation) say(ctx context.Context, m message) (ponder.Event, error) {
	for i, f := range m.files { // what they say is in the log; this is what they were
		if _, err := keepFile(ctx, c.store, c.thread(), f, m.raw[i]); err != nil {
			return ponder.Event{}, err
		}
	}
	if err := c.renew(ctx); err != nil {
		return ponder.Event{}, err
	}
	before, raised := c.inner(ctx, m.text)
	stored, err := c.post(ctx, m.name(), append(before, m.events()...)...)
	if errors.Is(err, ponder.ErrTaken) && len(raised) > 0 { // another process has told it here
		stored, err = c.post(ctx, m.name(), m.events()...)
	}
	if len(stored) == 0 {
		return ponder.Event{}, err
	}
	c.told = append(c.told, raised...)
	return stored[len(stored)-1], err
}

// reflect asks for a reflection, and returns the wish.
func (c *conversation) reflect(ctx context.Context, topic, name string) (ponder.Event, error) {
	stored, err := c.post(ctx, name, ponder.Event{Internal: true, Body: ponder.Observation{Content: topic, Sensor: app.DeepAsked}})
	if len(stored) == 0 {
		return ponder.Event{}, err
	}
	return stored[0], err
}

// work has the thread worked on here, if no other process does that.
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

// await waits for the work to come to rest.
func (c *conversation) await() {
	c.working = true
	p, id, n, worked := c.thinker.Place, c.id, c.started, c.worked
	go func() { worked <- workDone{n, p.Wait(context.Background(), id)} }()
}

// retryAfter is how long another process may hold the thread before it is tried to
// take it again, in case that process is gone.
const retryAfter = 500 * time.Millisecond

// onWorkDone takes that the work here returned. Another process may be at work.
func (c *conversation) onWorkDone(r workDone) error {
	if c.working = false; r.n < c.started { // it was started again meanwhile
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

// stop has the turn that goes on stopped: run is that of the turn, if it is known.
// Seen is what the user has seen of the text that is being written.
func (c *conversation) stop(ctx context.Context, run ponder.RunID, seen string) error {
	_, err := c.store.Append(ctx, c.id, 0, ponder.Event{Run: run, Body: ponder.Steer{Do: ponder.Cancel, Content: seen}})
	return err
}

// background reports whether something is left to do that no turn waits for, having
// given it a moment to come to its end.
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

// lastMoment is how long a run may take to write that it has ended.
const lastMoment = 50 * time.Millisecond

// leave ends the conversation here. What goes on in the background is left to a
// process of its own; if that cannot be, it goes on with the next message.
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
	if len(c.talking.Sources.Docs) == 0 { // which a server would not look into
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

// noteOpen says so if an earlier message is still to be answered, which comes first.
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

// reset leaves the conversation, and begins one that has no thread yet.
func (c *conversation) reset(ctx context.Context) error {
	c.leave(ctx)
	c.id, c.nextID, c.fresh = "", "", false
	c.working, c.hearing, c.retry, c.muses = false, false, nil, app.ReflectionView{}
	c.worked = make(chan workDone, 1) // what was cut off is not heard of any more
	return c.open(ctx)
}

// tidy erases thoughts that are not to be kept any longer: of the turn that a message
// began, and once the conversation is left, of all conversations.
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

// drop removes a conversation in which nothing was said.
func (c *conversation) drop(ctx context.Context) error {
	if !c.fresh {
		return nil
	}
	c.told = nil // it was not
	return c.store.Remove(context.WithoutCancel(ctx), c.id)
}
