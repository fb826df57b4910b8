package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ponder"
	"ponder/internal/stream"
	"ponder/mode/research"
	"ponder/mode/session"
)

// lastWords bounds the wait for late parts, such as a title.
const lastWords = 3 * time.Second

// ErrQuiet is returned by [Feed.Next] when a heartbeat is due.
var ErrQuiet = stream.ErrQuiet

// A Feed reads the parts of a work. It is for one goroutine.
type Feed struct {
	desk  *Desk
	work  Work
	watch *ear
	tell  projector
	until time.Time // end of the wait for late parts
	ended bool
	beat  *time.Timer
	quiet time.Duration // heartbeat interval; zero: [stream.Heartbeat]
	list  []Part        // peeked by First
	err   error
	at    time.Time // of the last event of the answer
}

func (w Work) projector(titled bool) projector {
	switch w.Way {
	case Research:
		return newThinkProjector(research.Name)
	case Session:
		return newThinkProjector(session.Name)
	case Exchange:
		return newPassthroughProjector()
	}
	return newChatProjector(w.Message, w.After+1, titled)
}

// Feed opens a Feed of w, with a conversation title if titled. The caller closes it.
func (d *Desk) Feed(w Work, titled bool) *Feed {
	f := &Feed{desk: d, work: w, watch: w.ear, tell: w.projector(titled)}
	if f.watch == nil || f.watch.taken.Swap(true) { // no free subscription
		f.watch = d.listen(w.Thread, w.After)
	}
	return f
}

// Close does not end the work.
func (f *Feed) Close() {
	f.watch.Close()
	if f.beat != nil {
		f.beat.Stop()
	}
}

// Next returns the next parts. After the last part, which has an End, it returns [io.EOF]. It returns
// [ErrQuiet] after [stream.Heartbeat] without a part, and [ponder.ErrNoThread] if the thread was removed.
func (f *Feed) Next(ctx context.Context) (list []Part, err error) {
	if list, err = f.list, f.err; len(list) > 0 || err != nil {
		f.list, f.err = nil, nil
		return list, err
	}
	for len(list) == 0 {
		if f.ended {
			return nil, io.EOF
		}
		over, last := f.tell.over()
		wait := cmp.Or(f.quiet, stream.Heartbeat)
		if last {
			if f.until.IsZero() {
				f.until = time.Now().Add(lastWords)
			}
			wait = min(wait, time.Until(f.until))
		}
		if over || wait <= 0 {
			return f.end(ctx)
		}
		if list, err = f.step(ctx, wait); err != nil {
			return nil, err
		}
	}
	if over, _ := f.tell.over(); over {
		last, err := f.end(ctx)
		return append(list, last...), err
	}
	return list, nil
}

// First peeks at the first parts. It returns none if they take longer than while.
func (f *Feed) First(ctx context.Context, while time.Duration) []Part {
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

// end waits until the conversation can be found by its messages, and returns the last parts.
func (f *Feed) end(ctx context.Context) ([]Part, error) {
	if f.work.noted != nil {
		select {
		case <-f.work.noted:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.ended = true
	list := f.tell.close()
	e := f.tell.end()
	if t, ok := f.tell.(*chatProjector); ok && e.Status == ponder.Completed {
		f.desk.recent.ended(f.work.Thread, f.work.Message, t.outcome())
	}
	e.At = f.at
	return append(list, Part{Kind: Ended, End: &e}), nil
}

func (f *Feed) step(ctx context.Context, wait time.Duration) (list []Part, err error) {
	if f.beat == nil {
		f.beat = time.NewTimer(wait)
	} else {
		f.beat.Reset(wait)
	}
	frames, err := f.watch.NextBy(ctx, f.beat.C)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ErrQuiet):
		if _, last := f.tell.over(); last {
			return nil, nil
		}
		return nil, ErrQuiet
	case err != nil:
		return nil, err
	}
	for _, fr := range frames {
		parts, err := f.hear(fr)
		if err != nil {
			return nil, err
		}
		if list == nil { // usual case: no copy
			list = parts
		} else {
			list = append(list, parts...)
		}
		if over, _ := f.tell.over(); over {
			break
		}
	}
	return list, nil
}

func (f *Feed) hear(fr stream.Frame) ([]Part, error) {
	if fr.Seq == 0 {
		return f.tell.piece(*fr.Delta), nil
	}
	var ev ponder.Event
	if err := ev.UnmarshalJSON(fr.JSON); err != nil {
		return nil, fmt.Errorf("read event %d: %w", fr.Seq, err)
	}
	list := f.tell.event(ev)
	if _, last := f.tell.over(); last && f.at.IsZero() {
		f.at = ev.Time
	}
	return list, nil
}

// Result returns the parts of w so far. end.Status says whether w has ended.
func (d *Desk) Result(ctx context.Context, w Work) (list []Part, end End, err error) {
	t := w.projector(false)
	through := func() ([]Part, End, error) {
		left := t.close()
		last := t.end()
		last.At = end.At
		return append(list, left...), last, nil
	}
	for ev, err := range d.Store.Events(ctx, w.Thread, w.After) {
		if err != nil {
			return nil, End{}, fmt.Errorf("read %s: %w", w.Thread, err)
		}
		list = append(list, t.event(ev)...)
		over, last := t.over()
		if last && end.At.IsZero() {
			end.At = ev.Time
		}
		if over {
			return through()
		}
	}
	if _, last := t.over(); last {
		return through()
	}
	end = t.end()
	if !end.Status.Ended() || end.Status == ponder.Completed { // the turn view does not know
		end.Status = ponder.Thinking
		if info, err := d.Store.Thread(ctx, w.Thread); err == nil && info.Status == ponder.Paused {
			end.Status = ponder.Paused
		}
	}
	return list, end, nil
}
