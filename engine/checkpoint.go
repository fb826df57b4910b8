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

// A checkpoint is the stored form of a threadState. It is disposable: if it cannot be
// restored, the holder reads the thread from its start. The field tags are stored names.
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
	Speeds     map[string]llm.Speed   `json:"speeds,omitempty"`
	ResumedAt  time.Duration          `json:"resumed_at,omitempty"`
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

	RetryIn time.Duration `json:"retry_in,omitempty"`
}

type savedIntent struct {
	Run   ponder.RunID        `json:"run"`
	Cause string              `json:"cause"`
	Seq   ponder.Seq          `json:"seq"`
	Late  bool                `json:"late,omitempty"`
	Began time.Duration       `json:"began,omitempty"`
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

// foldVersion names the version of checkpoints that this engine can restore.
func (e *Engine) foldVersion() string {
	v := []string{fmt.Sprint(stateVersion)}
	for _, name := range slices.Sorted(maps.Keys(e.modes)) {
		for _, mode := range e.modes[name] {
			v = append(v, fmt.Sprintf("%s@%d.%d", name, mode.Version, mode.Layout))
		}
	}
	return strings.Join(v, " ")
}

// openThread loads the newest checkpoint and reads the events after it.
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
		if err := h.state.restoreCheckpoint(seq, js); err != nil {
			h.Logger.Warn("cannot use checkpoint; reading all events", "thread", h.thread, "error", err)
			h.state = newThreadState(h.modes, h.Models)
		} else {
			h.saved = seq
		}
	}
	return h.readNew()
}

// saveCheckpoint saves the state if the thread has grown by checkpointEvery events. The
// last call of a holder saves it earlier, also if the holder read many old events for new
// runs. The log must contain all folded events.
func (h *holder) saveCheckpoint(last bool) {
	grown := h.committed - h.saved
	if last {
		grown += h.historyRead
	}
	if grown < checkpointEvery && (!last || grown < checkpointEvery/4) {
		return
	}
	h.historyRead = 0
	js, ok := h.state.encodeCheckpoint()
	if !ok {
		h.saved = h.committed
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, 5*time.Second)
	defer cancel()
	if err := h.Store.SaveCheckpoint(ctx, h.thread, stateFold, h.foldVersion(), h.committed, js); err != nil && h.ctx.Err() == nil {
		h.Logger.Warn("cannot save checkpoint", "thread", h.thread, "error", err)
	}
	h.saved = h.committed
}

