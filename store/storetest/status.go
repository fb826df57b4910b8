package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ponder"
)

const (
	second = ponder.RunID("run_01BBBBBBBBBBBBBBBBBBBBBBBB")
	third  = ponder.RunID("run_01CCCCCCCCCCCCCCCCCCCCCCCC")
)

func start(run ponder.RunID) ponder.Event  { return runEvent(run, "", ponder.RunStarted{Mode: "m"}) }
func pause(run ponder.RunID) ponder.Event  { return runEvent(run, "", ponder.RunPaused{}) }
func resume(run ponder.RunID) ponder.Event { return runEvent(run, "", ponder.RunResumed{}) }

func cancel(run ponder.RunID) ponder.Event { return runEvent(run, "", ponder.Steer{Do: ponder.Cancel}) }

func finish(run ponder.RunID, status ponder.Status) ponder.Event {
	return runEvent(run, "", ponder.RunFinished{Status: status, Answer: "a"})
}

// A statusStep is an event and the status of the thread after it.
type statusStep struct {
	ev   ponder.Event
	want ponder.Status
}

// statusScripts are threads with paused runs.
var statusScripts = map[string][]statusStep{
	"paused and resumed": {
		{start(root), ponder.Thinking}, {pause(root), ponder.Paused}, {resume(root), ponder.Thinking},
	},
	"cancelled while it is paused": {
		{start(root), ponder.Thinking}, {pause(root), ponder.Paused}, {cancel(root), ponder.Thinking},
		{pause(root), ponder.Thinking}, {finish(root, ponder.Cancelled), ponder.Cancelled},
	},
	"all are cancelled while one is paused": {
		{start(root), ponder.Thinking}, {pause(""), ponder.Paused}, {cancel(""), ponder.Thinking},
	},
	"told to answer while it is paused": {
		{start(root), ponder.Thinking}, {pause(root), ponder.Paused}, {runEvent(root, "", ponder.Steer{Do: ponder.AnswerNow}), ponder.Paused},
	},
	"the older of two is paused": {
		{start(root), ponder.Thinking}, {start(second), ponder.Thinking}, {pause(root), ponder.Thinking},
		{pause(second), ponder.Paused}, {resume(root), ponder.Thinking}, {finish(root, ponder.Completed), ponder.Paused},
		{resume(second), ponder.Thinking}, {finish(second, ponder.Failed), ponder.Failed},
	},
	"one of two is paused twice": {
		{start(root), ponder.Thinking}, {start(second), ponder.Thinking}, {pause(root), ponder.Thinking},
		{pause(root), ponder.Thinking}, {resume(root), ponder.Thinking}, {pause(second), ponder.Thinking},
	},
	"another comes and goes while one is paused": {
		{start(root), ponder.Thinking}, {pause(root), ponder.Paused}, {start(second), ponder.Thinking},
		{finish(second, ponder.Completed), ponder.Paused}, {resume(root), ponder.Thinking},
	},
	"one of two that are paused is cancelled": {
		{start(root), ponder.Thinking}, {start(second), ponder.Thinking}, {pause(""), ponder.Paused},
		{cancel(second), ponder.Thinking}, {finish(second, ponder.Cancelled), ponder.Paused},
	},
	"one begins after all were paused": {
		{start(root), ponder.Thinking}, {start(second), ponder.Thinking}, {pause(""), ponder.Paused}, {start(third), ponder.Thinking},
		{pause(third), ponder.Paused}, {resume(""), ponder.Thinking},
	},
	"the other is finished before one is paused": {
		{start(root), ponder.Thinking}, {start(second), ponder.Thinking}, {finish(root, ponder.Completed), ponder.Thinking},
		{pause(second), ponder.Paused},
	},
	"what is paused has ended, or never began": {
		{start(root), ponder.Thinking}, {start(second), ponder.Thinking}, {finish(root, ponder.Completed), ponder.Thinking},
		{pause(root), ponder.Thinking}, {pause(third), ponder.Thinking},
	},
	"a child is paused": {
		{start(root), ponder.Thinking}, {start(child), ponder.Thinking}, {pause(child), ponder.Thinking},
		{pause(root), ponder.Paused}, {resume(child), ponder.Paused}, {cancel(child), ponder.Paused},
	},
}

// checkStatus appends the events one by one, and all at once.
func checkStatus(t *testing.T, s ponder.Store) {
	for name, list := range statusScripts {
		id := ponder.ThreadID("thr " + name)
		createThread(t, s, id)
		fence := leaseThread(t, s, id)
		var all []ponder.Event
		for i, c := range list {
			appendEvents(t, s, id, fence, c.ev)
			if got := must(s.Thread(t.Context(), id))(t).Status; got != c.want {
				t.Errorf("%s: %s after %s, event %d, want %s", name, got, c.ev.Body.Type(), i+1, c.want)
			}
			all = append(all, c.ev)
		}
		createThread(t, s, id+", at once", all...)
		checkEqual(t, name+", at once", must(s.Thread(t.Context(), id+", at once"))(t).Status, list[len(list)-1].want)
	}
}

// checkTwinStatus has two stores append in turn, so that neither can trust its cache.
func checkTwinStatus(t *testing.T, a, b ponder.Store) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		id := ponder.ThreadID(fmt.Sprint("thr_", seed))
		createThread(t, a, id, userMessage("what a conversation begins with"))
		fence := leaseThread(t, a, id)
		info := ponder.Info{Thread: ponder.Thread{Kind: ponder.KindConversation}}
		info = info.Apply(userMessage(""))
		begun, head := 0, ponder.Seq(1)
		for range 40 {
			var events []ponder.Event
			for range 1 + rnd.IntN(3) {
				ev := randomRootEvent(rnd, info.Roots, &begun)
				events, info = append(events, ev), info.Apply(ev)
			}
			writer, reader := a, b
			if rnd.IntN(2) == 0 {
				writer, reader = b, a
			}
			appendEvents(t, writer, id, fence, events...)
			head += ponder.Seq(len(events))
			got := must(reader.Thread(t.Context(), id))(t)
			if got.Status != info.Status || got.Open != info.Open || got.Head != head || !slices.Equal(got.Roots, info.Roots) {
				t.Fatalf("seed %d, event %d: %s with %d open, want %s with %d\n%v, want %v", seed, got.Head, got.Status, got.Open, info.Status, info.Open, got.Roots, info.Roots)
			}
		}
	}
}

// randomRootEvent returns a random event for a thread with the roots, of which begun have
// started.
func randomRootEvent(rnd *rand.Rand, roots []ponder.Root, begun *int) ponder.Event {
	if len(roots) == 0 || len(roots) < 4 && rnd.IntN(4) == 0 {
		*begun++
		return start(ponder.RunID(fmt.Sprint("run_", *begun)))
	}
	run := roots[rnd.IntN(len(roots))].ID
	switch rnd.IntN(7) {
	case 0:
		return finish(run, ponder.Completed)
	case 1:
		return cancel(run)
	case 2, 3:
		return pause(run)
	case 4:
		return resume(run)
	case 5:
		return pause("")
	}
	return runEvent(run, "", ponder.UserMessage{Content: "x"})
}
