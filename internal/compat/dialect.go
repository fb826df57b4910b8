// Package compat has the shared parts of the protocols of other clients. A protocol (internal/compat/NAME)
// parses a request into an [Ask], the [Desk] starts it through package app, and the protocol encodes the
// resulting [Part]s.
//
// The parts are a fold over the log of the thread. So all readers receive the same parts, live or from the
// log. Only text of a failed model call that is retried reaches live readers alone.
//
// The files: model.go and part.go define requests and parts. desk.go starts requests, find.go finds their
// conversation, recent.go caches it. once.go and lost.go recognize repeated requests. feed.go streams the
// parts, with the folds of projector.go, think.go and rounds.go. http.go has helpers for handlers.
package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/stream"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/passthrough"
)

// A Desk starts and finds work for clients. Only Logger is optional. It is safe for concurrent use.
type Desk struct {
	Store   ponder.Store
	Hub     *stream.Hub
	Service app.Dialects
	Aliases map[string]string // a key may end in *
	Gone    context.Context   //nolint:containedctx // done when streams must end
	Since   time.Time         // start of the server; zero disables the search for earlier requests
	Logger  *slog.Logger

	retries retries
	recent  recent
}

// An Ask is a parsed request.
type Ask struct {
	Owner       string
	Model       Model
	System      string
	Messages    []llm.Message // the last one is answered; user messages hold tool results
	Tools       []llm.Tool    // run by the client
	ToolChoice  string
	Schema      *llm.Schema
	MaxTokens   int
	Temperature *float64
	Effort      string // see [IsEffort]
	Budget      ponder.Budget
	NoWeb       bool
	NoMemory    bool
	Persona     string
	Chat        string          // the client's name of the conversation; empty: find it by messages
	Key         string          // idempotency key
	After       Work            // work to continue; zero: see Chat
	Apart       bool            // neither continue a conversation nor keep one
	Keep        bool            // keep an exchange
	Stay        bool            // continue an exchange after a disconnect
	Thread      ponder.ThreadID // conversation to continue; empty: see After
	At          ponder.ThreadID // thread to use or create; empty: see Thread
	Cause       string          // of the appended event; empty: derived from Key or the words
	Known       []llm.Message   // messages from outside the conversation

	Note *ponder.Observation // of Chat: see [app.Message]
}

type Work struct {
	Thread  ponder.ThreadID
	Way     Way
	After   ponder.Seq // precedes its events; of Chat, the message is next
	Message string     // of Chat: its event id
	Model   string     // provider/model; may be empty
	Begun   time.Time
	Fresh   bool // it began the conversation; not set by [Desk.Work]
	Noted   bool // the note was stored

	ear   *ear            // subscribed before the start; may be nil
	noted <-chan struct{} // closed when the conversation can be found by its messages; may be nil
	told  string          // of [Desk.Last]: the newest external input

	info ponder.Info    // if loaded
	log  []ponder.Event // of Chat: the events after After; nil if too many
}

// An ear is a subscription to a work.
type ear struct {
	*stream.Watcher
	once  sync.Once
	taken atomic.Bool // a Feed owns it
}

func (d *Desk) listen(id ponder.ThreadID, after ponder.Seq) *ear {
	return &ear{Watcher: d.Hub.Watch(id, after)}
}

func (e *ear) Close() { e.once.Do(e.Watcher.Close) }

// Forget ends the subscription of a work without a Feed; callers that open no Feed must call it. [Desk.Once]
// calls it at the end of its request.
func (w Work) Forget() {
	if w.ear != nil && !w.ear.taken.Swap(true) {
		w.ear.Close()
	}
}

// ID returns the thread id without prefix and, of Chat, a dash and the Seq of the message.
func (w Work) ID() string {
	id := strings.TrimPrefix(string(w.Thread), "thr_")
	if w.Way == Chat {
		id += "-" + strconv.FormatInt(int64(w.After+1), 10)
	}
	return id
}

func notThere(what string) error {
	return app.NotFoundf("", "there is no %s", what)
}

const maxLog = 128

