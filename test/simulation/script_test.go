package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"ponder"
	"ponder/engine"
)

// A script is a client: it creates a thread, sends inputs at their times, and repeats each
// until it is acknowledged.
type script struct {
	*world
	thread ponder.ThreadID
	header ponder.Thread
	inputs []input
	forkAt time.Duration // zero: no fork
}

type input struct {
	at    time.Duration
	event ponder.Event
}

// The kinds of scripts.
const (
	worksOnRun = iota
	talks
	chats
	scriptKinds
)

// realShare is one more than the number of clients of test modes for each client of a real mode.
const realShare = 8

// planScripts chooses two or three clients.
func (w *world) planScripts() (scripts []*script) {
	for i := range 2 + w.number(2, "threads") {
		name := fmt.Sprint("thread ", i)
		isReal := w.number(realShare, name+" real") == 0
		s := &script{world: w, thread: ponder.ThreadID(fmt.Sprint("thr_", i)), header: ponder.Thread{Kind: ponder.KindSession, Created: w.began}}
		s.header.ID = s.thread
		switch kind := w.number(scriptKinds+1, name); {
		case isReal:
			s.planReal(name)
		case kind == talks, kind == chats:
			s.header.Kind = ponder.KindConversation
			s.planMessages(name, []string{talks: "talk", chats: "chat"}[kind])
		default:
			s.planRun(name)
		}
		scripts = append(scripts, s)
	}
	return scripts
}

// planMessages plans messages of a user.
func (s *script) planMessages(name, prefix string) {
	at := s.duration(0, 5*time.Second, name+" first")
	for i := range 2 + s.number(5, name+" messages") {
		text := fmt.Sprintf("%s %s %d", prefix, s.thread, i)
		s.inputs = append(s.inputs, input{at, ponder.Event{Cause: fmt.Sprint("m", i), Body: ponder.UserMessage{Content: text}}})
		at += s.duration(10*time.Millisecond, 25*time.Second, fmt.Sprint(name, "message", i))
	}
}

// planRun plans a run, with commands and perhaps a fork.
func (s *script) planRun(name string) {
	run := ponder.RunID("run_" + string(s.thread))
	p := plan{Seed: uint64(s.number(1<<30, name+" plan")), Steps: 2 + s.number(4, name+" steps"), Width: 1 + s.number(4, name+" width"), Depth: s.number(3, name+" depth")}
	if s.number(4, name+" long") == 0 { // so that the engine saves checkpoints before the run ends
		p.Notes = 150
	}
	options, _ := json.Marshal(p)
	var b ponder.Budget
	switch s.number(5, name+" budget") {
	case 0:
		b.Calls = 2 + s.number(8, name+" calls")
	case 1:
		b.Tokens = 2000 + s.number(4000, name+" tokens")
	case 2:
		b.Money = ponder.Money(4000 + s.number(12000, name+" money"))
	case 3:
		b.Time = s.duration(10*time.Second, time.Minute, name+" time")
	}
	at := s.duration(0, 10*time.Second, name+" first")
	s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Body: ponder.RunStarted{Mode: workMode, Version: 1, Input: "?", Options: options, Budget: b}}})
	s.planCommands(name, run, at)
	if s.number(3, name+" fork") == 0 {
		s.forkAt = s.duration(5*time.Second, 80*time.Second, name+" fork at")
	}
}

// planCommands plans commands to a run after a time.
func (s *script) planCommands(name string, run ponder.RunID, at time.Duration) {
	for i := range s.number(4, name+" commands") {
		what := fmt.Sprint(name, " command ", i)
		at += s.duration(100*time.Millisecond, 30*time.Second, what+" at")
		cause := fmt.Sprint("c", i)
		switch s.number(5, what) {
		case 0:
			s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Cause: cause, Body: ponder.RunPaused{Reason: "wait"}}})
			at += s.duration(100*time.Millisecond, 20*time.Second, what+" resume")
			s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Cause: cause, Body: ponder.RunResumed{Reason: "go on"}}})
		case 1:
			s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Cause: cause, Body: ponder.Steer{Do: ponder.AnswerNow}}})
		case 2:
			args := json.RawMessage(fmt.Sprintf(`{"calls":%d}`, 3+s.number(9, what+" calls")))
			s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Cause: cause, Body: ponder.Steer{Do: ponder.SetBudget, Args: args}}})
		case 3:
			s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Cause: cause, Body: ponder.Steer{Content: "hm", Do: ponder.Correct}}})
		case 4:
			if s.number(2, what+" cancel") == 0 {
				s.inputs = append(s.inputs, input{at, ponder.Event{Run: run, Cause: cause, Body: ponder.Steer{Do: ponder.Cancel}}})
			}
		}
	}
}

