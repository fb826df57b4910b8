package simulation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/llm"
)

// A checker checks each write at the moment of the write, and each request that the provider
// receives. It knows the rules from the contract of [ponder.Store] and from docs/design, and
// shares no code with the engine or the store.
type checker struct {
	w *world

	mu       sync.Mutex
	threads  map[ponder.ThreadID]*threadCheck
	beats    map[ponder.NodeID]time.Time
	dead     map[ponder.NodeID]bool
	inputs   map[string]bool // that clients sent, by thread and key
	sent     int
	repeated int
}

// A threadCheck is what the checker knows about a thread.
type threadCheck struct {
	id         ponder.ThreadID
	head       ponder.Seq
	fence      ponder.Fence
	holder     ponder.NodeID // empty: released or abandoned
	abandoned  bool          // the holder stopped before it released the lease
	holderNode *node
	keys       map[string]ponder.Seq
	attempts   map[string]*attemptCheck // by run and cause
	actions    map[string]*actionCheck  // by run and key
	runs       map[ponder.RunID]*runCheck
	acked      []string // the keys of acknowledged inputs
	copied     ponder.Seq
	finished   int // calls that the ledger must have
	once       map[string]int
	read       map[*node]ponder.Seq // the newest event that a node has read or written
}

type attemptCheck struct {
	run      ponder.RunID
	cause    string
	request  uint64
	reserved ponder.Cost
	finished bool
	sent     map[ponder.Fence]int
	copied   bool
}

type actionCheck struct {
	attempts int
	done     bool
	retryAt  time.Time
}

type runCheck struct {
	id          ponder.RunID
	mode        string
	budget      ponder.Budget
	spent, held ponder.Cost
	notified    bool
	ended       bool
	cancelled   bool // by a user, before its end
	parent      *runCheck
}

func newChecker(w *world) *checker {
	return &checker{w: w, threads: make(map[ponder.ThreadID]*threadCheck), beats: make(map[ponder.NodeID]time.Time), dead: make(map[ponder.NodeID]bool), inputs: make(map[string]bool)}
}

func (c *checker) noteBeat(id ponder.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.beats[id]; ok && !c.isAlive(id) {
		c.w.report("node %s is alive again after its death: last beat %v ago", c.nameOf(id), time.Since(last))
	}
	c.beats[id] = time.Now()
}

// nameOf returns a name of a node that does not depend on random ids.
func (c *checker) nameOf(id ponder.NodeID) string {
	if len(id) > 12 {
		return "rejoined"
	}
	return string(id)
}

func (c *checker) noteDead(id ponder.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead[id] = true
}

// isAlive reports whether a node may hold threads. The caller holds c.mu.
func (c *checker) isAlive(id ponder.NodeID) bool {
	beat, ok := c.beats[id]
	return ok && !c.dead[id] && time.Since(beat) < ponder.DeadAfter
}

func (c *checker) noteCreate(id ponder.ThreadID, events []ponder.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &threadCheck{
		id: id, keys: make(map[string]ponder.Seq), attempts: make(map[string]*attemptCheck), actions: make(map[string]*actionCheck),
		runs: make(map[ponder.RunID]*runCheck), once: make(map[string]int), read: make(map[*node]ponder.Seq), copied: ponder.Seq(len(events)),
	}
	c.threads[id] = t
	for _, ev := range events {
		t.head++
		ev.Seq = t.head
		c.noteEvent(t, ev)
	}
}

func (c *checker) noteTake(n *node, id ponder.ThreadID, by ponder.NodeID, fence ponder.Fence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[id]
	switch {
	case fence <= t.fence:
		c.w.report("%s: fence %d after fence %d", id, fence, t.fence)
	case t.holder != "" && c.isAlive(t.holder):
		c.w.report("%s: taken although its holder is alive", id)
	case !c.isAlive(by):
		c.w.report("%s: taken by a dead node", id)
	}
	t.fence, t.holder, t.holderNode, t.abandoned = fence, by, n, false
}

// noteRead notes that a node has read a thread up to an event.
func (c *checker) noteRead(n *node, id ponder.ThreadID, seq ponder.Seq) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.threads[id]; t != nil {
		t.read[n] = max(t.read[n], seq)
	}
}

