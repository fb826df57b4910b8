// Package compat has the shared parts of the protocols of other clients. A protocol (internal/compat/NAME)
// parses a request into an [Request], the [Dispatcher] starts it through package app, and the protocol encodes the
// resulting [Part]s.
//
// The parts are a fold over the log of the thread. So all readers receive the same parts, live or from the
// log. Only text of a failed model call that is retried reaches live readers alone.
//
// The files: model.go and part.go define requests and parts. dispatcher.go starts requests, find.go finds their
// conversation, turncache.go caches it. once.go and recovery.go recognize repeated requests. feed.go streams the
// parts, with the folds of projector.go, think.go and rounds.go. http.go has helpers for handlers.
package compat

import (
	"cmp"
	"context"
	"encoding/json"
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

// A Dispatcher starts and finds work for clients. Only Logger is optional. It is safe for concurrent use.
type Dispatcher struct {
	Store   ponder.Store
	Hub     *stream.Hub
	Service app.ProtocolService
	Aliases map[string]string // a key may end in *
	Gone    context.Context   //nolint:containedctx // done when streams must end
	Since   time.Time         // start of the server; zero disables the search for earlier requests
	Logger  *slog.Logger

	deduper deduper
	turns   turnCache
}

// A Request is a parsed request.
type Request struct {
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
	WebSearch   bool // Ponder's web tools, beside those of the client
	Persona     string
	PlanFirst   bool            // of research: pause with a plan for approval
	Plan        *ponder.Plan    // of research: the approved plan; may be nil
	Since       ponder.ThreadID // of research: the research to update
	Chat        string          // the client's name of the conversation; empty: find it by messages
	Key         string          // idempotency key
	After       Job             // work to continue; zero: see Chat
	Standalone  bool            // neither continue a conversation nor keep one
	Keep        bool            // keep an exchange
	KeepRunning bool            // continue an exchange after a disconnect
	Thread      ponder.ThreadID // conversation to continue; empty: see After
	At          ponder.ThreadID // thread to use or create; empty: see Thread
	Cause       string          // of the appended event; empty: derived from Key or the words
	Known       []llm.Message   // messages from outside the conversation

	Note *ponder.Observation // of Chat: see [app.Message]

	Decisions []ponder.ApprovalDecision // of Chat: answers to questions of Ponder
	answers   ponder.ThreadID           // the conversation with the question that the last message answers
	Choice    int                       // distinguishes exchanges of one request
}

type Job struct {
	Thread  ponder.ThreadID
	Kind    JobKind
	After   ponder.Seq // precedes its events; of Chat, the message is next
	Message string     // of Chat: its event id
	Model   string     // provider/model; may be empty
	Started time.Time
	Fresh   bool // it began the conversation; not set by [Dispatcher.FindJob]
	Noted   bool // the note was stored

	NativeApprovals bool // the protocol itself asks the user; its text has no questions of Ponder

	listener  *listener       // subscribed before the start; may be nil
	noted     <-chan struct{} // closed when the conversation can be found by its messages; may be nil
	lastInput string          // of [Dispatcher.LastTurn]: the newest external input

	failed func()                  // reports a failure to [Dispatcher.BeginOnce]; may be nil
	peeked *atomic.Pointer[Stream] // of [Dispatcher.AwaitStart], for the next stream; may be nil

	info ponder.Info    // if loaded
	log  []ponder.Event // of Chat: the events after After; nil if too many
}

// A listener is a subscription to a work.
type listener struct {
	*stream.Watcher
	once      sync.Once
	hasStream atomic.Bool // a Feed owns it
}

func (d *Dispatcher) subscribe(ctx context.Context, id ponder.ThreadID, after ponder.Seq) *listener {
	return &listener{Watcher: d.Hub.Select(ctx).Watch(id, after)}
}

func (e *listener) Close() { e.once.Do(e.Watcher.Close) }

// Forget ends the subscription of a work without a Feed; callers that open no Feed must call it. [Dispatcher.BeginOnce]
// calls it at the end of its request.
func (w Job) Forget() {
	if f := w.takePeeked(); f != nil {
		f.Close()
	}
	if w.listener != nil && !w.listener.hasStream.Swap(true) {
		w.listener.Close()
	}
}

func (w Job) takePeeked() *Stream {
	if w.peeked == nil {
		return nil
	}
	return w.peeked.Swap(nil)
}

// ID returns the thread id without prefix and, of Chat, a dash and the Seq of the message.
func (w Job) ID() string {
	id := strings.TrimPrefix(string(w.Thread), "thr_")
	if w.Kind == Chat {
		id += "-" + strconv.FormatInt(int64(w.After+1), 10)
	}
	return id
}

func notThere(what string) error {
	return app.NotFoundf("", "there is no %s", what)
}

const maxLog = 128

// FindJob returns the work of an ID, or a NotFound error.
func (d *Dispatcher) FindJob(ctx context.Context, owner, id string) (Job, error) {
	thread, place, placed := strings.Cut(id, "-")
	info, known := d.turns.cachedInfo(owner, ponder.ThreadID("thr_"+thread))
	if !known {
		var err error
		if info, err = d.ownedThread(ctx, owner, ponder.ThreadID("thr_"+thread)); err != nil {
			return Job{}, err
		}
	}
	w := Job{Thread: info.ID, Model: info.Model, Started: info.Created, Kind: wayOf(info.Kind), info: info}
	if w.Kind != Chat {
		if placed || w.Kind == "" {
			return Job{}, notThere(textkit.TruncateBytes(id, 60))
		}
		return w, nil
	}
	seq, err := strconv.ParseInt(place, 10, 64)
	if err != nil || seq < 1 {
		return Job{}, notThere(textkit.TruncateBytes(id, 60))
	}
	for ev, err := range d.Store.Events(ctx, info.ID, ponder.Seq(seq-1)) {
		if errors.Is(err, ponder.ErrNoThread) {
			return Job{}, notThere(textkit.TruncateBytes(id, 60))
		}
		if err != nil {
			return Job{}, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); !ok && w.Message == "" {
			return Job{}, notThere(textkit.TruncateBytes(id, 60))
		}
		if w.Message == "" {
			w.After, w.Message, w.Started = ev.Seq-1, ev.ID, ev.Time
		}
		if w.log = append(w.log, ev); len(w.log) > maxLog {
			w.log = nil
			return w, nil
		}
	}
	if w.Message == "" {
		return Job{}, notThere(textkit.TruncateBytes(id, 60))
	}
	return w, nil
}

// Events iterates over the events of w, from the cache if [Dispatcher.FindJob] filled it.
func (d *Dispatcher) Events(ctx context.Context, w Job) iter.Seq2[ponder.Event, error] {
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

func (d *Dispatcher) isFirst(ctx context.Context, id ponder.ThreadID, seq ponder.Seq) (bool, error) {
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

// ownedThread returns a thread of owner, or a NotFound error.
func (d *Dispatcher) ownedThread(ctx context.Context, owner string, id ponder.ThreadID) (ponder.Info, error) {
	info, err := d.Store.Thread(ctx, id)
	return checkOwner(info, err, owner, id)
}

func checkOwner(info ponder.Info, err error, owner string, id ponder.ThreadID) (ponder.Info, error) {
	switch {
	case errors.Is(err, ponder.ErrNoThread), err == nil && info.Owner != owner:
		return ponder.Info{}, notThere(textkit.TruncateBytes(string(id), 60))
	case err != nil:
		return ponder.Info{}, fmt.Errorf("look for %s: %w", id, err)
	}
	return info, nil
}

// Cancel cancels w, unless it has ended.
func (d *Dispatcher) Cancel(ctx context.Context, w Job) error {
	run, err := d.openRun(ctx, w)
	if err != nil || run == "" {
		return err
	}
	if _, err := ponder.SendCommands(ctx, d.Store, w.Thread, ponder.Event{Run: run, Body: ponder.Steer{Do: ponder.Cancel}}); err != nil && !errors.Is(err, ponder.ErrEnded) {
		return fmt.Errorf("cancel %s: %w", w.Thread, err)
	}
	return d.Service.Go(ctx, w.Thread, "")
}

// openRun returns the open run of w, or "".
func (d *Dispatcher) openRun(ctx context.Context, w Job) (run ponder.RunID, err error) {
	want := map[JobKind]string{Chat: "chat", Session: "session", Research: "research", Exchange: passthrough.Name}[w.Kind]
	open, err := ponder.OpenRuns(ctx, d.Store, w.Thread)
	for id, mode := range open {
		if mode == want {
			run = max(run, id)
		}
	}
	return run, err
}

// StoreRecord stores a value of a protocol as an internal event, once for a cause.
func (d *Dispatcher) StoreRecord(ctx context.Context, id ponder.ThreadID, cause, sensor string, of any) error {
	js, err := json.Marshal(of)
	if err == nil {
		_, err = d.Store.Append(ctx, id, 0, ponder.Event{ID: ponder.NewID("evt"), Cause: cause, Internal: true, Body: ponder.Observation{Content: string(js), Sensor: sensor}})
	}
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("save a record: %w", err)
	}
	return nil
}

func (d *Dispatcher) logger() *slog.Logger { return cmp.Or(d.Logger, slog.Default()) }