// play sends the inputs.
func (s *script) play(ctx context.Context) {
	s.repeat(ctx, "create "+string(s.thread), func(n *node) bool {
		return n.serve(func() error { return (&disk{Store: s.base, node: n}).Create(n.ctx, s.header) })
	})
	if s.forkAt > 0 {
		s.wg.Go(func() { s.fork(ctx) })
	}
	for i, in := range s.inputs {
		name := fmt.Sprint("input ", s.thread, i)
		if s.sleepUntil(ctx, in.at+s.duration(0, time.Microsecond, name)) {
			s.repeat(ctx, name, func(n *node) bool { return s.send(n, name, in.event) })
		}
	}
	if s.header.Kind == ponder.KindSubconscious {
		s.decide(ctx)
	}
}

// sleepUntil reports whether the time came before the end of the seed.
func (s *script) sleepUntil(ctx context.Context, at time.Duration) bool {
	select {
	case <-time.After(at - time.Since(s.began)):
		return true
	case <-ctx.Done():
		return false
	}
}

// repeat calls try with a node until it succeeds.
func (s *script) repeat(ctx context.Context, name string, try func(*node) bool) {
	for i := 0; ctx.Err() == nil; i++ {
		what := fmt.Sprint(name, " try ", i)
		if n := s.nodeAt(s.number(2, what)); n != nil && try(n) {
			return
		}
		time.Sleep(s.duration(100*time.Millisecond, 400*time.Millisecond, what))
	}
}

// serve performs a request of a client on the node, and reports whether the node answered with
// success. It is a success if the log has the input already.
func (n *node) serve(do func() error) bool {
	done := make(chan error, 1)
	n.wg.Go(func() { done <- do() })
	select {
	case err := <-done:
		return err == nil || errors.Is(err, ponder.ErrTaken)
	case <-n.dead: // the client lost its connection and does not know
	case <-n.closed:
	}
	return false
}

// send sends an input through a node: to its engine, or directly to the log. It reports whether
// the node acknowledged the input.
func (s *script) send(n *node, name string, ev ponder.Event) bool {
	start := func(ctx context.Context) error { return n.place.Start(ctx, s.thread) }
	direct := s.number(3, name+" direct") == 0
	s.checker.noteInput(s.thread, ev)
	served := n.serve(func() error {
		if !direct {
			_, err := n.engine.Post(n.ctx, s.thread, start, ev)
			return err
		}
		if _, err := (&disk{Store: s.base, node: n}).Append(n.ctx, s.thread, 0, ev); err != nil {
			return err
		}
		return start(n.ctx)
	})
	if !served {
		return false
	}
	s.record("acknowledged %s", name)
	s.checker.noteAck(s.thread, ev)
	return true
}

// fork copies the thread at one of its events.
func (s *script) fork(ctx context.Context) {
	name := "fork of " + string(s.thread)
	if !s.sleepUntil(ctx, s.forkAt) {
		return
	}
	info, ok := s.threadInfo(s.thread)
	if !ok || info.Head == 0 {
		return
	}
	at := ponder.Seq(1 + s.number(int(info.Head), name+" seq"))
	to := ponder.Thread{ID: s.thread + "f", Created: s.began}
	var inputs []ponder.Event
	if s.number(2, name+" answer") == 0 {
		inputs = append(inputs, ponder.Event{Run: ponder.RunID("run_" + string(s.thread)), Cause: "forked", Body: ponder.Steer{Do: ponder.AnswerNow}})
	}
	s.repeat(ctx, name, func(n *node) bool {
		if !n.serve(func() error {
			return engine.Fork(n.ctx, &disk{Store: s.base, node: n}, s.thread, at, to, slices.Clone(inputs)...)
		}) {
			return false
		}
		s.record("forked %s at %d", s.thread, at)
		return n.place.Start(n.ctx, to.ID) == nil
	})
}
