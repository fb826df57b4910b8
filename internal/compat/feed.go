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

// lastWords is how long is waited for what may still come behind an answer.
const lastWords = 3 * time.Second

// ErrQuiet is returned by [Feed.Next] if nothing has come for a while: a sign of life is
// due.
var ErrQuiet = stream.ErrQuiet

// A Feed tells what comes of a work, from its beginning. It is for one goroutine.
type Feed struct {
	desk  *Desk
	work  Work
	watch *ear
	tell  projector
	until time.Time // when nothing more is waited for
	ended bool
	beat  *time.Timer
	quiet time.Duration // after which nothing has come; zero: [stream.Heartbeat]
	list  []Part        // that came first, and then
	err   error
	at    time.Time // when the work was known to be through, by the log
}

// projector returns a new fold over a work.
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

// Feed returns what tells of a work, with a title of the conversation if that is wanted.
// The caller closes it.
func (d *Desk) Feed(w Work, titled bool) *Feed {
	f := &Feed{desk: d, work: w, watch: w.ear, tell: w.projector(titled)}
	if f.watch == nil || f.watch.taken.Swap(true) { // it was not listened to from its beginning
		f.watch = d.listen(w.Thread, w.After)
	}
	return f
}

// Close ends the telling; the work goes on.
func (f *Feed) Close() {
	f.watch.Close()
	if f.beat != nil {
		f.beat.Stop()
	}
}

// Next returns what comes next, at least one part. The last one has an End, and behind it
// comes [io.EOF]. It returns [ErrQuiet] where nothing has come for [stream.Heartbeat],
// and [ponder.ErrNoThread] if the thread was removed.
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

// First returns what comes first, which Next returns again; nothing, if that takes longer
// than a while.
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

// end returns the last parts, once the conversation can be found again.
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

// step takes in what comes next.
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
		if list == nil { // as mostly
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

// Result returns what has come of a work so far, and how it stands: an End that is last,
// whose Status says whether it has ended.
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
	if !end.Status.Ended() || end.Status == ponder.Completed { // the fold of a turn does not know
		end.Status = ponder.Thinking
		if info, err := d.Store.Thread(ctx, w.Thread); err == nil && info.Status == ponder.Paused {
			end.Status = ponder.Paused
		}
	}
	return list, end, nil
}
