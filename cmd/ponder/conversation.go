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
	commandCtx           context.Context //nolint:containedctx // of the command
	store                *sqlite.Store
	setup                app.ChatSetup
	id                   ponder.ThreadID // empty until the first message
	isNew                bool
	nextID               ponder.ThreadID
	reflections          app.ReflectionView
	background           app.BackgroundFeed   // escalations of the subconscious
	deliveredEscalations []app.OpenEscalation // escalations to record as delivered

	runner         *app.Runner
	deltas         deltaBuffer
	broadcasts     *stream.Broadcasts
	stopBroadcast  func() // stops them; nil if not started
	receivesRemote bool
	workResults    chan workDone
	startCount     int
	working        bool
	retryTimer     <-chan time.Time // when to try to hold the thread again
}

// A workDone reports that start n of the work returned, with its error.
type workDone struct {
	n   int
	err error
}

// newConversation returns a conversation, on a new thread if id is empty. The caller closes it before
// the store.
func (a *cli) newConversation(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, t app.ChatSetup) (*conversation, error) {
	c := &conversation{cli: a, commandCtx: ctx, store: store, setup: t, id: id, workResults: make(chan workDone, 1), broadcasts: a.Broadcasts()}
	c.deltas.ready, c.background.Owner = make(chan struct{}, 1), a.Owner()
	return c, c.openRunner(ctx)
}

func (c *conversation) openRunner(ctx context.Context) (err error) {
	c.runner, err = c.ChatRunner(ctx, c.store, c.setup, c.onDelta)
	return err
}

func (c *conversation) onDelta(d ponder.Delta) {
	if app.WritesReply(d.Key) {
		c.deltas.appendDelta(d)
		c.broadcasts.Add(d)
	}
}

// applySetup applies t. Its models repeat calls in flight.
func (c *conversation) applySetup(ctx context.Context, t app.ChatSetup) error {
	if err := c.runner.Close(ctx); err != nil {
		return err
	}
	if c.working {
		<-c.workResults
		c.working = false
	}
	c.setup = t
	if err := c.openRunner(ctx); err != nil {
		return err
	}
	if c.id == "" {
		return nil
	}
	return c.startWork(ctx)
}

// refreshRunner reloads the runner if the tools of MCP servers changed since the last turn.
func (c *conversation) refreshRunner(ctx context.Context) error {
	if c.working || c.runner.Outer == c.ToolsVersion() {
		return nil
	}
	if err := c.runner.Close(ctx); err != nil {
		return err
	}
	return c.openRunner(ctx)
}

// appendInputs appends inputs and the first decisions about them in one transaction, then starts work.
// It creates a missing thread under the title name. It returns the stored inputs.
func (c *conversation) appendInputs(ctx context.Context, name string, inputs ...ponder.Event) ([]ponder.Event, error) {
	for i := range inputs {
		inputs[i].ID = ponder.NewID("evt")
	}
	if c.id != "" {
		return c.runner.Mind.Post(ctx, c.id, c.startWork, inputs...)
	}
	thread := ponder.Thread{
		ID: c.threadID(), Kind: ponder.KindConversation, Title: truncate(oneLine(name), app.MaxTitle), Owner: c.Owner(),
		Created: time.Now(), Model: c.setup.Name,
	}
	if err := c.store.Create(ctx, thread, inputs...); err != nil {
		return nil, fmt.Errorf("start a conversation: %w", err)
	}
	c.id, c.isNew = thread.ID, true
	for i := range inputs {
		inputs[i].Thread, inputs[i].Seq = thread.ID, ponder.Seq(i+1)
	}
	return inputs, c.startWork(ctx)
}

func (c *conversation) threadID() ponder.ThreadID {
	if c.id != "" {
		return c.id
	}
	if c.nextID == "" {
		c.nextID = ponder.ThreadID(ponder.NewID("thr"))
	}
	return c.nextID
}

func (c *conversation) sendMessage(ctx context.Context, m message) (ponder.Event, error) {
	for i, f := range m.files { // the log has their text; this notes the files
		if _, err := saveFile(ctx, c.store, c.threadID(), f, m.raw[i]); err != nil {
			return ponder.Event{}, err
		}
	}
	if err := c.refreshRunner(ctx); err != nil {
		return ponder.Event{}, err
	}
	if err := c.parseDecision(ctx, &m); err != nil {
		return ponder.Event{}, err
	}
	before, raised := c.backgroundEvents(ctx, m.text)
	stored, err := c.appendInputs(ctx, m.titleText(), append(before, m.inputEvents()...)...)
	if errors.Is(err, ponder.ErrTaken) && len(raised) > 0 { // another process delivered the escalation
		stored, err = c.appendInputs(ctx, m.titleText(), m.inputEvents()...)
	}
	if len(stored) == 0 {
		return ponder.Event{}, err
	}
	c.deliveredEscalations = append(c.deliveredEscalations, raised...)
	return stored[len(stored)-1], err
}

func (c *conversation) requestReflection(ctx context.Context, topic, name string) (ponder.Event, error) {
	stored, err := c.appendInputs(ctx, name, ponder.Event{Internal: true, Body: ponder.Observation{Content: topic, Sensor: app.DeepAsked}})
	if len(stored) == 0 {
		return ponder.Event{}, err
	}
	return stored[0], err
}

