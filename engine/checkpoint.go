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
	Rested  []savedRest           `json:"rested,omitempty"`
	Open    []savedIntent         `json:"open,omitempty"`
	Woken   map[string]ponder.Seq `json:"woken,omitempty"`
	Seen    map[string]ponder.Seq `json:"seen,omitempty"`
	Told    string                `json:"told,omitempty"`
	Guess   *llm.Estimator        `json:"guess"`
}

type savedRun struct {
	Run        ponder.Run          `json:"run"`
	State      json.RawMessage     `json:"state"`
	Seq        ponder.Seq          `json:"seq"`
	Began      time.Duration       `json:"began"`
	Acts       map[string]savedAct `json:"acts,omitempty"`
	Done       doneSet             `json:"done,omitempty"`
	Paused     bool                `json:"paused,omitempty"`
	Stopped    bool                `json:"stopped,omitempty"`
	StoppedAt  time.Duration       `json:"stopped_at,omitempty"`
	StoppedFor time.Duration       `json:"stopped_for,omitempty"`
	Cancelled  bool                `json:"cancelled,omitempty"`
	Cut        ponder.Seq          `json:"cut,omitempty"`
	Told       bool                `json:"told,omitempty"`
	Hurried    bool                `json:"hurried,omitempty"`
	Since      int                 `json:"since,omitempty"`
	Slowest    time.Duration       `json:"slowest,omitempty"`
	Spent      ponder.Cost         `json:"spent,omitzero"`
	Held       ponder.Cost         `json:"held,omitzero"`
}

type savedRest struct {
	Run   ponder.Run      `json:"run"`
	Seq   ponder.Seq      `json:"seq"`
	State json.RawMessage `json:"state"`
}

type savedAct struct {
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
	lineFold        = "line"
	lineVersion     = 4
	checkpointEvery = 400 // events
)

// foldVersion names the form of the checkpoints that this mind can use.
func (m *Engine) foldVersion() string {
	v := []string{fmt.Sprint(lineVersion)}
	for _, name := range slices.Sorted(maps.Keys(m.modes)) {
		for _, mode := range m.modes[name] {
			v = append(v, fmt.Sprintf("%s@%d.%d", name, mode.Version, mode.Layout))
		}
	}
	return strings.Join(v, " ")
}

// open reads the thread.
func (h *holder) open() error {
	if !h.taken {
		if err := h.take(); err != nil {
			return err
		}
	}
	h.line, h.batch = newLine(h.modes, h.Models), nil
	seq, js, err := h.Store.LoadCheckpoint(h.ctx, h.thread, lineFold, h.foldVersion())
	if err != nil {
		return fmt.Errorf("load checkpoint of %s: %w", h.thread, err)
	}
	if js != nil {
		if err := h.line.restore(seq, js); err != nil {
			h.Logger.Warn("checkpoint is of no use", "thread", h.thread, "error", err)
			h.line = newLine(h.modes, h.Models)
		} else {
			h.saved = seq
		}
	}
	return h.read()
}

// checkpoint keeps the line once enough has happened, or, at last, if much was
// read again for a run that began. It is called only when
// all that was folded is in the log.
func (h *holder) checkpoint(last bool) {
	grown := h.committed - h.saved
	if last {
		grown += h.shown
	}
	if grown < checkpointEvery && (!last || grown < checkpointEvery/4) {
		return
	}
	h.shown = 0
	js, ok := h.line.save()
	if !ok {
		h.saved = h.committed
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, 5*time.Second)
	defer cancel()
	if err := h.Store.SaveCheckpoint(ctx, h.thread, lineFold, h.foldVersion(), h.committed, js); err != nil && h.ctx.Err() == nil {
		h.Logger.Warn("checkpoint not kept", "thread", h.thread, "error", err)
	}
	h.saved = h.committed
}

