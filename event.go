package ponder

import (
	"encoding/json"
	"strings"
	"time"

	"ponder/llm"
)

// A ThreadID names a thread: "thr_" and a ULID.
type ThreadID string

// A Seq is the place of an event in its thread. Zero is before every event.
type Seq int64

// A RunID is the path of a run in its tree: "run_" and a ULID for a root, and
// the run that r started with the action k is r/k.
type RunID string

// Parent returns the run that started r, or "" if r is a root.
func (r RunID) Parent() RunID { return r[:max(0, strings.LastIndexByte(string(r), '/'))] }

// IsWithin reports whether r is top or below it. Every run is within "".
func (r RunID) IsWithin(top RunID) bool {
	return top == "" || r == top || strings.HasPrefix(string(r), string(top)+"/")
}

// An Event is one fact on a thread. It is written once and never changes. Its stored form is
// one flat JSON object: see docs/log-format.md.
type Event struct {
	ID     string    // "evt_" and a ULID; set by Append where empty
	Thread ThreadID  // set by Append
	Seq    Seq       // counts from 1 in its thread; set by Append
	Time   time.Time // set by Append where zero
	Run    RunID     // its run, or the run that it addresses; empty: all runs

	// Cause names the writer. For an event of a run it is the key of the action. A suffix
	// #n names the nth attempt, and /i.n the ith of n events of a Write. For an input it is
	// a key that the sender chooses, so that the store refuses a repeated append, or empty.
	Cause string

	// After is the newest event that the writer had read. Zero sets no condition. See
	// [Log].
	After Seq

	// Elapsed is the thinking time of the thread: the total time for which a process held it. It
	// never decreases.
	Elapsed time.Duration

	// Internal marks events that users never see. Surfaces for developers show them on request.
	Internal bool

	// Erased marks an event without content: see [Event.WithoutContent].
	Erased bool

	// Extra holds imported fields that the body does not have, by their names.
	Extra map[string]json.RawMessage

	Body Body
}

// A Body is the content of an event. Only the types in body.go implement it.
type Body interface {
	// Type returns the stored name of the type. It never changes.
	Type() string
	headFields() head     // its fields at the top level of the stored object
	withoutContent() Body // the same type, without content: see [Event.WithoutContent]
}

// head holds the fields of a body that are not in data.
type head struct {
	Role       string          `json:"role,omitempty"`
	Content    string          `json:"content,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	ToolArgs   json.RawMessage `json:"tool_args,omitempty"`
	ToolResult string          `json:"tool_result,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Model      string          `json:"model,omitempty"`
	Usage      *llm.Usage      `json:"usage,omitempty"`
}

// Key returns the key of the event, which is unique in its thread, or "" if the event may
// repeat. A run writes each of its events once, and a thread takes an input with a Cause once.
func (ev Event) Key() string {
	switch ev.Body.(type) {
	case RunStarted, RunFinished, BudgetSpent:
	default:
		if ev.Cause == "" {
			return ""
		}
	}
	return string(ev.Run) + " " + ev.Cause + " " + ev.Body.Type()
}

// IsInput reports whether the event may be appended without a lease: messages and commands of
// users, observations of sensors, and the starts of root runs.
func (ev Event) IsInput() bool {
	switch ev.Body.(type) {
	case UserMessage, AttachmentAdded, Observation, Steer, RunPaused, RunResumed, Resolution:
		return true
	case RunStarted:
		return ev.Run != "" && ev.Run.Parent() == ""
	}
	return false
}

// IsExternalInput reports whether the event came from outside the engine and starts no run.
// A client that has read such an event has read all external inputs before it.
func (ev Event) IsExternalInput() bool {
	_, starts := ev.Body.(RunStarted)
	return ev.IsInput() && !starts
}

// ActionKey returns the key of the action of the event: the first part of its Cause.
func (ev Event) ActionKey() string {
	key, _, ok := strings.Cut(ev.Cause, "#")
	if !ok {
		key, _, _ = strings.Cut(key, "/")
	}
	return key
}

// Stamp returns the event in its stored form at a place in a thread. Stores call it.
func (ev Event) Stamp(thread ThreadID, seq Seq, now time.Time) Event {
	ev.Thread, ev.Seq = thread, seq
	if ev.ID == "" {
		ev.ID = NewID("evt")
	}
	if ev.Time.IsZero() {
		ev.Time = now
	}
	switch ev.Body.(type) {
	case CallStarted, CallFinished, InnerMonologue:
		ev.Internal = true
	}
	return ev
}
