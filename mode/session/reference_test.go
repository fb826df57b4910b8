package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/racetest"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
)

// reference is the expected state machine of a session under user commands, based on the seed.
type reference struct {
	status   ponder.Status
	hurried  bool
	open     map[string]int  // user questions with priorities
	commands map[string]bool // ids of pending commands: must they be refused?
}

// applyOrder applies an order and reports whether the session may receive it.
func (r *reference) applyOrder(order string) bool {
	if r.status.Ended() {
		return false
	}
	switch order {
	case "pause":
		r.status = ponder.Paused
	case "resume":
		r.status = ponder.Thinking
	case "cancel":
		r.status = ponder.Cancelled
	case "answer":
		r.hurried = true
	}
	if r.hurried && r.status == ponder.Thinking {
		r.status = ponder.Completed
	}
	return true
}

type play struct {
	t     *testing.T
	rng   *rand.Rand
	store ponder.Store
	mind  *enginetest.Engine
	ref   reference
	done  []string
	forks int
}

func (p *play) startEngine() {
	c := newConfig(&llmtest.Model{Latency: llmtest.Delay{Mean: 7 * time.Second, Jitter: 0.6}})
	c.Store = p.store
	p.mind = enginetest.Start(p.t, c)
}

// doRandomOrder performs a random order, waits and checks.
func (p *play) doRandomOrder() {
	p.t.Helper()
	orders := []string{"pause", "pause", "resume", "resume", "resume", "question", "question", "rank", "drop", "budget", "kill", "kill", "fork", "wait", "answer", "cancel"}
	order := orders[p.rng.IntN(len(orders))]
	if (order == "answer" || order == "cancel") && p.rng.IntN(4) > 0 {
		order = "wait"
	}
	p.done = append(p.done, order)
	switch order {
	case "kill":
		p.mind.Stop()
		time.Sleep(time.Duration(p.rng.IntN(20)) * time.Second)
		p.startEngine()
	case "fork":
		p.forkSession()
	case "wait":
	default:
		p.sendOrder(order)
	}
	time.Sleep(time.Duration(p.rng.IntN(30_000)) * time.Millisecond)
	if p.ref.status.Ended() {
		time.Sleep(5 * time.Minute)
	}
	synctest.Wait()
	p.checkThread()
}

func (p *play) sendOrder(order string) {
	p.t.Helper()
	n := len(p.done)
	var b ponder.Body
	text := fmt.Sprintf("What of matter number %d of this play?", n)
	args := func(a ponder.SteerArgs) json.RawMessage { js, _ := json.Marshal(a); return js }
	refused := false
	switch order {
	case "pause":
		b = ponder.RunPaused{}
	case "resume":
		b = ponder.RunResumed{}
	case "cancel":
		b = ponder.Steer{Do: ponder.Cancel}
	case "answer":
		refused = p.ref.hurried
		b = ponder.Steer{Do: ponder.AnswerNow}
	case "question":
		b = ponder.Steer{Do: ponder.AddQuestion, Content: text, Args: args(ponder.SteerArgs{Priority: 1 + n%10})}
		refused = p.ref.hurried
	case "rank":
		b, refused = ponder.Steer{Do: ponder.RankQuestion, Args: args(ponder.SteerArgs{Question: "q999", Priority: 3})}, true
	case "drop":
		b, refused = ponder.Steer{Do: ponder.DropQuestion, Args: args(ponder.SteerArgs{Question: "q998"})}, true
	case "budget":
		b = ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(fmt.Sprintf(`{"calls":%d}`, 10_000+n))}
	}
	accepted := p.ref.applyOrder(order)
	evs, err := ponder.SendCommands(p.t.Context(), p.store, enginetest.Thread, ponder.Event{Run: enginetest.Run, Body: b})
	if accepted != (err == nil) || err != nil && !errors.Is(err, ponder.ErrEnded) {
		p.t.Fatalf("%v: %s is heard: %v, want %v", p.done, order, err, accepted)
	}
	if _, ok := b.(ponder.Steer); ok && err == nil && order != "cancel" {
		p.ref.commands[evs[0].ID] = refused
		if order == "question" && !refused {
			p.ref.open[text] = 1 + n%10
		}
	}
}

