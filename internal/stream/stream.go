// Package stream lets many look on at threads, over connections that break.
//
// A [Hub] reads a thread once for all who watch it, and makes the bytes of each event
// once. A [Watcher] has a cursor of its own: it misses nothing and sees nothing twice,
// and whoever comes back with the number of the last event he saw goes on behind it.
// What models write at the moment comes between the events, as far as there is room:
// that may be lost. sse.go writes what a watcher sees as server-sent events.
//
// Nobody waits for a watcher: one that is slow reads from the store what the hub does
// not keep any more (page.go). Many watchers are told of what is new in groups, one after
// the other, so that thinking gets its turn between them (rouse.go). A reader that takes
// nothing is given up (patience.go).
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
)

// Bounds of what a hub keeps of a thread while somebody watches it.
const (
	maxKept   = 1024    // events
	maxBytes  = 1 << 20 // of them
	maxDeltas = 256     // pieces of what models write
)

// A Frame is an event, or a piece of what a model writes, as it is sent. Its bytes are
// shared and must not be changed.
type Frame struct {
	Seq      ponder.Seq // zero for a piece
	JSON     []byte
	Internal bool
	End      bool          // the run that the thread is about has finished
	Delta    *ponder.Delta // of a piece; without Text, it is reasoning, which not all clients are shown

	after ponder.Seq // of a piece: the event that it comes behind, and all later ones come behind it
}

// A Source is where the threads are.
type Source interface {
	ponder.Log
	Thread(ctx context.Context, id ponder.ThreadID) (ponder.Info, error)
}

// A Hub knows the threads that are watched. It is safe for concurrent use.
type Hub struct {
	log   Source
	pages pages

	mu       sync.Mutex
	feeds    map[ponder.ThreadID]*feed
	watchers map[*Watcher]struct{}
}

// New returns a hub of what is in a log.
func New(log Source) *Hub {
	return &Hub{log: log, feeds: make(map[ponder.ThreadID]*feed), watchers: make(map[*Watcher]struct{})}
}

// A feed is a thread that is watched.
type feed struct {
	stop  context.CancelFunc
	users int // of Hub.mu

	mu     sync.RWMutex
	kept   []Frame    // without a gap, the oldest first
	size   int        // bytes of them
	from   ponder.Seq // all events after this one are kept; beyond all before it is known
	head   ponder.Seq // the newest event; zero before it is known
	pieces [maxDeltas]Frame
	piece  int // how many there ever were
	heard  int // how many watchers want pieces
	groups []*group
	err    error // why nothing comes any more

	trouble  error // why work has ended last, if nothing could be written
	troubles int   // how often it has

	news chan struct{} // holds something when watchers are to be told

	asking chan struct{} // holds something while the store is asked for what follows
	info   ponder.Info   // of the thread, as it was last asked for
}

// Watch returns a watcher of a thread from behind an event on. It returns
// [ponder.ErrNoThread] from Next if there is none. Close it.
func (h *Hub) Watch(thread ponder.ThreadID, after ponder.Seq) *Watcher {
	return h.watch(thread, after, unknown, true)
}

// WatchOn is Watch from behind the newest event on, for whoever has just looked up which
// that is.
func (h *Hub) WatchOn(info ponder.Info) *Watcher { return h.watch(info.ID, info.Head, info.Head, true) }

// WatchEvents is Watch for whoever wants no pieces, and is not woken by them.
func (h *Hub) WatchEvents(thread ponder.ThreadID, after ponder.Seq) *Watcher {
	return h.watch(thread, after, unknown, false)
}

// unknown is the newest event of a thread that was not looked at.
const unknown ponder.Seq = -1

func (h *Hub) watch(thread ponder.ThreadID, after, head ponder.Seq, hears bool) *Watcher {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[thread]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &feed{stop: stop, from: math.MaxInt64, news: make(chan struct{}, 1), asking: make(chan struct{}, 1)}
		h.feeds[thread] = f
		heads, unwatch := h.log.Watch(thread)
		go h.follow(ctx, f, thread, head, heads, unwatch)
		go f.rouse(ctx)
	}
	f.users++
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &Watcher{hub: h, feed: f, thread: thread, seen: after, piece: f.piece, hears: hears, group: f.join(), troubles: f.troubles}
	if hears {
		f.heard++
	}
	w.done.Store(int64(after))
	h.watchers[w] = struct{}{}
	return w
}

