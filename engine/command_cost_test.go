package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/store/memory"
)

// Lookup implements [ponder.Log].
func (s *longStore) Lookup(ctx context.Context, id ponder.ThreadID, like ponder.Event) (ponder.Event, bool, error) {
	s.reads.Add(1)
	return s.Store.Lookup(ctx, id, like)
}

// TestCommandCost sends commands to a session of 100,000 events.
func TestCommandCost(t *testing.T) {
	const ended = ponder.RunID("run_ended")
	steer := func(run ponder.RunID, cause string) ponder.Event {
		return ponder.Event{Run: run, Cause: cause, Body: ponder.Steer{Content: "go on"}}
	}
	all := []ponder.Event{
		{Run: ended, Body: ponder.RunStarted{Mode: "steps"}}, {Run: ended, Body: ponder.RunFinished{Status: ponder.Completed, Answer: "a"}},
		{Run: enginetest.Run, Body: ponder.RunStarted{Mode: "steps"}}, steer(enginetest.Run, "first"),
	}
	for len(all) < 10_000 {
		all = append(all, ponder.Event{Run: enginetest.Run, Cause: fmt.Sprintf("note-%d/1.1", len(all)), Body: ponder.Thought{Content: "so."}})
	}
	s := &longStore{Store: memory.New()}
	if err := s.Create(t.Context(), ponder.Thread{ID: longThread, Kind: ponder.KindSession}, all...); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		cmd  ponder.Event
		want error
		seq  ponder.Seq // of the stored command; zero: it is new
	}{
		"new":         {cmd: steer(enginetest.Run, "")},
		"with a key":  {cmd: steer(enginetest.Run, "mine")},
		"sent before": {cmd: steer(enginetest.Run, "first"), seq: 4},
		"to all runs": {cmd: steer("", "")},
		"ended":       {cmd: steer(ended, "late"), want: ponder.ErrEnded},
	} {
		t.Run(name, func(t *testing.T) {
			s.reads.Store(0)
			head := s.threadHead(t)
			sent, err := ponder.SendCommands(t.Context(), s, longThread, tt.cmd)
			if !errors.Is(err, tt.want) {
				t.Fatalf("got error %v, want %v", err, tt.want)
			}
			if want := cmp.Or(tt.seq, head+1); err == nil && sent[0].Seq != want {
				t.Errorf("stored at %d, want %d", sent[0].Seq, want)
			}
			if n := s.reads.Load(); n > 2 {
				t.Errorf("read %d events", n)
			}
		})
	}
}

// TestOpenRunsCost checks that OpenRuns finds the runs of a long thread without reading it.
func TestOpenRunsCost(t *testing.T) {
	for name, first := range map[string]ponder.Event{
		"plain":      {Run: enginetest.Run, Body: ponder.RunStarted{Mode: "steps"}},
		"with a key": {Run: enginetest.Run, Cause: "mine", Body: ponder.RunStarted{Mode: "steps"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := []ponder.Event{first, {Run: "run_ended", Body: ponder.RunStarted{Mode: "other"}}, {Run: "run_ended", Body: ponder.RunFinished{Status: ponder.Completed, Answer: "a"}}}
			for len(all) < 10_000 {
				all = append(all, ponder.Event{Run: enginetest.Run, Cause: fmt.Sprintf("note-%d/1.1", len(all)), Body: ponder.Thought{Content: "so."}})
			}
			s := &longStore{Store: memory.New()}
			if err := s.Create(t.Context(), ponder.Thread{ID: longThread, Kind: ponder.KindSession}, all...); err != nil {
				t.Fatal(err)
			}
			s.reads.Store(0)
			open, err := ponder.OpenRuns(t.Context(), s, longThread)
			if err != nil || len(open) != 1 || open[enginetest.Run] != "steps" || s.reads.Load() > 2 {
				t.Errorf("%v after %d reads: %v", open, s.reads.Load(), err)
			}
		})
	}
}

// A modelThread is the part of a fold of the whole thread that decides about commands.
type modelThread struct {
	runs map[ponder.RunID]ponder.Status
	open int
	sent map[string]ponder.Seq
}

func (m *modelThread) apply(ev ponder.Event) {
	root := ev.Run.Parent() == ""
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		m.runs[ev.Run] = ponder.Thinking
		if root {
			m.open++
		}
	case ponder.RunFinished:
		m.runs[ev.Run] = b.Status
		if root {
			m.open--
		}
	default:
		if key := ev.Key(); key != "" && ev.IsInput() {
			m.sent[key] = ev.Seq
		}
	}
}