func (c *checker) noteRelease(n *node, id ponder.ThreadID, fence ponder.Fence, head ponder.Seq) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[id]
	if fence != t.fence || head != t.head {
		c.w.report("%s: released with fence %d at %d, but it has fence %d and head %d", id, fence, head, t.fence, t.head)
	}
	if read := t.read[n]; read < t.head {
		c.w.report("%s: released at %d by a node that has read it up to %d", id, head, read)
	}
	t.holder, t.holderNode = "", nil
}

func (c *checker) noteAbandon(id ponder.ThreadID, fence ponder.Fence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[id]
	if fence != t.fence {
		c.w.report("%s: abandoned with fence %d, but it has fence %d", id, fence, t.fence)
	}
	t.holder, t.holderNode, t.abandoned = "", nil, true
}

// noteInput notes that a client sends an input.
func (c *checker) noteInput(id ponder.ThreadID, ev ponder.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inputs[string(id)+ev.Key()] = true
}

func (c *checker) noteAck(id ponder.ThreadID, ev ponder.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[id]
	if t.acked = append(t.acked, ev.Key()); t.keys[ev.Key()] == 0 {
		c.w.report("%s: %q was acknowledged, but it is not in the log", id, ev.Key())
	}
}

// noteAppend checks the events that a node appended.
func (c *checker) noteAppend(n *node, id ponder.ThreadID, fence ponder.Fence, events, added []ponder.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[id]
	if fence != 0 && (fence != t.fence || t.holder == "" || !c.isAlive(t.holder) || t.holderNode != n) {
		c.w.report("%s: %s appended %s with fence %d, but the lease in force is %d", id, n.name, describe(events), fence, t.fence)
	}
	head := t.head
	for i, ev := range added {
		t.head++
		if ev.Seq != t.head {
			c.w.report("%s: event %d follows %d", id, ev.Seq, t.head-1)
		}
		if fence != 0 && head > 0 && events[i].After != head {
			c.w.report("%s: a decision at %d was made after %d", id, ev.Seq, events[i].After)
		}
		c.noteEvent(t, ev)
	}
	if fence != 0 {
		t.read[n] = t.head
	}
}

// noteEvent folds an event. The caller holds c.mu.
func (c *checker) noteEvent(t *threadCheck, ev ponder.Event) {
	if key := ev.Key(); key != "" {
		if old := t.keys[key]; old != 0 {
			c.w.report("%s: %q is there twice, at %d and %d", t.id, key, old, ev.Seq)
		}
		t.keys[key] = ev.Seq
	}
	if ev.IsExternalInput() && ev.Seq > t.copied && !c.inputs[string(t.id)+ev.Key()] {
		c.w.report("%s: no client sent the input at %d", t.id, ev.Seq)
	}
	r := t.runs[ev.Run]
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		t.runs[ev.Run] = &runCheck{id: ev.Run, mode: b.Mode, budget: b.Budget, parent: t.runs[ev.Run.Parent()]}
	case ponder.RunPaused:
		t.clearWaits(ev.Run)
	case ponder.Steer:
		if b.Do == ponder.AnswerNow || b.Do == ponder.Cancel {
			t.clearWaits(ev.Run)
		}
		if r != nil && !r.ended {
			r.cancelled = r.cancelled || b.Do == ponder.Cancel
		}
		if limits, err := ponder.ParseLimits(b.Args); b.Do == ponder.SetBudget && err == nil && r != nil && !r.notified {
			r.budget = limits.Apply(r.budget)
		}
	case ponder.CallStarted:
		c.noteStart(t, ev, b.Reserved, b.Request)
	case ponder.ToolCall:
		c.noteStart(t, ev, ponder.Cost{}, nil)
	case ponder.CallFinished:
		if b.Made() && ev.Seq > t.copied {
			t.finished++
		}
		c.noteResult(t, ev, b.Outcome, b.Spent)
	case ponder.ToolResult:
		c.noteResult(t, ev, b.Outcome, ponder.Cost{})
	case ponder.BudgetSpent:
		if r.notified = true; b.What == "calls" && !callsSpent(r) {
			c.w.report("%s: %s was told at %d that its calls are spent, but they are not: %s", t.id, ev.Run, ev.Seq, describeBudgets(r))
		}
	case ponder.RunFinished:
		if r.ended {
			c.w.report("%s: %s ended twice", t.id, ev.Run)
		}
		if r.cancelled && b.Status == ponder.Completed {
			c.w.report("%s: %s was cancelled, but it completed at %d", t.id, ev.Run, ev.Seq)
		}
		if r.ended = true; b.Spent != r.spent {
			c.w.report("%s: %s spent %+v, but its end at %d says %+v", t.id, ev.Run, r.spent, ev.Seq, b.Spent)
		}
	}
}

