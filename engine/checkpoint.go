package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
)

// A checkpoint is a line as it is kept. It is disposable: if anything about it
// is odd, the thread is read from its beginning.
type checkpoint struct {
	Elapsed time.Duration         `json:"elapsed"`
	Runs    []savedRun            `json:"runs"`
	Rested  []savedCarryOver      `json:"rested,omitempty"`
	Open    []savedIntent         `json:"open,omitempty"`
	Woken   map[string]ponder.Seq `json:"woken,omitempty"`
	Seen    map[string]ponder.Seq `json:"seen,omitempty"`
	Told    string                `json:"told,omitempty"`
	Guess   *llm.Estimator        `json:"guess"`
}

type savedRun struct {
	Run        ponder.Run             `json:"run"`
	State      json.RawMessage        `json:"state"`
	Seq        ponder.Seq             `json:"seq"`
	Began      time.Duration          `json:"began"`
	Acts       map[string]savedAction `json:"acts,omitempty"`
	Done       finishedKeys           `json:"done,omitempty"`
	Paused     bool                   `json:"paused,omitempty"`
	Stopped    bool                   `json:"stopped,omitempty"`
	StoppedAt  time.Duration          `json:"stopped_at,omitempty"`
	StoppedFor time.Duration          `json:"stopped_for,omitempty"`
	Cancelled  bool                   `json:"cancelled,omitempty"`
	Cut        ponder.Seq             `json:"cut,omitempty"`
	Told       bool                   `json:"told,omitempty"`
	Hurried    bool                   `json:"hurried,omitempty"`
	Since      int                    `json:"since,omitempty"`
	Slowest    time.Duration          `json:"slowest,omitempty"`
	Spent      ponder.Cost            `json:"spent,omitzero"`
	Held       ponder.Cost            `json:"held,omitzero"`
}

type savedCarryOver struct {
	Run   ponder.Run      `json:"run"`
	Seq   ponder.Seq      `json:"seq"`
	State json.RawMessage `json:"state"`
}

type savedAction struct {
	Kind     actionKind `json:"kind"`
	Attempts int        `json:"attempts,omitempty"`
	Fails    int        `json:"fails,omitempty"`
	Model    string     `json:"model,omitempty"`
	RetryAt  time.Time  `json:"retry_at,omitzero"`
	Written  int        `json:"written,omitempty"`
}

type savedIntent struct {
	Run   ponder.RunID        `json:"run"`
	Cause string              `json:"cause"`
	Seq   ponder.Seq          `json:"seq"`
	Late  bool                `json:"late,omitempty"`
	Inner bool                `json:"internal,omitempty"`
	Call  *ponder.CallStarted `json:"call,omitempty"`
	Model string              `json:"model,omitempty"`
	Tool  string              `json:"tool,omitempty"`
	Args  json.RawMessage     `json:"args,omitempty"`
}

const (
	stateFold       = "line"
	stateVersion    = 4
	checkpointEvery = 400 // events
)

// foldVersion names the form of the checkpoints that this mind can use.
func (m *Engine) foldVersion() string {
	v := []string{fmt.Sprint(stateVersion)}
	for _, name := range slices.Sorted(maps.Keys(m.modes)) {
		for _, mode := range m.modes[name] {
			v = append(v, fmt.Sprintf("%s@%d.%d", name, mode.Version, mode.Layout))
		}
	}
	return strings.Join(v, " ")
}

// open reads the thread.
func (h *holder) openThread() error {
	if !h.hasLease {
		if err := h.acquireLease(); err != nil {
			return err
		}
	}
	h.state, h.batch = newThreadState(h.modes, h.Models), nil
	seq, js, err := h.Store.LoadCheckpoint(h.ctx, h.thread, stateFold, h.foldVersion())
	if err != nil {
		return fmt.Errorf("load checkpoint of %s: %w", h.thread, err)
	}
	if js != nil {
		if err := h.state.restore(seq, js); err != nil {
			h.Logger.Warn("checkpoint is of no use", "thread", h.thread, "error", err)
			h.state = newThreadState(h.modes, h.Models)
		} else {
			h.saved = seq
		}
	}
	return h.readNew()
}

// checkpoint keeps the line once enough has happened, or, at last, if much was
// read again for a run that began. It is called only when
// all that was folded is in the log.
func (h *holder) saveCheckpoint(last bool) {
	grown := h.committed - h.saved
	if last {
		grown += h.historyRead
	}
	if grown < checkpointEvery && (!last || grown < checkpointEvery/4) {
		return
	}
	h.historyRead = 0
	js, ok := h.state.encode()
	if !ok {
		h.saved = h.committed
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, 5*time.Second)
	defer cancel()
	if err := h.Store.SaveCheckpoint(ctx, h.thread, stateFold, h.foldVersion(), h.committed, js); err != nil && h.ctx.Err() == nil {
		h.Logger.Warn("checkpoint not kept", "thread", h.thread, "error", err)
	}
	h.saved = h.committed
}

