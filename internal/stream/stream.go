// Package stream lets many clients watch threads over unreliable connections.
//
// A [Hub] reads a thread once for all its watchers, and encodes each event once. A
// [Watcher] has its own cursor: it gets each event once, and a client that returns with its
// last seq continues after it. Pieces of the text that models write come between the
// events. They may be lost. sse.go writes the frames of a watcher as server-sent events.
//
// No watcher blocks the hub. A slow watcher reads from the store what the hub has dropped
// (page.go). Many watchers wake in groups, one after the other, so that the engine gets
// processor time between them (fanout.go). The writer ends the connection of a stalled
// reader (slowreader.go).
package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/internal/auth"
)

// Limits of the window that a hub keeps of a watched thread.
const (
	maxWindow = 1024    // events
	maxBytes  = 1 << 20 // of events
	maxDeltas = 256     // pieces
)

// A Frame is an encoded event, or a piece of a model's text. Its bytes are shared and must
// not be changed.
type Frame struct {
	Seq      ponder.Seq // zero for a piece
	JSON     []byte
	Internal bool
	End      bool          // a root run has finished
	Delta    *ponder.Delta // set for a piece; without Text it is reasoning, which some clients do not get

	after ponder.Seq // for a piece: the event that must precede it
}

// A Source is a log with the info of threads.
type Source interface {
	ponder.Log
	Thread(ctx context.Context, id ponder.ThreadID) (ponder.Info, error)
}

// A Hub holds the feeds of watched threads. It is safe for concurrent use.
type Hub struct {
	log   Source
	guard *LinkGuard
	whole *Hub // without the guard, see [Hub.Select]; nil: this one has none
	pages pages

	mu       sync.Mutex
	feeds    map[ponder.ThreadID]*feed
	watchers map[*Watcher]struct{}
}

// New returns a hub for a log. If it is a [PublicStore], its guard filters the pieces too.
func New(log Source) *Hub {
	public, ok := log.(publicStore)
	h := newHub(log, public.guard)
	if ok && h.guard != nil {
		h.whole = newHub(publicStore{public.Store, nil}, nil)
	}
	return h
}

// Select returns the hub for the caller in ctx: one without the guard if the token may get remote content.
func (h *Hub) Select(ctx context.Context) *Hub {
	if h.whole != nil && auth.CallerOf(ctx).RemoteContent {
		return h.whole
	}
	return h
}

func newHub(log Source, guard *LinkGuard) *Hub {
	return &Hub{log: log, guard: guard, feeds: make(map[ponder.ThreadID]*feed), watchers: make(map[*Watcher]struct{})}
}

// A feed is the window of a watched thread.
type feed struct {
	stop  context.CancelFunc
	users int // protected by Hub.mu

	mu           sync.RWMutex
	window       []Frame    // without a gap, oldest first
	size         int        // bytes of window
	from         ponder.Seq // window has all events after this one; very large before it is known
	head         ponder.Seq // the newest event; zero before it is known
	pieces       [maxDeltas]Frame
	piece        int // total number of pieces
	pieceReaders int // watchers that want pieces
	groups       []*group
	err          error // the reason why the feed ended

	writeErr  error // the last error of the work, if writes failed
	writeErrs int   // counts the values of trouble

	pending chan struct{} // holds a value when watchers must wake

	infoLock chan struct{} // a lock around info; holds a value while taken
	info     ponder.Info   // of the last query
}

// Watch returns a watcher of a thread after an event. Next returns [ponder.ErrNoThread] if
// there is no such thread. Callers must close the watcher.
func (h *Hub) Watch(thread ponder.ThreadID, after ponder.Seq) *Watcher {
	return h.addWatcher(thread, after, unknown, true)
}

// WatchHead is Watch after the newest event of info, for callers that have just read it.
func (h *Hub) WatchHead(info ponder.Info) *Watcher {
	return h.addWatcher(info.ID, info.Head, info.Head, true)
}

// WatchEvents is Watch without pieces, which do not wake the watcher.
func (h *Hub) WatchEvents(thread ponder.ThreadID, after ponder.Seq) *Watcher {
	return h.addWatcher(thread, after, unknown, false)
}

// unknown is the value of an unread head.
const unknown ponder.Seq = -1

func (h *Hub) addWatcher(thread ponder.ThreadID, after, head ponder.Seq, wantsPieces bool) *Watcher {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[thread]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &feed{stop: stop, from: math.MaxInt64, pending: make(chan struct{}, 1), infoLock: make(chan struct{}, 1)}
		h.feeds[thread] = f
		heads, unwatch := h.log.Watch(thread)
		go h.followThread(ctx, f, thread, head, heads, unwatch)
		go f.fanOut(ctx)
	}
	f.users++
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &Watcher{hub: h, feed: f, thread: thread, seen: after, piece: f.piece, wantsPieces: wantsPieces, group: f.joinGroup(), seenErrs: f.writeErrs}
	if wantsPieces {
		f.pieceReaders++
	}
	w.done.Store(int64(after))
	h.watchers[w] = struct{}{}
	return w
}

// removeWatcher removes a watcher, and ends a feed without watchers.
func (h *Hub) removeWatcher(w *Watcher) {
	thread, f := w.thread, w.feed
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
	f.mu.Lock()
	w.group.members--
	if w.wantsPieces {
		f.pieceReaders--
	}
	f.mu.Unlock()
	if f.users--; f.users > 0 {
		return
	}
	f.stop()
	if h.feeds[thread] == f {
		delete(h.feeds, thread)
	}
}