// leave takes a watcher off the list, and gives up a feed that nobody watches any more.
func (h *Hub) leave(w *Watcher) {
	thread, f := w.thread, w.feed
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
	f.mu.Lock()
	w.group.members--
	if w.hears {
		f.heard--
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

// Delta takes in what a model writes. It never waits.
func (h *Hub) Delta(d ponder.Delta) {
	h.mu.Lock()
	f := h.feeds[d.Thread]
	h.mu.Unlock()
	if f == nil || d.Text == "" && d.Reasoning == "" || !f.isHeard() {
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
	f.wake()
}

// A Piece is a part of what a model is writing to a user.
type Piece struct {
	Run  ponder.RunID `json:"run_id"`
	Key  string       `json:"key"` // of the action
	Text string       `json:"text"`

	Reasoning string `json:"reasoning,omitempty"` // of the model itself, before its text
}

// lookEvery is how often it is made sure that a thread is still there: one that another
// process has removed says nothing any more.
const lookEvery = 15 * time.Second

// soon is how long, at most, is waited for what is about to be written before the store is
// asked for what was written meanwhile.
const soon = 5 * time.Millisecond

// follow reads a thread into a feed, from its end on, until ctx is done or the thread is
// gone. Who watches then is told; who comes later gets another feed.
func (h *Hub) follow(ctx context.Context, f *feed, thread ponder.ThreadID, head ponder.Seq, heads <-chan ponder.Seq, unwatch func()) {
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
	f.wake()
	f.mu.Unlock()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	if known { // who knows the newest is about to write
		select {
		case <-heads:
		case <-time.After(soon):
		case <-ctx.Done():
		}
	}
	for seen := head; err == nil; {
		if seen, err = f.read(ctx, h.log, thread, seen); err == nil {
			err = h.await(ctx, heads, look.C, thread, seen)
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
	f.wake()
}

// await waits until a thread may have grown. It is an error if the thread is gone, or was
// made anew.
func (h *Hub) await(ctx context.Context, heads <-chan ponder.Seq, look <-chan time.Time, thread ponder.ThreadID, seen ponder.Seq) error {
	for {
		select {
		case head := <-heads:
			if head > seen {
				return nil
			}
			if head > 0 {
				continue // it is known
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
			return fmt.Errorf("watch %s: it was made anew: %w", thread, ponder.ErrNoThread)
		case info.Head > seen:
			return nil
		}
	}
}

// read keeps what a thread has behind an event, and returns the newest.
func (f *feed) read(ctx context.Context, log Source, thread ponder.ThreadID, seen ponder.Seq) (ponder.Seq, error) {
	defer func() { // once for all of them
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wake()
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
		f.keep(frame)
		f.mu.Unlock()
		seen = ev.Seq
	}
	return seen, nil
}

// FrameOf returns an event as it is sent.
func FrameOf(ev ponder.Event) (Frame, error) {
	js, err := Shown(ev).MarshalJSON()
	if err != nil {
		return Frame{}, fmt.Errorf("send event %d: %w", ev.Seq, err)
	}
	_, fin := ev.Body.(ponder.RunFinished)
	return Frame{Seq: ev.Seq, JSON: js, Internal: ev.Internal, End: fin && ev.Run.Parent() == ""}, nil
}

// keep adds a frame, and drops the oldest where there are too many. The caller holds
// f.mu.
func (f *feed) keep(frame Frame) {
	f.kept, f.size, f.head = append(f.kept, frame), f.size+len(frame.JSON), frame.Seq
	if len(f.kept) <= maxKept && f.size <= maxBytes {
		return
	}
	drop := 0
	for len(f.kept)-drop > 1 && (len(f.kept)-drop > maxKept*3/4 || f.size > maxBytes*3/4) {
		f.size -= len(f.kept[drop].JSON)
		f.from = f.kept[drop].Seq
		drop++
	}
	f.kept = slices.Delete(f.kept, 0, drop)
}
