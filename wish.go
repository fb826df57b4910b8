package ponder

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Steered is the Stage of the [Progress] with which a run acknowledges a wish.
// Its Ref is the id of the wish's event; its own place says when the wish took
// effect, Cancelled what that put an end to, and Refused that it was not done.
const Steered = "steered"

// What becomes of wishes that no run can hear.
var (
	ErrEnded = errors.New("run has ended")
	ErrNoRun = errors.New("no such run")
)

// maxWishTries is how often a wish is tried again because the thread has grown.
const maxWishTries = 1000

// Wish appends what a user wishes of runs: inputs such as [Steer], [RunPaused]
// and [RunResumed], each with the Run that it is for (empty: whichever is open).
// It appends all of them or none, and returns them as they are stored.
//
// A wish is never lost without a word: it is appended only as long as its run is
// open, and a run that is open then does not finish before it has seen it. If the
// run has ended, Wish returns ErrEnded; if there never was one, ErrNoRun.
//
// A wish is never heard twice: it gets a Cause if it has none, and if all of the
// wishes are on the thread already, by their keys, they are returned as they stand
// there, whatever has become of their runs since. So whoever sets the Cause may
// send a wish again when it is not known whether it has arrived.
//
// Wish returns ErrStale if the thread grows faster than it can be read.
func Wish(ctx context.Context, log Log, thread ThreadID, wishes ...Event) ([]Event, error) {
	wishes = slices.Clone(wishes)
	for i := range wishes {
		if wishes[i].Cause == "" {
			wishes[i].Cause = NewID("steer")
		}
	}
	a := audience{keys: make(map[string]Event), runs: make(map[RunID]Status)}
	for range maxWishTries {
		if err := a.read(ctx, log, thread); err != nil {
			return nil, fmt.Errorf("wish on %s: %w", thread, err)
		}
		if sent := a.sent(wishes); len(sent) == len(wishes) {
			return sent, nil
		}
		if err := a.hear(wishes); err != nil {
			return nil, fmt.Errorf("wish on %s: %w", thread, err)
		}
		for i := range wishes {
			wishes[i].After = a.head
		}
		stored, err := log.Append(ctx, thread, 0, wishes...)
		if !errors.Is(err, ErrStale) {
			return stored, err
		}
	}
	return nil, fmt.Errorf("wish on %s: %w", thread, ErrStale)
}

// An audience is what must be known of a thread to wish something there.
type audience struct {
	head Seq
	runs map[RunID]Status
	open int              // roots
	keys map[string]Event // of inputs
}

// read reads on.
func (a *audience) read(ctx context.Context, log Log, thread ThreadID) error {
	for ev, err := range log.Events(ctx, thread, a.head) {
		if err != nil {
			return err
		}
		a.head = ev.Seq
		root := ev.Run.Parent() == ""
		switch b := ev.Body.(type) {
		case RunStarted:
			if a.runs[ev.Run] == "" && root {
				a.open++
			}
			a.runs[ev.Run] = Thinking
		case RunFinished:
			if !a.runs[ev.Run].Ended() && root {
				a.open--
			}
			a.runs[ev.Run] = b.Status
		default:
			if key := ev.Key(); key != "" && ev.IsInput() {
				a.keys[key] = ev
			}
		}
	}
	return nil
}

// sent returns those of the wishes that are on the thread.
func (a *audience) sent(wishes []Event) (sent []Event) {
	for _, w := range wishes {
		if ev, ok := a.keys[w.Key()]; ok {
			sent = append(sent, ev)
		}
	}
	return sent
}

// hear returns an error if there is a wish that no run would see.
func (a *audience) hear(wishes []Event) error {
	for _, w := range wishes {
		if w.Run == "" && a.open == 0 {
			return ErrEnded
		}
		for run := w.Run; run != ""; run = run.Parent() {
			switch status := a.runs[run]; {
			case status == "":
				return fmt.Errorf("%s: %w", run, ErrNoRun)
			case status.Ended():
				return fmt.Errorf("%s is %s: %w", run, status, ErrEnded)
			}
		}
	}
	return nil
}

// Heard waits until a wish that is on a thread is acknowledged, and returns the
// event that does it, whose body is a [Progress]. If its run ends without having
// said a word about it, or, of a wish for all runs, the last of those that were open,
// Heard returns ErrEnded. A run that nobody works on says nothing, so ctx should have
// an end.
func Heard(ctx context.Context, log Log, wish Event) (Event, error) {
	after, open := wish.Seq, make(map[RunID]bool)
	if wish.Run == "" {
		after = 0 // what was open then is told by the events before
	}
	for ev, err := range Follow(ctx, log, wish.Thread, after) {
		if err != nil {
			return Event{}, err
		}
		switch b := ev.Body.(type) {
		case RunStarted:
			if ev.Run.Parent() == "" && ev.Seq < wish.Seq {
				open[ev.Run] = true
			}
		case Progress:
			if b.Stage == Steered && b.Ref == wish.ID {
				return ev, nil
			}
		case RunFinished:
			delete(open, ev.Run)
			if wish.Run.Within(ev.Run) {
				return Event{}, fmt.Errorf("%s is %s: %w", ev.Run, b.Status, ErrEnded)
			}
		}
		if wish.Run == "" && ev.Seq >= wish.Seq && len(open) == 0 {
			return Event{}, fmt.Errorf("all that were open: %w", ErrEnded)
		}
	}
	return Event{}, ctx.Err()
}