// clearWaits forgets the times of retries: a user who interrupts a run wants no wait.
func (t *threadCheck) clearWaits(top ponder.RunID) {
	for name, a := range t.actions {
		if run, _, _ := strings.Cut(name, " "); ponder.RunID(run).IsWithin(top) {
			a.retryAt = time.Time{}
		}
	}
}

// noteStart folds the intent of a call or a tool.
func (c *checker) noteStart(t *threadCheck, ev ponder.Event, reserved ponder.Cost, req *llm.Request) {
	id, key := string(ev.Run)+" "+ev.Cause, string(ev.Run)+" "+ev.ActionKey()
	a := t.actions[key]
	if a == nil {
		a = &actionCheck{}
		t.actions[key] = a
	}
	a.attempts++
	if !strings.HasSuffix(ev.Cause, fmt.Sprintf("#%d", a.attempts)) {
		c.w.report("%s: %s is attempt %d", t.id, id, a.attempts)
	}
	if a.done {
		c.w.report("%s: %s starts at %d, but the action has a result", t.id, id, ev.Seq)
	}
	if early := time.Until(a.retryAt); early > time.Millisecond && !c.w.skewed {
		c.w.report("%s: %s starts %v before its time", t.id, id, early)
	}
	if _, isCall := ev.Body.(ponder.CallStarted); isCall && !ev.Internal {
		c.w.report("%s: the call at %d is not internal", t.id, ev.Seq)
	}
	t.attempts[id] = &attemptCheck{run: ev.Run, cause: ev.Cause, request: hashRequest(req), reserved: reserved, sent: make(map[ponder.Fence]int), copied: ev.Seq <= t.copied}
	for up := t.runs[ev.Run]; up != nil; up = up.parent {
		up.held = up.held.Add(reserved)
		if over := overBudget(up); over != "" && reserved != (ponder.Cost{}) && ev.Seq > t.copied {
			c.w.report("%s: %s at %d exceeds the %s of %s: spent %+v and held %+v of %+v", t.id, id, ev.Seq, over, up.id, up.spent, up.held, up.budget.Cost)
		}
	}
}

// noteResult folds the result of an attempt.
func (c *checker) noteResult(t *threadCheck, ev ponder.Event, o ponder.Outcome, spent ponder.Cost) {
	id := string(ev.Run) + " " + ev.Cause
	a, act := t.attempts[id], t.actions[string(ev.Run)+" "+ev.ActionKey()]
	if a == nil || a.finished {
		c.w.report("%s: the result of %s at %d has no attempt", t.id, id, ev.Seq)
		return
	}
	a.finished = true
	if spent.Tokens > 2*a.reserved.Tokens || spent.Money > 2*a.reserved.Money {
		c.w.report("%s: %s is charged %+v, but it reserved %+v", t.id, id, spent, a.reserved)
	}
	for up := t.runs[ev.Run]; up != nil; up = up.parent {
		up.held, up.spent = up.held.Sub(a.reserved), up.spent.Add(spent)
	}
	switch {
	case o.Dropped:
	case !o.RetryAt.IsZero():
		act.retryAt = o.RetryAt
	case act.done:
		c.w.report("%s: %s has a second result at %d", t.id, id, ev.Seq)
	default:
		act.done = true
	}
}