// Delta adds a piece. It waits for no watcher.
func (h *Hub) Delta(d ponder.Delta) {
	if h.whole != nil {
		h.whole.addDelta(d)
	}
	for _, d := range h.guard.guardDelta(d) {
		h.addDelta(d)
	}
}

func (h *Hub) addDelta(d ponder.Delta) {
	h.mu.Lock()
	f := h.feeds[d.Thread]
	h.mu.Unlock()
	if f == nil || d.Text == "" && d.Reasoning == "" || !f.wantsPieces() {
		return
	}
	js, err := json.Marshal(Piece{Run: d.Run, Key: d.Key, Text: d.Text, Reasoning: d.Reasoning})
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pieces[f.piece%maxDeltas] = Frame{JSON: js, Delta: &d, after: max(f.head, d.Began)}
	f.piece++
	f.wakeWatchers()
}

// A Piece is a part of a model's text.
type Piece struct {
	Run  ponder.RunID `json:"run_id"`
	Key  string       `json:"key"` // of the action
	Text string       `json:"text"`

	Reasoning string `json:"reasoning,omitempty"` // precedes the text
}

// pollInterval is the interval of checks that the thread exists, because another process may
// remove it without a hint.
const pollInterval = 15 * time.Second

// startDelay limits the wait for a hint of an imminent append, before follow queries the store.
const startDelay = 5 * time.Millisecond

// followThread reads a thread into a feed after head, until ctx is done or the thread is gone. It
// then gives the error to the watchers. Later watchers get a new feed.
func (h *Hub) followThread(ctx context.Context, f *feed, thread ponder.ThreadID, head ponder.Seq, heads <-chan ponder.Seq, unwatch func()) {
	defer unwatch()
	var err error
	known := head != unknown
	if head == unknown {
		var info ponder.Info
		info, err = h.log.Thread(ctx, thread)
		head = info.Head
	}
	f.mu.Lock()
	if f.from, f.head = head, head; err != nil {
		f.from, f.head = math.MaxInt64, 0
	}
	f.wakeWatchers()
	f.mu.Unlock()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	if known { // a caller that knows the head usually appends next
		select {
		case <-heads:
		case <-time.After(startDelay):
		case <-ctx.Done():
		}
	}
	for seen := head; err == nil; {
		if seen, err = f.readEvents(ctx, h.log, thread, seen); err == nil {
			err = h.awaitGrowth(ctx, heads, look.C, thread, seen)
		}
	}
	h.mu.Lock()
	if h.feeds[thread] == f {
		delete(h.feeds, thread)
	}
	h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.wakeWatchers()
}

// awaitGrowth blocks until the thread may have grown. It returns an error if the thread was
// removed or replaced.
func (h *Hub) awaitGrowth(ctx context.Context, heads <-chan ponder.Seq, look <-chan time.Time, thread ponder.ThreadID, seen ponder.Seq) error {
	for {
		select {
		case head := <-heads:
			if head > seen {
				return nil
			}
			if head > 0 {
				continue // already read
			}
		case <-look:
		case <-ctx.Done():
			return ctx.Err()
		}
		info, err := h.log.Thread(ctx, thread)
		switch {
		case err != nil:
			return fmt.Errorf("watch %s: %w", thread, err)
		case info.Head < seen:
			return fmt.Errorf("watch %s: the thread was replaced: %w", thread, ponder.ErrNoThread)
		case info.Head > seen:
			return nil
		}
	}
}

// readEvents adds the events of the thread after seen, and returns the newest.
func (f *feed) readEvents(ctx context.Context, log Source, thread ponder.ThreadID, seen ponder.Seq) (ponder.Seq, error) {
	defer func() { // once for all events
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wakeWatchers()
	}()
	for ev, err := range log.Events(ctx, thread, seen) {
		frame := Frame{}
		if err == nil {
			frame, err = FrameOf(ev)
		}
		if err != nil {
			return seen, fmt.Errorf("watch %s: %w", thread, err)
		}
		f.mu.Lock()
		f.appendFrame(frame)
		f.mu.Unlock()
		seen = ev.Seq
	}
	return seen, nil
}

// FrameOf returns the frame of an event.
func FrameOf(ev ponder.Event) (Frame, error) {
	js, err := VisibleEvent(ev).MarshalJSON()
	if err != nil {
		return Frame{}, fmt.Errorf("send event %d: %w", ev.Seq, err)
	}
	_, fin := ev.Body.(ponder.RunFinished)
	return Frame{Seq: ev.Seq, JSON: js, Internal: ev.Internal, End: fin && ev.Run.Parent() == ""}, nil
}

// appendFrame adds a frame, and drops the oldest ones beyond the limits. The caller holds f.mu.
func (f *feed) appendFrame(frame Frame) {
	f.window, f.size, f.head = append(f.window, frame), f.size+len(frame.JSON), frame.Seq
	if len(f.window) <= maxWindow && f.size <= maxBytes {
		return
	}
	drop := 0
	for len(f.window)-drop > 1 && (len(f.window)-drop > maxWindow*3/4 || f.size > maxBytes*3/4) {
		f.size -= len(f.window[drop].JSON)
		f.from = f.window[drop].Seq
		drop++
	}
	f.window = slices.Delete(f.window, 0, drop)
}
