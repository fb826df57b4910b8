package compat

import (
	"context"
	"errors"
)

// Wait hands each part of a work to each until it has ended, and returns how. Flush is
// called behind the parts that came at once, quiet where a sign of life is due; both may be
// nil. An error of any of them ends it, and so does the end of Gone.
func (d *Desk) Wait(ctx context.Context, w Work, each func(Part) error, flush, quiet func() error) (End, error) {
	return d.wait(ctx, d.Feed(w, false), each, flush, quiet)
}

func (d *Desk) wait(ctx context.Context, f *Feed, each func(Part) error, flush, quiet func() error) (End, error) {
	defer f.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(d.Gone, cancel)()
	defer cancel()
	for {
		list, err := f.Next(ctx)
		after := flush
		if errors.Is(err, ErrQuiet) {
			err, after = nil, quiet
		}
		for _, p := range list {
			if p.Kind == Ended {
				return *p.End, err
			}
			if err == nil {
				err = each(p)
			}
		}
		if err == nil && after != nil {
			err = after()
		}
		if err != nil {
			return End{}, err
		}
	}
}

// A Telling writes what comes of a work in the words of a language. Nothing of it is sent
// before Flush.
type Telling interface {
	Part(p Part) // adds a part, if it is one that is told
	Quiet()      // adds a sign of life
	Fail(f *Fault)
	End(e End) // adds how the work has ended
	Flush() error
}

// Tell sends a work as it comes, with a title of the conversation if that is wanted. The
// end is sent behind what was added before. It reports whether the client has all of it.
//
// It is for languages in which nothing that was sent can be taken back: no text is Again.
// An answer that begins anew is gone on with if it has all that was sent at its beginning;
// else Tell fails, and asking again tells the answer from its beginning.
func (d *Desk) Tell(ctx context.Context, w Work, titled bool, t Telling) bool {
	if t.Flush() != nil {
		w.Forget()
		return false
	}
	s := sentText{tell: t.Part}
	return d.Feed(w, titled).send(ctx, t, s.part, s.end)
}

// Tell is [Desk.Tell] where a Feed is there already, which it closes, in a language that
// can take back what was sent.
func (f *Feed) Tell(ctx context.Context, t Telling) bool {
	return f.send(ctx, t, func(p Part) error {
		t.Part(p)
		return nil
	}, func(End) error { return nil })
}

// send hands each part to each, which adds it, and sends the end, or why each or last refuse
// to go on.
func (f *Feed) send(ctx context.Context, t Telling, each func(Part) error, last func(End) error) bool {
	end, err := f.desk.wait(ctx, f, each, t.Flush, func() error {
		t.Quiet()
		return t.Flush()
	})
	if err == nil {
		err = last(end)
	}
	switch {
	case ctx.Err() != nil: // nobody reads it
		return false
	case err != nil:
		t.Fail(f.desk.FaultOf(err))
	default:
		t.End(end)
	}
	return t.Flush() == nil && !errors.Is(err, errAnew)
}
