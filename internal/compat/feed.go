package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/internal/stream"
	"ponder/mode/research"
	"ponder/mode/session"
)

// lastPartsWait bounds the wait for late parts, such as a title.
const lastPartsWait = 3 * time.Second

// ErrQuiet is returned by [Stream.Next] when a heartbeat is due.
var ErrQuiet = stream.ErrQuiet

// A Stream reads the parts of a work. It is for one goroutine.
type Stream struct {
	desk      *Dispatcher
	work      Job
	listener  *listener
	projector projector
	until     time.Time // end of the wait for late parts
	ended     bool
	heartbeat *time.Timer
	quiet     time.Duration // heartbeat interval; zero: [stream.Heartbeat]
	list      []Part        // peeked by First
	err       error
	at        time.Time // of the last event of the answer
}

func (w Job) newProjector(titled bool) projector {
	switch w.Kind {
	case Research:
		return newThinkProjector(research.Name)
	case Session:
		return newThinkProjector(session.Name)
	case Exchange:
		return newPassthroughProjector()
	}
	return newChatProjector(w.Message, w.After+1, titled, w.NativeApprovals)
}

// StartWait delays a stream, so that an early failure gets a status, also after a short wait for
// the model.
const StartWait = 4 * time.Second

// AwaitStart waits until w has its first part, at most StartWait. A failure without any part is an
// [APIError]; AwaitStart then calls answered, like [Dispatcher.WaitAnswer]. Otherwise the next
// stream of w returns the parts.
func (d *Dispatcher) AwaitStart(ctx context.Context, w *Job, titled bool, answered func()) error {
	f := d.OpenStream(ctx, *w, titled)
	if list := f.First(ctx, StartWait); len(list) > 0 && list[0].Kind == Ended {
		if fault := list[0].End.APIError(); fault != nil && list[0].End.Status == ponder.Failed {
			f.Close()
			answered()
			return fault
		}
	}
	w.peeked = new(atomic.Pointer[Stream])
	w.peeked.Store(f)
	return nil
}

// OpenStream opens a Feed of w, with a conversation title if titled. The caller closes it.
func (d *Dispatcher) OpenStream(ctx context.Context, w Job, titled bool) *Stream {
	if f := w.takePeeked(); f != nil {
		return f
	}
	f := &Stream{desk: d, work: w, listener: w.listener, projector: w.newProjector(titled)}
	if f.listener == nil || f.listener.hasStream.Swap(true) { // no free subscription
		f.listener = d.subscribe(ctx, w.Thread, w.After)
	}
	return f
}

// Close does not end the work.
func (f *Stream) Close() {
	f.listener.Close()
	if f.heartbeat != nil {
		f.heartbeat.Stop()
	}
}

// Next returns the next parts. After the last part, which has an End, it returns [io.EOF]. It returns
// [ErrQuiet] after [stream.Heartbeat] without a part, and [ponder.ErrNoThread] if the thread was removed.
func (f *Stream) Next(ctx context.Context) (list []Part, err error) {
	if list, err = f.list, f.err; len(list) > 0 || err != nil {
		f.list, f.err = nil, nil
		return list, err
	}
	for len(list) == 0 {
		if f.ended {
			return nil, io.EOF
		}
		over, last := f.projector.isOver()
		wait := cmp.Or(f.quiet, stream.Heartbeat)
		if last {
			if f.until.IsZero() {
				f.until = time.Now().Add(lastPartsWait)
			}
			wait = min(wait, time.Until(f.until))
		}
		if over || wait <= 0 {
			return f.lastParts(ctx)
		}
		if list, err = f.nextFrames(ctx, wait); err != nil {
			return nil, err
		}
	}
	if over, _ := f.projector.isOver(); over {
		last, err := f.lastParts(ctx)
		return append(list, last...), err
	}
	return list, nil
}

// First peeks at the first parts. It returns none if they take longer than while.
func (f *Stream) First(ctx context.Context, while time.Duration) []Part {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(f.desk.Gone, cancel)()
	defer cancel()
	f.quiet = while
	f.list, f.err = f.Next(ctx)
	if f.quiet = 0; errors.Is(f.err, ErrQuiet) {
		f.err = nil
	}
	return f.list
}

// lastParts waits until the conversation can be found by its messages, and returns the last parts.
func (f *Stream) lastParts(ctx context.Context) ([]Part, error) {
	if f.work.noted != nil {
		select {
		case <-f.work.noted:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.ended = true
	list := f.projector.close()
	e := f.projector.endState()
	if t, ok := f.projector.(*chatProjector); ok && e.Status == ponder.Completed {
		f.desk.turns.noteOutcome(f.work.Thread, f.work.Message, t.turnOutcome())
	}
	if e.At = f.at; e.Status == ponder.Failed && f.work.failed != nil {
		f.work.failed()
	}
	return append(list, Part{Kind: Ended, End: &e}), nil
}

func (f *Stream) nextFrames(ctx context.Context, wait time.Duration) (list []Part, err error) {
	if f.heartbeat == nil {
		f.heartbeat = time.NewTimer(wait)
	} else {
		f.heartbeat.Reset(wait)
	}
	frames, err := f.listener.NextUntil(ctx, f.heartbeat.C)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrQuiet):
		if _, last := f.projector.isOver(); last {
			return nil, nil
		}
		return nil, ErrQuiet
	case err != nil:
		return nil, err
	}
	for _, fr := range frames {
		parts, err := f.applyFrame(fr)
		if err != nil {
			return nil, err
		}
		if list == nil { // usual case: no copy
			list = parts
		} else {
			list = append(list, parts...)
		}
		if over, _ := f.projector.isOver(); over {
			break
		}
	}
	return list, nil
}

func (f *Stream) applyFrame(fr stream.Frame) ([]Part, error) {
	if fr.Seq == 0 {
		return f.projector.applyDelta(*fr.Delta), nil
	}
	var ev ponder.Event
	if err := ev.UnmarshalJSON(fr.JSON); err != nil {
		return nil, fmt.Errorf("read event %d: %w", fr.Seq, err)
	}
	list := f.projector.applyEvent(ev)
	if _, last := f.projector.isOver(); last && f.at.IsZero() {
		f.at = ev.Time
	}
	return list, nil
}

// Result returns the parts of w so far. end.Status says whether w has ended.
func (d *Dispatcher) Result(ctx context.Context, w Job) (list []Part, end End, err error) {
	t := w.newProjector(false)
	through := func() ([]Part, End, error) {
		left := t.close()
		last := t.endState()
		last.At = end.At
		return append(list, left...), last, nil
	}
	for ev, err := range d.Store.Events(ctx, w.Thread, w.After) {
		if err != nil {
			return nil, End{}, fmt.Errorf("read %s: %w", w.Thread, err)
		}
		list = append(list, t.applyEvent(ev)...)
		over, last := t.isOver()
		if last && end.At.IsZero() {
			end.At = ev.Time
		}
		if over {
			return through()
		}
	}
	if _, last := t.isOver(); last {
		return through()
	}
	end = t.endState()
	if !end.Status.Ended() || end.Status == ponder.Completed { // the turn view does not know
		end.Status = ponder.Thinking
		if info, err := d.Store.Thread(ctx, w.Thread); err == nil && info.Status == ponder.Paused {
			end.Status = ponder.Paused
		}
	}
	return list, end, nil
}