func describeBudgets(r *runCheck) (text string) {
	for up := r; up != nil; up = up.parent {
		text += fmt.Sprintf("%s spent %d and holds %d of %d calls, told %v; ", up.id, up.spent.Calls, up.held.Calls, up.budget.Calls, up.notified)
	}
	return text
}

// overBudget names the limit that the spent and held costs of a run exceed, or returns "".
func overBudget(r *runCheck) string {
	limit, kept := r.budget.Cost, reserveOf(r)
	used := r.spent.Add(r.held)
	switch {
	case limit.Calls > 0 && used.Calls > limit.Calls-kept.Calls:
		return "calls"
	case limit.Tokens > 0 && used.Tokens > limit.Tokens-kept.Tokens:
		return "tokens"
	case limit.Money > 0 && used.Money > limit.Money-kept.Money:
		return "money"
	}
	return ""
}

// callsSpent reports whether one more call exceeds a budget of the run or above it.
func callsSpent(r *runCheck) bool {
	for up := r; up != nil; up = up.parent {
		kept := reserveBefore(up) // the same decision may have told it
		if limit := up.budget.Calls; limit > 0 && up.spent.Calls+up.held.Calls+1 > limit-kept.Calls {
			return true
		}
	}
	return false
}

// reserveOf returns the part of the budget that calls may not use before the conclusion.
func reserveOf(r *runCheck) ponder.Cost {
	if r.notified {
		return ponder.Cost{}
	}
	return reserveBefore(r)
}

func reserveBefore(r *runCheck) ponder.Cost {
	if r.budget.Reserve != (ponder.Cost{}) {
		return r.budget.Reserve
	}
	return ponder.Cost{Calls: 1, Tokens: r.budget.Tokens / 5, Money: r.budget.Money / 5}
}

func hashRequest(req *llm.Request) uint64 {
	if req == nil {
		return 0
	}
	js, err := json.Marshal(req)
	if err != nil {
		panic(err)
	}
	h := fnv.New64a()
	h.Write(js)
	return h.Sum64()
}

// A sentCall is a request that the provider received.
type sentCall struct {
	thread ponder.ThreadID
	run    ponder.RunID
	cause  string
	times  int // including this one
	mode   string
}

// noteSend checks that a node may send a request now. The log must have its intent without a
// result, the node must hold the thread, and it must not have sent the request under this
// lease. A later holder repeats the request once, word for word: see docs/design/ledger.md.
// A node that was stopped may send what it decided before.
func (c *checker) noteSend(n *node, req *llm.Request) sentCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	hash, stalled := hashRequest(req), n.wasStalled()
	var twice, late *sentCall
	for _, id := range slices.Sorted(mapKeys(c.threads)) {
		t := c.threads[id]
		for _, name := range slices.Sorted(mapKeys(t.attempts)) {
			a := t.attempts[name]
			if a.request != hash {
				continue
			}
			times := 1
			for _, k := range a.sent {
				times += k
			}
			call := sentCall{id, a.run, a.cause, times, t.runs[a.run].mode}
			switch {
			case a.finished || t.holderNode != n || t.holder == "":
				late = &call
			case a.sent[t.fence] > 0:
				twice = &call
			default:
				a.sent[t.fence]++
				if times > 1 {
					c.repeated++
				}
				return call
			}
		}
	}
	switch {
	case twice != nil:
		c.w.report("%s: %s sends %s %s twice under one lease", twice.thread, n.name, twice.run, twice.cause)
		return *twice
	case late != nil && !stalled:
		c.w.report("%s: %s sends %s %s without the lease or after its result", late.thread, n.name, late.run, late.cause)
		return *late
	case late != nil:
		c.repeated++
		return *late
	}
	c.w.report("%s sends a request that the log does not have", n.name)
	return sentCall{}
}

// noteOnce notes the use of a tool that must not be used twice.
func (c *checker) noteOnce(id ponder.ThreadID, run ponder.RunID, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[id]
	name := string(run) + " " + key
	if t.once[name]++; t.once[name] > 1 {
		c.w.report("%s: the tool of %s was used twice", id, name)
	}
	if a := t.attempts[name+"#1"]; a == nil || a.copied {
		c.w.report("%s: the tool of %s was used without an intent of this thread", id, name)
	}
}