// Work returns the work of an ID, or a NotFound error.
func (d *Desk) Work(ctx context.Context, owner, id string) (Work, error) {
	thread, place, placed := strings.Cut(id, "-")
	info, known := d.recent.of(owner, ponder.ThreadID("thr_"+thread))
	if !known {
		var err error
		if info, err = d.thread(ctx, owner, ponder.ThreadID("thr_"+thread)); err != nil {
			return Work{}, err
		}
	}
	w := Work{Thread: info.ID, Model: info.Model, Begun: info.Created, Way: wayOf(info.Kind), info: info}
	if w.Way != Chat {
		if placed || w.Way == "" {
			return Work{}, notThere(textkit.TruncateBytes(id, 60))
		}
		return w, nil
	}
	seq, err := strconv.ParseInt(place, 10, 64)
	if err != nil || seq < 1 {
		return Work{}, notThere(textkit.TruncateBytes(id, 60))
	}
	for ev, err := range d.Store.Events(ctx, info.ID, ponder.Seq(seq-1)) {
		if errors.Is(err, ponder.ErrNoThread) {
			return Work{}, notThere(textkit.TruncateBytes(id, 60))
		}
		if err != nil {
			return Work{}, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); !ok && w.Message == "" {
			return Work{}, notThere(textkit.TruncateBytes(id, 60))
		}
		if w.Message == "" {
			w.After, w.Message, w.Begun = ev.Seq-1, ev.ID, ev.Time
		}
		if w.log = append(w.log, ev); len(w.log) > maxLog {
			w.log = nil
			return w, nil
		}
	}
	if w.Message == "" {
		return Work{}, notThere(textkit.TruncateBytes(id, 60))
	}
	return w, nil
}

// Events iterates over the events of w, from the cache if [Desk.Work] filled it.
func (d *Desk) Events(ctx context.Context, w Work) iter.Seq2[ponder.Event, error] {
	if w.log == nil {
		return d.Store.Events(ctx, w.Thread, w.After)
	}
	return func(yield func(ponder.Event, error) bool) {
		for _, ev := range w.log {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// firstEvents bounds the Seq of the first message of a conversation.
const firstEvents = 60

func (d *Desk) isFirst(ctx context.Context, id ponder.ThreadID, seq ponder.Seq) (bool, error) {
	if seq > firstEvents {
		return false, nil
	}
	for ev, err := range d.Store.Events(ctx, id, 0) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", id, err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); ok {
			return ev.Seq == seq, nil
		}
	}
	return false, nil
}

// thread returns a thread of owner, or a NotFound error.
func (d *Desk) thread(ctx context.Context, owner string, id ponder.ThreadID) (ponder.Info, error) {
	info, err := d.Store.Thread(ctx, id)
	return owned(info, err, owner, id)
}

func owned(info ponder.Info, err error, owner string, id ponder.ThreadID) (ponder.Info, error) {
	switch {
	case errors.Is(err, ponder.ErrNoThread), err == nil && info.Owner != owner:
		return ponder.Info{}, notThere(textkit.TruncateBytes(string(id), 60))
	case err != nil:
		return ponder.Info{}, fmt.Errorf("look for %s: %w", id, err)
	}
	return info, nil
}

// Cancel cancels w, unless it has ended.
func (d *Desk) Cancel(ctx context.Context, w Work) error {
	run, err := d.run(ctx, w)
	if err != nil || run == "" {
		return err
	}
	if _, err := ponder.SendCommands(ctx, d.Store, w.Thread, ponder.Event{Run: run, Body: ponder.Steer{Do: ponder.Cancel}}); err != nil && !errors.Is(err, ponder.ErrEnded) {
		return fmt.Errorf("cancel %s: %w", w.Thread, err)
	}
	return d.Service.Go(ctx, w.Thread, "")
}

// run returns the open run of w, or "".
func (d *Desk) run(ctx context.Context, w Work) (run ponder.RunID, err error) {
	want := map[Way]string{Chat: "chat", Session: "session", Research: "research", Exchange: passthrough.Name}[w.Way]
	open, err := ponder.OpenRuns(ctx, d.Store, w.Thread)
	for id, mode := range open {
		if mode == want {
			run = max(run, id)
		}
	}
	return run, err
}

func (d *Desk) log() *slog.Logger { return cmp.Or(d.Logger, slog.Default()) }