func (c *conversation) startWork(ctx context.Context) error {
	c.retryTimer = nil
	if c.stopBroadcast == nil {
		c.stopBroadcast = c.broadcasts.Open(c.id, 0)
	}
	if err := c.runner.Place.Start(ctx, c.id); err != nil {
		return err
	}
	c.startCount++
	if !c.working {
		c.awaitWork()
	}
	return nil
}

func (c *conversation) awaitWork() {
	c.working = true
	p, id, n, worked := c.runner.Place, c.id, c.startCount, c.workResults
	go func() { worked <- workDone{n, p.Wait(context.Background(), id)} }()
}

// retryInterval is the interval of attempts to take the thread from another process, which may be
// dead.
const retryInterval = 500 * time.Millisecond

// onWorkDone handles the end of work here. Another process may hold the thread.
func (c *conversation) onWorkDone(r workDone) error {
	if c.working = false; r.n < c.startCount { // restarted meanwhile
		c.awaitWork()
		return nil
	}
	if errors.Is(r.err, ponder.ErrHeld) || errors.Is(r.err, ponder.ErrFenced) {
		if !c.receivesRemote {
			c.receivesRemote = true
			c.broadcasts.Receive(c.commandCtx, c.id, c.deltas.appendDelta)
		}
		c.retryTimer = time.After(retryInterval)
		return nil
	}
	c.receivesRemote = false
	return r.err
}

// cancelTurn cancels the active turn. run is empty if unknown; seen is the text that the user saw of
// the open round.
func (c *conversation) cancelTurn(ctx context.Context, run ponder.RunID, seen string) error {
	_, err := c.store.Append(ctx, c.id, 0, ponder.Event{Run: run, Body: ponder.Steer{Do: ponder.Cancel, Content: seen}})
	return err
}

// hasRemainingWork waits briefly, then reports whether work remains that no turn waits for.
func (c *conversation) hasRemainingWork() bool {
	t := time.NewTimer(runEndTimeout)
	defer t.Stop()
	for c.working {
		select {
		case r := <-c.workResults:
			if err := c.onWorkDone(r); err != nil {
				return false
			}
		case <-t.C:
			return true
		}
	}
	return false
}

// runEndTimeout is the time that a run gets to write its end.
const runEndTimeout = 50 * time.Millisecond

// closeConversation closes the conversation. A background process continues remaining work; if none starts,
// the next message does.
func (c *conversation) closeConversation(ctx context.Context) {
	if c.stopBroadcast != nil {
		defer c.stopBroadcast()
		c.stopBroadcast = nil
	}
	c.recordDelivered(context.WithoutCancel(ctx))
	left := c.hasRemainingWork()
	c.cleanupThoughts(ctx, 0)
	if err := c.runner.Close(ctx); err != nil {
		c.printNote("%v", err)
	}
	if !left {
		return
	}
	if len(c.setup.Sources.Docs) == 0 { // a server would not read them
		if c.handOffToServer(ctx, c.store, c.id, "") != nil {
			return
		}
	}
	_, worker, err := c.spawnWorker(ctx, c.id, workerArgs(c.setup, c.id)...)
	if err == nil {
		err = worker.Process.Release()
	}
	if err != nil {
		c.printNote("background thinking continues with the next message: %v", err)
	}
}

func (c *conversation) noteUnanswered(ctx context.Context) error {
	if c.id == "" {
		return nil
	}
	info, err := c.store.Thread(ctx, c.id)
	if err != nil || info.Status.Ended() {
		return err
	}
	var left app.PendingMessages
	for ev, err := range c.store.Events(ctx, c.id, max(0, info.Head-maxHistoryEvents)) {
		if err != nil {
			return err
		}
		left.Apply(ev)
	}
	if len(left.Open) > 0 {
		c.printNote("answering an earlier message first")
	}
	return nil
}

func (c *conversation) resetThread(ctx context.Context) error {
	c.closeConversation(ctx)
	c.id, c.nextID, c.isNew = "", "", false
	c.working, c.receivesRemote, c.retryTimer, c.reflections = false, false, nil, app.ReflectionView{}
	c.workResults = make(chan workDone, 1) // ignore results of cancelled work
	return c.openRunner(ctx)
}

// cleanupThoughts erases expired thoughts: of the turn that message started, or of all conversations after
// the last turn.
func (c *conversation) cleanupThoughts(ctx context.Context, message ponder.Seq) {
	rule, err := c.setup.Config.Thinking.Rule()
	if err != nil || rule.KeepsAll() || c.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.CleanupTime)
	defer cancel()
	if message > 0 {
		_, err = retention.Apply(ctx, c.store, c.id, message-1, rule, time.Now())
	} else {
		_, err = retention.Sweep(ctx, c.store, rule, time.Now())
	}
	if err != nil {
		slog.Warn("cannot erase expired thoughts", "error", err)
	}
}

func (c *conversation) removeIfNew(ctx context.Context) error {
	if !c.isNew {
		return nil
	}
	c.deliveredEscalations = nil // not delivered
	return c.store.Remove(context.WithoutCancel(ctx), c.id)
}
