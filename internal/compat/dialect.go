// Package compat is what the languages of other clients have in common. A language
// (internal/dialect/NAME) reads a request into an [Ask], has the [Desk] begin it in the
// words of package service, and dresses the [Part]s that come of it in frames of its own.
//
// What comes of a request is a fold over the log of its thread, so that whoever comes
// again is told the same: a text is cut at the same places, and stands at the same place
// among the other parts, whether it was heard while it was being written or is read from
// the log. Only where a model broke off and was asked again in the middle of a text has
// one who listened been told more than the log has.
//
// The files: model.go says what is asked, desk.go begins it, find.go finds the
// conversation that it goes on with, recent.go remembers it, once.go knows
// requests that are sent again; feed.go tells what comes of it, by the folds of projector.go and
// think.go (rounds.go and chunk.go are below them); http.go is what the handlers of
// all languages need, mould.go what their streams do.
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

// A Desk begins and finds what clients ask for. Its fields are required, save Logger. It
// is safe for concurrent use.
type Desk struct {
	Store   ponder.Store
	Hub     *stream.Hub
	Service app.Dialects
	Aliases map[string]string // names of models that stand for others
	Gone    context.Context   //nolint:containedctx // done when streams must end
	Since   time.Time         // when the server was begun, so that requests are known that were sent to it before; zero: they are not
	Logger  *slog.Logger

	retries retries
	recent  recent
}

// An Ask is what a client asks.
type Ask struct {
	Owner       string
	Model       Model
	System      string        // what the client says of how to answer
	Messages    []llm.Message // the oldest first; the last one is answered. Results of tools are parts of user messages.
	Tools       []llm.Tool    // of the client, which it uses itself
	ToolChoice  string        // as in [llm.Request]
	Schema      *llm.Schema   // of the answer
	MaxTokens   int
	Temperature *float64
	Effort      string // how hard to think: see [Effort]
	Budget      ponder.Budget
	NoWeb       bool
	NoMemory    bool
	Persona     string
	Chat        string          // what the client calls the conversation; empty: it is found by what was said
	Key         string          // of the request: the same one is done once
	After       Work            // what it goes on behind; zero: see Chat
	Apart       bool            // it stands alone: no conversation is gone on with, and none is kept for later
	Keep        bool            // an exchange is kept until it is removed
	Stay        bool            // an exchange goes on though its client goes away
	Thread      ponder.ThreadID // the conversation that it goes on with, which is there; empty: see After
	At          ponder.ThreadID // where it is thought or talked, which is made if it is not there; empty: see Thread
	Cause       string          // of what is begun, by which the same request is known; empty: of Key, or of the words
	Known       []llm.Message   // what is known to have been said beside the conversation

	Note *ponder.Observation // of Chat: kept with the message, if that is said now: see [app.Message]
}

// A Work is what was begun for an Ask. Its ID names it for good.
type Work struct {
	Thread  ponder.ThreadID
	Way     Way
	After   ponder.Seq // its events are behind this one; of Chat, the next one is the message
	Message string     // of Chat: the id of the event that is answered
	Model   string     // provider/model, as far as it is known
	Begun   time.Time
	Fresh   bool // a conversation begins with it; not said of one that is found by its ID
	Noted   bool // the note of the Ask is kept

	ear   *ear            // that has listened from before it was begun; nil: there is none
	noted <-chan struct{} // closed when the conversation is found by what was said; nil: it need not be
	told  string          // of [Desk.Last]: the newest event that the conversation was told

	info ponder.Info    // of the thread, if it was looked for; and then
	log  []ponder.Event // of Chat, all that is behind After; nil: it is too much
}

// An ear listens to a work, for whoever tells of it.
type ear struct {
	*stream.Watcher
	once  sync.Once
	taken atomic.Bool // by a Feed
}

func (d *Desk) listen(id ponder.ThreadID, after ponder.Seq) *ear {
	return &ear{Watcher: d.Hub.Watch(id, after)}
}

// Close ends the listening. Doing so twice does no harm.
func (e *ear) Close() { e.once.Do(e.Watcher.Close) }

// Forget says that nobody listens to a work from here on; what has no Feed needs it, and
// a Feed of it does not mind. A work of [Desk.Once] is forgotten with its request.
func (w Work) Forget() {
	if w.ear != nil && !w.ear.taken.Swap(true) {
		w.ear.Close()
	}
}

// ID returns the name of a work: that of its thread, and the place of the message. It has
// letters, digits and, of Chat, a dash.
func (w Work) ID() string {
	id := strings.TrimPrefix(string(w.Thread), "thr_")
	if w.Way == Chat {
		id += "-" + strconv.FormatInt(int64(w.After+1), 10)
	}
	return id
}

// notThere is the error of a work, a thread or a model that is not there.
func notThere(what string) error {
	return app.NotFoundf("", "there is no %s", what)
}

// maxLog is how many events of a conversation a Work has at most.
const maxLog = 128

// Work returns the work of an owner by its ID.
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

// Events iterates over what is behind the beginning of a work. What a conversation had when
// the work was looked for is not read again.
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

// firstEvents is before which event the first message of a conversation is.
const firstEvents = 60

// isFirst reports whether a message is the first of its conversation.
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

// thread returns a thread of an owner. That of another is not there.
func (d *Desk) thread(ctx context.Context, owner string, id ponder.ThreadID) (ponder.Info, error) {
	info, err := d.Store.Thread(ctx, id)
	return owned(info, err, owner, id)
}

// owned returns what was found of a thread, if that is of an owner.
func owned(info ponder.Info, err error, owner string, id ponder.ThreadID) (ponder.Info, error) {
	switch {
	case errors.Is(err, ponder.ErrNoThread), err == nil && info.Owner != owner:
		return ponder.Info{}, notThere(textkit.TruncateBytes(string(id), 60))
	case err != nil:
		return ponder.Info{}, fmt.Errorf("look for %s: %w", id, err)
	}
	return info, nil
}

// Cancel ends a work, as far as it has not ended.
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

// run returns the run that works, or "" if it has ended.
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