// save returns the line as it is kept, or false if a mode does not allow that.
func (l *threadState) encode() ([]byte, bool) {
	c := checkpoint{Elapsed: l.elapsed, Woken: l.wokenAt, Seen: l.finishedAt, Told: l.lastInputID, Guess: l.estimator}
	for _, r := range l.openRuns {
		if r.mode == nil || r.mode.Load == nil || r.failure != "" {
			return nil, false
		}
		state, err := r.encodeState()
		if err != nil {
			return nil, false
		}
		s := savedRun{
			Run: r.Run, State: state, Seq: r.startSeq, Began: r.startedAt, Done: r.finished, Acts: make(map[string]savedAction),
			Paused: r.paused, Stopped: r.stopped, StoppedAt: r.stoppedAt, StoppedFor: r.stoppedFor, Cancelled: r.cancelled, Cut: r.cancelledAt,
			Told: r.budgetNotified, Hurried: r.answerNow, Since: r.callsSinceNotified, Slowest: r.slowest, Spent: r.spent, Held: r.held,
		}
		for key, a := range r.actions {
			s.Acts[key] = savedAction{a.kind, a.attempts, a.failures, a.model, a.retryAt, a.written}
		}
		c.Runs = append(c.Runs, s)
	}
	for _, name := range slices.Sorted(maps.Keys(l.carryOver)) {
		r := l.carryOver[name]
		state, err := r.encodeState()
		if err != nil || r.mode.Load == nil || r.failure != "" {
			return nil, false
		}
		c.Rested = append(c.Rested, savedCarryOver{r.Run, r.startSeq, state})
	}
	for _, id := range slices.Sorted(maps.Keys(l.intents)) {
		in := l.intents[id]
		if in.run.ended {
			return nil, false // soon it will not be open any more
		}
		s := savedIntent{Run: in.run.ID, Cause: in.cause, Seq: in.seq, Late: in.superseded, Inner: in.internal, Call: in.call}
		if in.tool != nil {
			s.Tool, s.Args = in.tool.Name, in.tool.Args
		} else {
			s.Model = in.call.Model
		}
		c.Open = append(c.Open, s)
	}
	js, err := json.Marshal(c)
	return js, err == nil
}

// restore undoes save on a new line.
func (l *threadState) restore(seq ponder.Seq, js []byte) error {
	c := checkpoint{Guess: l.estimator}
	if err := json.Unmarshal(js, &c); err != nil {
		return err
	}
	l.head, l.elapsed, l.lastInputID = seq, c.Elapsed, c.Told
	maps.Copy(l.wokenAt, c.Woken)
	maps.Copy(l.finishedAt, c.Seen)
	for _, s := range c.Runs {
		if err := l.restoreRun(s); err != nil {
			return fmt.Errorf("run %s: %w", s.Run.ID, err)
		}
	}
	for _, s := range c.Rested {
		if err := l.restoreRest(s); err != nil {
			return fmt.Errorf("run %s: %w", s.Run.ID, err)
		}
	}
	for _, s := range c.Open {
		if err := l.restoreIntent(s); err != nil {
			return fmt.Errorf("intent %s %s: %w", s.Run, s.Cause, err)
		}
	}
	return nil
}

func (l *threadState) restoreRun(s savedRun) error {
	r := &run{
		Run: s.Run, mode: l.findMode(s.Run.Mode, s.Run.Version), parent: l.runs[s.Run.ID.Parent()], startSeq: s.Seq, startedAt: s.Began,
		actions: make(map[string]*actionState), finished: s.Done, paused: s.Paused, stopped: s.Stopped, stoppedAt: s.StoppedAt, stoppedFor: s.StoppedFor,
		cancelled: s.Cancelled, cancelledAt: s.Cut, budgetNotified: s.Told, answerNow: s.Hurried, callsSinceNotified: s.Since, slowest: s.Slowest, spent: s.Spent, held: s.Held, dirty: true,
	}
	if r.mode == nil || r.mode.Load == nil {
		return fmt.Errorf("no mode %s to load it", s.Run.Mode)
	}
	if r.finished == nil {
		r.finished = make(finishedKeys)
	}
	if r.parent != nil {
		r.depth = r.parent.depth + 1
	}
	for key, a := range s.Acts {
		r.actions[key] = &actionState{kind: a.Kind, attempts: a.Attempts, failures: a.Fails, model: a.Model, retryAt: a.RetryAt, written: a.Written}
	}
	if err := r.decodeState(s.State); err != nil {
		return err
	}
	l.runs[r.ID], l.openRuns = r, append(l.openRuns, r)
	return nil
}

func (l *threadState) restoreRest(s savedCarryOver) error {
	r := &run{Run: s.Run, mode: l.findMode(s.Run.Mode, s.Run.Version), startSeq: s.Seq, ended: true, actions: make(map[string]*actionState), finished: make(finishedKeys)}
	if r.mode == nil || r.mode.Load == nil || r.mode.Carry == nil {
		return fmt.Errorf("no mode %s to load it", s.Run.Mode)
	}
	if err := r.decodeState(s.State); err != nil {
		return err
	}
	l.carryOver[s.Run.Mode] = r
	return nil
}

func (l *threadState) restoreIntent(s savedIntent) error {
	r := l.runs[s.Run]
	c, ok := parseCause(s.Cause)
	if r == nil || !ok || r.actions[c.key] == nil {
		return fmt.Errorf("it has no action")
	}
	in := &intent{run: r, key: c.key, cause: s.Cause, seq: s.Seq, superseded: s.Late, internal: s.Inner}
	if s.Call != nil {
		in.call, in.held = s.Call, s.Call.Held
		in.call.Model = s.Model
	} else {
		in.tool = &ponder.ToolCall{Name: s.Tool, Args: s.Args}
	}
	if !in.superseded {
		r.actions[c.key].inFlight = in
	}
	l.intents[in.id()] = in
	return nil
}
