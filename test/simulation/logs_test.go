package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/mode/chat"
	"ponder/store/memory"
)

// isSettled reports whether no thread has work or a lease that its holder did not release.
func (c *checker) isSettled(base *memory.Store) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, t := range c.threads {
		info, err := base.Thread(context.Background(), id)
		if err != nil || t.holder != "" || t.abandoned || info.Status == ponder.Thinking {
			return false
		}
	}
	return true
}

// describeOpen describes the threads with work.
func (c *checker) describeOpen(base *memory.Store) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, id := range slices.Sorted(mapKeys(c.threads)) {
		if info, err := base.Thread(context.Background(), id); err == nil && (info.Open > 0 || c.threads[id].holder != "" || c.threads[id].abandoned || info.Status == ponder.Thinking) {
			list = append(list, fmt.Sprintf("%s %s with %d open runs, held %v, last by %q", id, info.Status, info.Open, info.Held, c.threads[id].holder))
		}
	}
	return strings.Join(list, "; ")
}

// summarize fills in the counts of a result.
func (c *checker) summarize(r *result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.calls, r.repeated, r.threads = c.sent, c.repeated, len(c.threads)
	for _, t := range c.threads {
		r.events += int(t.head)
	}
}

// checkLogs checks the logs at the end of a seed.
func (c *checker) checkLogs(base *memory.Store) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(mapKeys(c.threads)) {
		t := c.threads[id]
		var evs []ponder.Event
		for ev, err := range base.Events(context.Background(), id, 0) {
			if err != nil {
				c.w.report("read %s: %v", id, err)
				return
			}
			evs = append(evs, ev)
		}
		c.checkThread(base, t, evs)
		c.checkDigests(t, evs)
		c.checkAnswers(t, evs)
		c.checkReal(t, evs)
	}
	c.checkLedger(base)
}

// checkThread checks what holds for each thread.
func (c *checker) checkThread(base *memory.Store, t *threadCheck, evs []ponder.Event) {
	if len(evs) != int(t.head) {
		c.w.report("%s has %d events, %d were appended", t.id, len(evs), t.head)
	}
	for _, key := range t.acked {
		if !slices.ContainsFunc(evs, func(ev ponder.Event) bool { return ev.Key() == key }) {
			c.w.report("%s: %q was acknowledged, but it is lost", t.id, key)
		}
	}
	for _, a := range t.attempts {
		if !a.finished {
			c.w.report("%s: %s %s has no result", t.id, a.run, a.cause)
		}
	}
	info, err := base.Thread(context.Background(), t.id)
	for _, r := range t.runs {
		if !r.ended && info.Status != ponder.Paused {
			c.w.report("%s: %s has no end", t.id, r.id)
		}
	}
	folded := ponder.Info{Thread: ponder.Thread{Kind: info.Kind}}
	for _, ev := range evs {
		folded = folded.Apply(ev)
		text, isText := contentOf(ev)
		if !ev.Internal && isText && hasSecret(text) {
			c.w.report("%s: event %d shows internal content", t.id, ev.Seq)
		}
		if b, ok := ev.Body.(ponder.ToolCall); ok && b.Name == "look" && !ev.Internal {
			c.w.report("%s: the tool call at %d is not internal", t.id, ev.Seq)
		}
		if b, ok := ev.Body.(ponder.ToolResult); ok && b.Name == "look" && !ev.Internal {
			c.w.report("%s: the tool result at %d is not internal", t.id, ev.Seq)
		}
	}
	if err != nil || info.Status != folded.Status || info.Open != folded.Open || int(info.Head) != len(evs) {
		c.w.report("%s: the store says %s with %d open runs, its log says %s with %d", t.id, info.Status, info.Open, folded.Status, folded.Open)
	}
}

// contentOf returns the text of an event that users may see.
func contentOf(ev ponder.Event) (string, bool) {
	switch b := ev.Body.(type) {
	case ponder.SystemNote:
		return b.Content, true
	case ponder.AssistantMessage:
		return b.Content, true
	case ponder.RunFinished:
		return b.Answer, true
	}
	return "", false
}

