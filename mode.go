package ponder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"ponder/llm"
)

// A Mode is a way of thinking at one time scale: a pure function from past events to the
// next actions. A mode has no clock, no context and no I/O.
type Mode struct {
	// Name identifies the mode. Events store it.
	Name string

	// Version increases when existing runs could not continue under the new State. An
	// engine works on a run only if it has the mode in the version with which the run
	// started.
	Version int

	// Layout increases when the JSON of a State changes.
	Layout int

	// Doc describes the purpose of the mode in one sentence, also for models.
	Doc string

	// Wakes reports whether ev starts a run of the mode, if no such run is open. If Wakes is nil,
	// the mode runs only when it is started by name.
	Wakes func(ev Event) bool

	// History says that a run observes the events before its start.
	History bool

	// Carry, if set, returns the initial state of a root run of a mode with History. The
	// engine calls it if the thread had a root run of the same version before. It receives
	// the state of the last run, which has observed all events since then. The engine
	// therefore need not read a long thread again. Carry must return the state that Start
	// and the whole history would produce.
	Carry func(run Run, last State) State

	// Waits says that Next may wait for something outside of the log, such as a local embedding
	// model. The engine then appends the results of calls before it calls Next, because a
	// process that dies in Next would pay for them again.
	Waits bool

	// Budget limits a run that is started without a budget.
	Budget Budget

	// Redact, if set, returns the answer of a model in the form that may be stored. It is
	// pure. The engine applies it before it stores the answer or passes it to the run.
	Redact func(llm.Message) llm.Message

	// Start returns the state of a run that has observed no event.
	Start func(Run) State

	// Load decodes the result of [json.Marshal] of a state, so that a long thread opens
	// fast. If Load is nil, the engine reads the thread from its start each time.
	Load func(Run, []byte) (State, error)
}

// A State is the knowledge of a run. It is an immutable value: its methods change neither
// the state nor the memory that it refers to. The methods are deterministic on every
// machine, while any log may have a run with the state.
type State interface {
	// Apply returns the state after ev. The engine calls it with the events of the thread from the
	// start of the run (see [Mode.History]). The run observes the results of its own calls,
	// tools and children only, and of failed attempts only the last.
	Apply(ev Event) State

	// Next returns the actions that the run wants now. The engine starts the new ones at
	// once, keeps those in flight, and cancels actions in flight that Next no longer
	// returns. It calls Next again after each event that the run observes and at the end of
	// each Wait. A run without actions sleeps until the next event. For a paused run the
	// engine performs Writes only.
	Next(now Moment) []Action
}

// A Moment is the current time of a run, by two clocks.
type Moment struct {
	Wall  time.Time     // the clock of the machine that holds the thread
	Spent time.Duration // thinking time of the run, while a process holds it and it is not paused
}

// A Run describes a run to the state of its mode.
type Run struct {
	ID      RunID
	Mode    string
	Version int
	Input   string
	Options json.RawMessage
	Budget  Budget
	Started time.Time
}

// An Action is a request of a run to the engine. The engine performs one action for each
// key in a run, however often Next returns it. To repeat an action, use another key. A key
// has at most 64 letters, digits, '-', '_', '.', ':' and '~'. Keys that end in "-" and an
// increasing number take constant space.
type Action interface{ isAction() }

type (
	// Call asks a model. Its result is a [CallFinished].
	Call struct {
		Key     string
		Role    Role
		Request llm.Request
		Shown   bool          // users watch the text while the model writes it
		Answer  bool          // the call writes the answer of the run, so it may take the time that is reserved for it
		Until   time.Duration // the thinking time of the run at which the engine cuts the call; zero: the time limit decides
	}

	// Do uses a tool. Its result is a [ToolResult]. Internal marks both events.
	Do struct {
		Key      string
		Tool     string
		Args     json.RawMessage
		Internal bool
	}

	// Spawn starts a run of another mode. Its result is a [RunFinished] of the run [RunID]/Key.
	// The engine cancels the run if Next no longer returns the Spawn.
	Spawn struct {
		Key     string
		Mode    string
		Input   string
		Options json.RawMessage
		Budget  Budget // zero: the budget of the mode; the budgets above hold too
	}

	// Write appends events, all in one transaction. If a fork cut the log between them, the engine
	// completes it when Next returns the same Write.
	Write struct {
		Key      string
		Bodies   []Body
		Internal bool // marks the events
	}

	// Wait makes the engine call Next at a time. It writes no event.
	Wait struct{ Until time.Time }

	// Finish ends the run. The engine ignores later actions of the list.
	Finish struct {
		Status     Status // Completed if empty
		Answer     string // of a completed run; never empty
		Reason     string // of the end, for users: "time limit of 3m reached", "the model failed: ..."
		End        EndReason
		Confidence float64
	}
)

