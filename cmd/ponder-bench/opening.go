package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/store/sqlite"
)

// openingScenario measures opening a conversation of so many events from its checkpoint, and a turn on it,
// relative to one of a hundredth of the size.
func openingScenario(events int) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		dir, err := os.MkdirTemp("", "ponder-bench-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		store, err := sqlite.Open(ctx, filepath.Join(dir, "ponder.db"))
		if err != nil {
			return nil, err
		}
		defer store.Close()
		short, err := measureOpening(ctx, store, "thr_short", events/100)
		if err != nil {
			return nil, err
		}
		whole, err := measureOpening(ctx, store, "thr_long", events)
		if err != nil {
			return nil, err
		}
		turns, err := runTurns(ctx, store, "thr_short", "thr_long")
		if err != nil {
			return nil, err
		}
		return []figure{
			{Name: "opened through its checkpoint, p50", Value: whole.open, Unit: "ms", Goal: 100},
			{Name: "a turn, p50, relative to the short conversation", Value: turns[1] / turns[0], Goal: 1.25},
			{Name: "a turn, p50", Value: turns[1], Unit: "ms"},
			{Name: "the first turn of a process, p50, relative to the short conversation", Value: whole.turn / short.turn},
			{Name: "the first turn of a process, p50", Value: whole.turn, Unit: "ms"},
			{Name: "read from the start, relative to the short one", Value: whole.read / short.read},
			{Name: "read from the start", Value: whole.read / 1000, Unit: "s"},
		}, nil
	}
}

// An openingTimes holds the times of a conversation in milliseconds.
type openingTimes struct{ read, open, turn float64 }

// openTimes is the number of openings and turns to measure.
const openTimes = 20

func measureOpening(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, events int) (o openingTimes, err error) {
	if err := store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation}, newConversation(events)...); err != nil {
		return o, err
	}
	took := func(do func(*engine.Engine) error) (time.Duration, error) {
		mind, err := newChatEngine(ctx, store)
		if err != nil {
			return 0, err
		}
		begun := time.Now()
		err = do(mind)
		return time.Since(begun), errors.Join(err, mind.Close(ctx))
	}
	fold := func(m *engine.Engine) error { return m.Fold(ctx, id) }
	read, err := took(fold)
	if err != nil {
		return o, err
	}
	var open, turn []time.Duration
	for range openTimes {
		d, err := took(fold)
		if err != nil {
			return o, err
		}
		open = append(open, d)
		d, err = took(func(m *engine.Engine) error { return sendMessage(ctx, store, m, id) })
		if err != nil {
			return o, err
		}
		turn = append(turn, d)
	}
	return openingTimes{toMillis(read), quantileMillis(open, 0.5), quantileMillis(turn, 0.5)}, nil
}

func newChatEngine(ctx context.Context, store ponder.Store) (*engine.Engine, error) {
	mind, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{chat.New(chat.Options{})},
		Models: map[ponder.Role][]ponder.Model{ponder.Fast: {{Model: instantModel{}, MaxOutput: 1000}}},
	})
	if err != nil {
		return nil, err
	}
	return mind, mind.Open(ctx)
}

func sendMessage(ctx context.Context, store ponder.Store, m *engine.Engine, id ponder.ThreadID) error {
	message := ponder.Event{Body: ponder.UserMessage{Content: "And what follows from that?"}}
	if _, err := store.Append(ctx, id, 0, message); err != nil {
		return err
	}
	return m.Work(ctx, id)
}

// runTurns returns the median turn times in milliseconds for several conversations in one process.
// It alternates between them and skips the first turn.
func runTurns(ctx context.Context, store ponder.Store, ids ...ponder.ThreadID) ([]float64, error) {
	mind, err := newChatEngine(ctx, store)
	if err != nil {
		return nil, err
	}
	defer mind.Close(context.WithoutCancel(ctx))
	took := make([][]time.Duration, len(ids))
	for n := range 5 * openTimes {
		for i, id := range ids {
			begun := time.Now()
			if err := sendMessage(ctx, store, mind, id); err != nil {
				return nil, err
			}
			if n > 0 {
				took[i] = append(took[i], time.Since(begun))
			}
		}
	}
	medians := make([]float64, len(ids))
	for i := range ids {
		medians[i] = quantileMillis(took[i], 0.5)
	}
	return medians, nil
}

// newConversation returns a conversation of about so many events without open messages.
func newConversation(events int) (all []ponder.Event) {
	for n := 0; len(all) < events; n++ {
		all = append(all,
			ponder.Event{Body: ponder.UserMessage{Content: fmt.Sprintf("Question %d: what do harbours cost, and who pays for them?", n)}},
			ponder.Event{Internal: true, Body: ponder.SystemNote{Content: "looked up"}},
			ponder.Event{Internal: true, Body: ponder.SystemNote{Content: "weighed"}},
			ponder.Event{Body: ponder.AssistantMessage{Content: fmt.Sprintf("Answer %d: the town pays, and the ships pay the town.", n), Model: "bench/prompt"}})
	}
	const run = "run_chat.0"
	return append(all, ponder.Event{Run: run, Body: ponder.RunStarted{Mode: chat.Name}},
		ponder.Event{Run: run, Body: ponder.RunFinished{Status: ponder.Completed, Answer: "so far"}})
}

// An instantModel is a model that answers immediately.
type instantModel struct{}

// Name implements [llm.Model].
func (instantModel) Name() string { return "bench/prompt" }

// Generate implements [llm.Model].
func (p instantModel) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Done: &llm.Response{
			Message: llm.Say(llm.Assistant, "The ships pay."), Finish: llm.FinishStop, Model: p.Name(), Usage: llm.Usage{Input: 100, Output: 5},
		}}, nil)
	}
}