// forkSession copies the session and checks that the fork is equal and independent.
func (p *play) forkSession() {
	p.t.Helper()
	ctx := p.t.Context()
	before := enginetest.Events(p.t, p.store)
	at := ponder.Seq(1 + p.rng.IntN(len(before)))
	p.forks++
	id := ponder.ThreadID(fmt.Sprintf("thr_fork%d", p.forks))
	if err := engine.Fork(ctx, p.store, enginetest.Thread, at, ponder.Thread{ID: id}, ponder.Event{Run: enginetest.Run, Body: ponder.Steer{Do: ponder.Cancel}}); err != nil {
		if before[at-1].Body.Type() == "run_finished" || p.isFinished(before[:at]) {
			return
		}
		p.t.Fatalf("%v: fork at %d: %v", p.done, at, err)
	}
	if err := p.mind.Work(ctx, id); err != nil {
		p.t.Fatalf("%v: work on the fork: %v", p.done, err)
	}
	info, err := p.store.Thread(ctx, id)
	if err != nil || !info.Status.Ended() {
		p.t.Fatalf("%v: the fork is %s, %v", p.done, info.Status, err)
	}
	after := enginetest.Events(p.t, p.store)
	if diff := cmp.Diff(eventIDs(before), eventIDs(after[:len(before)])); diff != "" {
		p.t.Fatalf("%v: forking changed the session:\n%s", p.done, diff)
	}
}

func (p *play) isFinished(evs []ponder.Event) bool {
	return slices.ContainsFunc(evs, func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.RunFinished); return ok })
}

func eventIDs(evs []ponder.Event) (list []string) {
	for _, ev := range evs {
		list = append(list, ev.ID)
	}
	return list
}

func (p *play) checkThread() {
	p.t.Helper()
	info, err := p.store.Thread(p.t.Context(), enginetest.Thread)
	if err != nil {
		p.t.Fatal(err)
	}
	evs := enginetest.Events(p.t, p.store)
	v := session.NewView()
	acks, asked := make(map[string]int), make(map[string]int)
	paused := false
	for _, ev := range evs {
		v = v.Apply(ev)
		switch b := ev.Body.(type) {
		case ponder.RunPaused:
			paused = true
		case ponder.RunResumed:
			paused = false
		case ponder.CallStarted:
			if paused {
				p.t.Fatalf("%v: event %d: a call while it is paused", p.done, ev.Seq)
			}
		case ponder.SubQuestion:
			asked[b.Content]++
		case ponder.Progress:
			if b.Stage != ponder.StageSteered {
				break
			}
			acks[b.Ref]++
			if refused, ok := p.ref.commands[b.Ref]; !ok || refused != b.Refused {
				p.t.Fatalf("%v: event %d: %+v, want refused: %v, known: %v", p.done, ev.Seq, b, refused, ok)
			}
		}
	}
	if info.Status != p.ref.status || v.Session.Status != p.ref.status {
		p.t.Fatalf("%v: the session is %s, to the view %s, want %s", p.done, info.Status, v.Session.Status, p.ref.status)
	}
	for id := range p.ref.commands {
		if acks[id] != 1 && p.ref.status != ponder.Cancelled {
			p.t.Fatalf("%v: wish %s is acknowledged %d times", p.done, id, acks[id])
		}
	}
	for text := range p.ref.open {
		if asked[text] != 1 && p.ref.status != ponder.Cancelled {
			p.t.Fatalf("%v: %q is asked %d times", p.done, text, asked[text])
		}
	}
	if p.ref.status == ponder.Completed && v.Session.Final == "" {
		p.t.Fatalf("%v: completed without an answer", p.done)
	}
}

// Under any commands and process kills, the session matches the reference; every command applies
// exactly once.
func TestReference(t *testing.T) {
	ended := make(map[ponder.Status]int)
	for seed := uint64(0); seed < 20; seed += uint64(racetest.Stride(2)) {
		synctest.Test(t, func(t *testing.T) {
			p := &play{t: t, rng: rand.New(rand.NewPCG(seed, 7)), store: memory.New()}
			p.ref = reference{status: ponder.Thinking, open: make(map[string]int), commands: make(map[string]bool)}
			p.startEngine()
			js, err := json.Marshal(session.Options{ToTheEnd: true, Parallel: 1 + p.rng.IntN(3)})
			if err != nil {
				t.Fatal(err)
			}
			p.mind.Put(enginetest.Run, "", ponder.RunStarted{
				Mode: session.Name, Input: "What is the sea?", Options: js, Budget: ponder.Budget{Time: 1000 * time.Hour},
			})
			for range 25 {
				p.doRandomOrder()
			}
			ended[p.ref.status]++
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if len(ended) < 4 {
		t.Errorf("sessions ended as %v: not all there is", ended)
	}
}