// encodeCheckpoint returns the checkpoint of the state, or false if a mode does not support it.
func (t *threadState) encodeCheckpoint() ([]byte, bool) {
	c := checkpoint{Elapsed: t.elapsed, Woken: t.wokenAt, Seen: t.finishedAt, Told: t.lastInputID, Guess: t.estimator}
	for _, r := range t.openRuns {
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
			Told: r.budgetNotified, Hurried: r.answerNow, Since: r.callsSinceNotified, Slowest: r.slowest, Speeds: r.speeds, ResumedAt: r.resumedAt, Spent: r.spent, Held: r.held,
		}
		for key, a := range r.actions {
			s.Acts[key] = savedAction{a.kind, a.attempts, a.failures, a.model, a.retryAt, a.written, a.retryIn}
		}
		c.Runs = append(c.Runs, s)
	}
	for _, name := range slices.Sorted(maps.Keys(t.carryOver)) {
		r := t.carryOver[name]
		state, err := r.encodeState()
		if err != nil || r.mode.Load == nil || r.failure != "" {
			return nil, false
		}
		c.Rested = append(c.Rested, savedCarryOver{r.Run, r.startSeq, state})
	}
	for _, id := range slices.Sorted(maps.Keys(t.intents)) {
		in := t.intents[id]
		if in.run.ended {
			return nil, false // its result follows soon
		}
		s := savedIntent{Run: in.run.ID, Cause: in.cause, Seq: in.seq, Late: in.superseded, Began: in.startedAt, Inner: in.internal, Call: in.call}
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

func (t *threadState) restoreCheckpoint(seq ponder.Seq, js []byte) error {
	c := checkpoint{Guess: t.estimator}
	if err := json.Unmarshal(js, &c); err != nil {
		return err
	}
	t.head, t.elapsed, t.lastInputID = seq, c.Elapsed, c.Told
	maps.Copy(t.wokenAt, c.Woken)
	maps.Copy(t.finishedAt, c.Seen)
	for _, s := range c.Runs {
		if err := t.restoreRun(s); err != nil {
			return fmt.Errorf("run %s: %w", s.Run.ID, err)
		}
	}
	for _, s := range c.Rested {
		if err := t.restoreCarryOver(s); err != nil {
			return fmt.Errorf("run %s: %w", s.Run.ID, err)
		}
	}
	for _, s := range c.Open {
		if err := t.restoreIntent(s); err != nil {
			return fmt.Errorf("intent %s %s: %w", s.Run, s.Cause, err)
		}
	}
	return nil
}

func (t *threadState) restoreRun(s savedRun) error {
	r := &run{
		Run: s.Run, mode: t.findMode(s.Run.Mode, s.Run.Version), parent: t.runs[s.Run.ID.Parent()], startSeq: s.Seq, startedAt: s.Began,
		actions: make(map[string]*actionState), finished: s.Done, paused: s.Paused, stopped: s.Stopped, stoppedAt: s.StoppedAt, stoppedFor: s.StoppedFor,
		cancelled: s.Cancelled, cancelledAt: s.Cut, budgetNotified: s.Told, answerNow: s.Hurried, callsSinceNotified: s.Since, slowest: s.Slowest, speeds: s.Speeds, resumedAt: s.ResumedAt, spent: s.Spent, held: s.Held, dirty: true,
	}
	if r.mode == nil || r.mode.Load == nil {
		return fmt.Errorf("mode %s is not registered", s.Run.Mode)
	}
	if r.finished == nil {
		r.finished = make(finishedKeys)
	}
	if r.parent != nil {
		r.depth = r.parent.depth + 1
	}
	for key, a := range s.Acts {
		r.actions[key] = &actionState{kind: a.Kind, attempts: a.Attempts, failures: a.Fails, model: a.Model, retryAt: a.RetryAt, retryIn: a.RetryIn, written: a.Written}
	}
	if err := r.decodeState(s.State); err != nil {
		return err
	}
	t.runs[r.ID], t.openRuns = r, append(t.openRuns, r)
	return nil
}

func (t *threadState) restoreCarryOver(s savedCarryOver) error {
	r := &run{Run: s.Run, mode: t.findMode(s.Run.Mode, s.Run.Version), startSeq: s.Seq, ended: true, actions: make(map[string]*actionState), finished: make(finishedKeys)}
	if r.mode == nil || r.mode.Load == nil || r.mode.Carry == nil {
		return fmt.Errorf("mode %s is not registered", s.Run.Mode)
	}
	if err := r.decodeState(s.State); err != nil {
		return err
	}
	t.carryOver[s.Run.Mode] = r
	return nil
}

func (t *threadState) restoreIntent(s savedIntent) error {
	r := t.runs[s.Run]
	c, ok := parseCause(s.Cause)
	if r == nil || !ok || r.actions[c.key] == nil {
		return fmt.Errorf("no matching action")
	}
	in := &intent{run: r, key: c.key, cause: s.Cause, seq: s.Seq, superseded: s.Late, startedAt: s.Began, internal: s.Inner}
	if s.Call != nil {
		in.call, in.held = s.Call, s.Call.Reserved
		in.call.Model = s.Model
	} else {
		in.tool = &ponder.ToolCall{Name: s.Tool, Args: s.Args}
	}
	if !in.superseded {
		r.actions[c.key].inFlight = in
	}
	t.intents[in.id()] = in
	return nil
}