func (Call) isAction()   {}
func (Do) isAction()     {}
func (Spawn) isAction()  {}
func (Write) isAction()  {}
func (Wait) isAction()   {}
func (Finish) isAction() {}

// A Role is the purpose of a model. The configuration of the engine maps roles to models.
type Role string

// The roles.
const (
	Fast     Role = "fast"
	Slow     Role = "slow"
	Cheap    Role = "cheap"
	Frontier Role = "frontier"
	Embed    Role = "embed"
)

// A Tool is a tool for models and modes.
type Tool struct {
	llm.Tool

	// Once marks a tool that must not be used twice. If a crash leaves a use in doubt, the
	// engine does not repeat it, and the use fails.
	Once bool

	// Untrusted marks a tool whose results may contain text of strangers, such as the web. It
	// marks the results too.
	Untrusted bool

	// Redact, if set, returns an input in the form that may be stored. The engine applies it to
	// the inputs of models before any other use.
	Redact func(input json.RawMessage) json.RawMessage

	// Do uses the tool and returns a text. An error is a result too. Do must return soon after
	// ctx is done.
	Do func(ctx context.Context, input json.RawMessage) (string, error)
}

func NewTool[In any](name, doc string, schema json.RawMessage, do func(context.Context, In) (string, error)) Tool {
	return Tool{
		Tool: llm.Tool{Name: name, Doc: doc, Schema: schema},
		Do: func(ctx context.Context, input json.RawMessage) (string, error) {
			var in In
			if err := json.Unmarshal(input, &in); err != nil {
				return "", fmt.Errorf("input of %s: %w", name, describeTypeError(err))
			}
			return do(ctx, in)
		},
	}
}

// describeTypeError returns err in words for a model.
func describeTypeError(err error) error {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) || e.Field == "" {
		return err
	}
	want := e.Type.Kind().String()
	switch e.Type.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		want = "whole number"
	case reflect.Float32, reflect.Float64:
		want = "number"
	case reflect.Slice, reflect.Array:
		want = "list"
	case reflect.Struct, reflect.Map:
		want = "object"
	}
	return fmt.Errorf("%s must be of type %s, not %s", e.Field, want, e.Value)
}

// A ToolContext names the thread, the run and the mode that use a tool.
type ToolContext struct {
	Thread ThreadID
	Run    RunID
	Mode   string
}

type toolContextKey struct{}

// WithToolContext returns a ctx for [Tool.Do]. The engine calls it, and so may a caller
// that uses a tool without the engine.
func WithToolContext(ctx context.Context, use ToolContext) context.Context {
	return context.WithValue(ctx, toolContextKey{}, use)
}

// ToolContextFrom returns the ToolContext in the ctx of a [Tool.Do], or a zero one.
func ToolContextFrom(ctx context.Context) ToolContext {
	use, _ := ctx.Value(toolContextKey{}).(ToolContext)
	return use
}

// A Placement decides which process works on which thread, and when. It calls the function
// that its constructor received, such as Engine.Work, and never twice at once for one
// thread. Package internal/placement has a durable one and one for tests. It is safe for
// concurrent use.
type Placement interface {
	// Start starts work on a thread in this process, until the thread has no more work. It
	// does not wait. It does nothing if the work has started already.
	Start(ctx context.Context, thread ThreadID) error

	// Recover starts the threads of dead processes, and returns their number.
	Recover(ctx context.Context) (int, error)

	// Schedule calls tick at the times of a cron expression: five fields, or six with
	// seconds first. One of the processes that share the store calls it. It skips times at
	// which no process ran. The name identifies the schedule.
	Schedule(ctx context.Context, name, cron string, tick func(context.Context, time.Time) error) error

	Close(ctx context.Context) error
}