// checkDigests replays each work run and each session and research from its first event. They
// write a digest of all that they had observed, so a fold that lost, doubled or reordered an
// event has another one.
func (c *checker) checkDigests(t *threadCheck, evs []ponder.Event) {
	states := make(map[ponder.RunID]ponder.State)
	for _, ev := range evs {
		switch b := ev.Body.(type) {
		case ponder.RunStarted:
			r := ponder.Run{ID: ev.Run, Mode: b.Mode, Version: b.Version, Input: b.Input, Options: b.Options, Budget: b.Budget, Started: ev.Time}
			if b.Mode == workMode {
				states[ev.Run] = startWork(r)
			} else if s, ok := startWatched(r); ok {
				states[ev.Run] = s
			}
			continue
		case ponder.Thought:
			if s, ok := states[ev.Run].(work); ok && b.Content != fmt.Sprintf("%x", s.Digest) {
				c.w.report("%s: the fold of %s before event %d differs from its replay", t.id, ev.Run, ev.Seq)
			}
		case ponder.Progress:
			if s, ok := states[ev.Run].(watchedState); ok && b.Stage == digestStage && b.Content != s.describe() {
				c.w.report("%s: the fold of %s before event %d is %s, its replay is %s", t.id, ev.Run, ev.Seq, b.Content, s.describe())
			}
		case ponder.RunFinished:
			if s, ok := states[ev.Run].(work); ok && b.Status == ponder.Completed && !strings.HasPrefix(b.Answer, fmt.Sprintf("done %x:", s.Digest)) {
				c.w.report("%s: the answer of %s does not follow from its replay", t.id, ev.Run)
			}
		}
		for run, s := range states {
			if observes(run, ev) {
				states[run] = s.Apply(ev)
			}
		}
		if _, ends := ev.Body.(ponder.RunFinished); ends {
			delete(states, ev.Run)
		}
	}
}

// observes reports whether a run observes an event after its start, by the contract of
// [ponder.State].
func observes(run ponder.RunID, ev ponder.Event) bool {
	switch b := ev.Body.(type) {
	case ponder.RunStarted, ponder.CallStarted, ponder.ToolCall:
		return false
	case ponder.CallFinished:
		return ev.Run == run && !b.Dropped && b.RetryAt.IsZero()
	case ponder.ToolResult:
		return ev.Run == run && !b.Dropped
	case ponder.BudgetSpent:
		return ev.Run == run
	case ponder.RunFinished:
		return ev.Run.Parent() == run
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return run.IsWithin(ev.Run)
	}
	return true
}

// checkAnswers checks that each message has one answer.
func (c *checker) checkAnswers(t *threadCheck, evs []ponder.Event) {
	answers, order := make(map[string]int), []string(nil)
	for _, ev := range evs {
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			if strings.HasPrefix(b.Content, "chat ") {
				order = append(order, ev.ID)
			} else {
				order = append(order, b.Content)
			}
		case ponder.AssistantMessage:
			about, _, _ := strings.Cut(b.Content, ":")
			answers[about]++
		case ponder.Progress:
			if b.Stage == chat.TurnEnded {
				answers[b.Ref]++
			}
		}
	}
	for i, message := range order {
		if answers[message] != 1 {
			c.w.report("%s: message %d has %d answers", t.id, i, answers[message])
		}
	}
}

// checkLedger checks that the ledger counts each call once.
func (c *checker) checkLedger(base *memory.Store) {
	rows, err := base.Usage(context.Background(), ponder.ByThread, c.w.began.AddDate(-1, 0, 0))
	if err != nil {
		c.w.report("read the ledger: %v", err)
	}
	counted := make(map[string]int)
	for _, row := range rows {
		counted[row.Key] = row.Calls
	}
	for id, t := range c.threads {
		if counted[string(id)] != t.finished {
			c.w.report("%s: the ledger counts %d calls, the log has %d", id, counted[string(id)], t.finished)
		}
	}
}