// save returns the line as it is kept, or false if a mode does not allow that.
func (l *line) save() ([]byte, bool) {
	c := checkpoint{Elapsed: l.elapsed, Woken: l.woken, Seen: l.seen, Told: l.told, Guess: l.guess}
	for _, r := range l.order {
		if r.mode == nil || r.mode.Load == nil || r.fault != "" {
			return nil, false
		}
		state, err := r.kept()
		if err != nil {
			return nil, false
		}
		s := savedRun{
			Run: r.Run, State: state, Seq: r.seq, Began: r.began, Done: r.done, Acts: make(map[string]savedAct),
			Paused: r.paused, Stopped: r.stopped, StoppedAt: r.stoppedAt, StoppedFor: r.stoppedFor, Cancelled: r.cancelled, Cut: r.cut,
			Told: r.told, Hurried: r.hurried, Since: r.since, Slowest: r.slowest, Spent: r.spent, Held: r.held,
		}
		for key, a := range r.acts {
			s.Acts[key] = savedAct{a.kind, a.attempts, a.fails, a.model, a.retryAt, a.written}
		}
		c.Runs = append(c.Runs, s)
	}
	for _, name := range slices.Sorted(maps.Keys(l.rested)) {
		r := l.rested[name]
		state, err := r.kept()
		if err != nil || r.mode.Load == nil || r.fault != "" {
			return nil, false
		}
		c.Rested = append(c.Rested, savedRest{r.Run, r.seq, state})
	}
	for _, id := range slices.Sorted(maps.Keys(l.open)) {
		in := l.open[id]
		if in.run.ended {
			return nil, false // soon it will not be open any more
		}
		s := savedIntent{Run: in.run.ID, Cause: in.cause, Seq: in.seq, Late: in.late, Inner: in.inner, Call: in.call}
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
func (l *line) restore(seq ponder.Seq, js []byte) error {
	c := checkpoint{Guess: l.guess}
	if err := json.Unmarshal(js, &c); err != nil {
		return err
	}
	l.head, l.elapsed, l.told = seq, c.Elapsed, c.Told
	maps.Copy(l.woken, c.Woken)
	maps.Copy(l.seen, c.Seen)
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

func (l *line) restoreRun(s savedRun) error {
	r := &run{
		Run: s.Run, mode: l.mode(s.Run.Mode, s.Run.Version), up: l.runs[s.Run.ID.Parent()], seq: s.Seq, began: s.Began,
		acts: make(map[string]*act), done: s.Done, paused: s.Paused, stopped: s.Stopped, stoppedAt: s.StoppedAt, stoppedFor: s.StoppedFor,
		cancelled: s.Cancelled, cut: s.Cut, told: s.Told, hurried: s.Hurried, since: s.Since, slowest: s.Slowest, spent: s.Spent, held: s.Held, dirty: true,
	}
	if r.mode == nil || r.mode.Load == nil {
		return fmt.Errorf("no mode %s to load it", s.Run.Mode)
	}
	if r.done == nil {
		r.done = make(doneSet)
	}
	if r.up != nil {
		r.depth = r.up.depth + 1
	}
	for key, a := range s.Acts {
		r.acts[key] = &act{kind: a.Kind, attempts: a.Attempts, fails: a.Fails, model: a.Model, retryAt: a.RetryAt, written: a.Written}
	}
	if err := r.load(s.State); err != nil {
		return err
	}
	l.runs[r.ID], l.order = r, append(l.order, r)
	return nil
}

func (l *line) restoreRest(s savedRest) error {
	r := &run{Run: s.Run, mode: l.mode(s.Run.Mode, s.Run.Version), seq: s.Seq, ended: true, acts: make(map[string]*act), done: make(doneSet)}
	if r.mode == nil || r.mode.Load == nil || r.mode.Carry == nil {
		return fmt.Errorf("no mode %s to load it", s.Run.Mode)
	}
	if err := r.load(s.State); err != nil {
		return err
	}
	l.rested[s.Run.Mode] = r
	return nil
}

func (l *line) restoreIntent(s savedIntent) error {
	r := l.runs[s.Run]
	c, ok := parseCause(s.Cause)
	if r == nil || !ok || r.acts[c.key] == nil {
		return fmt.Errorf("it has no action")
	}
	in := &intent{run: r, key: c.key, cause: s.Cause, seq: s.Seq, late: s.Late, inner: s.Inner}
	if s.Call != nil {
		in.call, in.held = s.Call, s.Call.Held
		in.call.Model = s.Model
	} else {
		in.tool = &ponder.ToolCall{Name: s.Tool, Args: s.Args}
	}
	if !in.late {
		r.acts[c.key].now = in
	}
	l.open[in.id()] = in
	return nil
}
