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

// Within reports whether r is top or below it. Every run is within "".
func (r RunID) Within(top RunID) bool {
	return top == "" || r == top || strings.HasPrefix(string(r), string(top)+"/")
}

// An Event is one fact on a thread. It is written once and never changes. It is
// stored as one flat JSON object, which docs/log-format.md describes.
type Event struct {
	ID     string    // "evt_" and a ULID; set by Append where empty
	Thread ThreadID  // set by Append
	Seq    Seq       // counts from 1 in its thread; set by Append
	Time   time.Time // set by Append where zero
	Run    RunID     // the run it is of, or is meant for; empty for all

	// Cause is what wrote it. For an event of a run, the action: its key, and
	// #n for the nth attempt at it, or /i.n for the ith of n events of a Write.
	// For an input, a key of the sender's choice, so that a repeated append is
	// refused, or nothing.
	Cause string

	// After is the newest event that its writer had read; zero if it did not
	// look. See [Log].
	After Seq

	// Elapsed is the thinking time of the thread: the sum of the times in which
	// a process held it. It only grows.
	Elapsed time.Duration

	// Internal events never reach a user; only surfaces for developers that ask
	// for them show them.
	Internal bool

	// Erased says that the content is gone: see [Event.WithoutContent].
	Erased bool

	// Extra is what an import kept that the body has no field for, by the names
	// of its fields there.
	Extra map[string]json.RawMessage

	Body Body
}

// A Body is what happened. The types in body.go are all there are.
type Body interface {
	// Type returns the name that is stored. It never changes.
	Type() string
	head() head   // what of it stands in the top level of the stored object
	erased() Body // the same type, without content: see [Event.WithoutContent]
}

// head is the part of a body that is not in data.
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

// Key returns what must be unique in a thread, or "" if the event may repeat.
// A run writes each of its events once; a sender's input with a Cause is taken
// once.
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

// IsInput reports whether anyone may append the event, without holding the
// thread: what a user says or does and what a sensor observes. A run that
// starts is an input if it is a root.
func (ev Event) IsInput() bool {
	switch ev.Body.(type) {
	case UserMessage, AttachmentAdded, Observation, Steer, RunPaused, RunResumed, Resolved:
		return true
	case RunStarted:
		return ev.Run != "" && ev.Run.Parent() == ""
	}
	return false
}

// IsExternalInput reports whether the event came from outside the engine and starts no run.
// A client that has read such an event has read all external inputs before it.
func (ev Event) IsExternalInput() bool {
	_, begins := ev.Body.(RunStarted)
	return ev.IsInput() && !begins
}

// ActionKey returns the key of the action that the event is of, which its Cause begins with.
func (ev Event) ActionKey() string {
	key, _, ok := strings.Cut(ev.Cause, "#")
	if !ok {
		key, _, _ = strings.Cut(key, "/")
	}
	return key
}

// Stamp returns the event as it is stored at a place in a thread. A store
// calls it.
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