// checkCommands returns the error for commands, or the place of the first if all are on the
// thread already.
func (m *modelThread) checkCommands(commands []ponder.Event) (ponder.Seq, error) {
	before := 0
	for _, cmd := range commands {
		if m.sent[cmd.Key()] > 0 && cmd.Cause != "" {
			before++
		}
	}
	if before == len(commands) {
		return m.sent[commands[0].Key()], nil
	}
	for _, cmd := range commands {
		if cmd.Run == "" && m.open == 0 {
			return 0, ponder.ErrEnded
		}
		for run := cmd.Run; run != ""; run = run.Parent() {
			switch status := m.runs[run]; {
			case status == "":
				return 0, ponder.ErrNoRun
			case status.Ended():
				return 0, ponder.ErrEnded
			}
		}
	}
	if before > 0 {
		return 0, ponder.ErrTaken
	}
	return 0, nil
}

// TestCommandsOnRandomThreads compares SendCommands with a fold of the whole thread.
func TestCommandsOnRandomThreads(t *testing.T) {
	for name, store := range map[string]ponder.Store{"memory": memory.New(), "sqlite": openSQLite(t)} {
		t.Run(name, func(t *testing.T) {
			results := make(map[error]int)
			for seed := range uint64(60) {
				randomCommands(t, store, seed, results)
			}
			if len(results) != 4 {
				t.Errorf("results: %v", results)
			}
		})
	}
}

// randomCommands sends commands to a random thread, and counts the results.
func randomCommands(t *testing.T, store ponder.Store, seed uint64, results map[error]int) {
	rnd := rand.New(rand.NewPCG(seed, 25))
	id := ponder.ThreadID(fmt.Sprint("thr_random", seed))
	m := modelThread{runs: make(map[ponder.RunID]ponder.Status), sent: make(map[string]ponder.Seq)}
	var all []ponder.Event
	for range rnd.IntN(30) {
		ev := randomEvent(rnd, m.runs)
		if ev.Cause != "" && m.sent[ev.Key()] > 0 {
			continue
		}
		all = append(all, ev)
		ev.Seq = ponder.Seq(len(all))
		m.apply(ev)
	}
	if err := store.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession}, all...); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		commands := []ponder.Event{randomCommand(rnd)}
		if rnd.IntN(4) == 0 {
			commands = append(commands, ponder.Event{Run: randomRun(rnd), Body: ponder.RunPaused{}})
		}
		seq, want := m.checkCommands(commands)
		results[want]++
		got, err := ponder.SendCommands(t.Context(), store, id, commands...)
		if !errors.Is(err, want) || err == nil != (want == nil) || want == nil && len(got) != len(commands) {
			t.Fatalf("seed %d: %d stored, error %v, want %v, for %+v", seed, len(got), err, want, commands)
		}
		if want == nil && seq > 0 && got[0].Seq != seq {
			t.Fatalf("seed %d: stored at %d, want %d", seed, got[0].Seq, seq)
		}
		for _, ev := range got {
			m.apply(ev)
		}
	}
}

func randomRun(rnd *rand.Rand) ponder.RunID {
	return []ponder.RunID{"", "run_1", "run_2", "run_3", "run_1/kid", "run_2/kid", "run_2/kid/kid"}[rnd.IntN(7)]
}

func randomCommand(rnd *rand.Rand) ponder.Event {
	return ponder.Event{Run: randomRun(rnd), Cause: []string{"", "a", "b"}[rnd.IntN(3)], Body: ponder.Steer{Content: "x"}}
}

// randomEvent returns an event that may follow on a thread with those runs.
func randomEvent(rnd *rand.Rand, runs map[ponder.RunID]ponder.Status) ponder.Event {
	run := randomRun(rnd)
	switch status := runs[run]; {
	case run == "", rnd.IntN(3) == 0:
		return randomCommand(rnd)
	case status == "":
		return ponder.Event{Run: run, Body: ponder.RunStarted{Mode: "m"}}
	case status == ponder.Thinking:
		ends := []ponder.Status{ponder.Completed, ponder.Failed, ponder.Cancelled}
		return ponder.Event{Run: run, Body: ponder.RunFinished{Status: ends[rnd.IntN(3)], Answer: "a"}}
	}
	return ponder.Event{Run: run, Body: ponder.Thought{Content: "x"}}
}
