package ponder

import (
	"context"
	"fmt"
	"iter"

	"ponder/llm"
)

// Follow iterates over the events of a thread after one, oldest first, and goes
// on with new ones as they come, until ctx is done, which is its last error. It
// misses nothing and shows nothing twice.
func Follow(ctx context.Context, log Log, thread ThreadID, after Seq) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		heads, stop := log.Watch(thread)
		defer stop()
		for {
			for ev, err := range log.Events(ctx, thread, after) {
				if err != nil {
					yield(Event{}, fmt.Errorf("follow %s: %w", thread, err))
					return
				}
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
			for hinted := false; !hinted; {
				select {
				case head := <-heads:
					hinted = head > after
				case <-ctx.Done():
					yield(Event{}, ctx.Err())
					return
				}
			}
		}
	}
}

// Await waits until a run has finished, and returns how.
func Await(ctx context.Context, log Log, thread ThreadID, run RunID) (RunFinished, error) {
	for ev, err := range Follow(ctx, log, thread, 0) {
		if err != nil {
			return RunFinished{}, err
		}
		if fin, ok := ev.Body.(RunFinished); ok && ev.Run == run {
			return fin, nil
		}
	}
	return RunFinished{}, ctx.Err()
}

// A Delta is a piece of what a model is writing.
type Delta struct {
	Thread ThreadID
	Run    RunID
	Key    string // of the action
	Cause  string // of the events of the attempt at it

	Began    Seq // the event that the attempt began with
	Attempt  int // at the action; each writes from the beginning
	Offset   int // bytes of text that the attempt wrote before
	Reasoned int // bytes of reasoning that it wrote before
	llm.Delta
}
