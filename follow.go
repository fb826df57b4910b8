package ponder

import (
	"context"
	"fmt"
	"iter"

	"ponder/llm"
)

// Follow iterates over the events of a thread after one, oldest first, and then over new
// events, until ctx ends. It yields each event once. The last error is the error of ctx.
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

// Await blocks until a run has finished, and returns its end.
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

// A Delta is a piece of the text that a model writes.
type Delta struct {
	Thread ThreadID
	Run    RunID
	Key    string // of the action
	Cause  string // of the events of the attempt at it

	Began    Seq // the first event of the attempt
	Attempt  int // the number of the attempt; each starts with an empty text
	Offset   int // bytes of text before this piece
	Reasoned int // bytes of reasoning before this piece
	llm.Delta
}
