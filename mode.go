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

// A Mode is a way of thinking at one time scale: a pure function from what has
// happened to what to do next. A mode has no clock, no context and no I/O; the
// engine acts for it.
type Mode struct {
	// Name is what others start the mode by. It is stored in events.
	Name string

	// Version counts up when runs that are in a log already could not go on
	// under the new State. An engine works on a run only if it has the mode in the
	// version that the run began with.
	Version int

	// Layout counts up when the JSON of a State changes its form.
	Layout int

	// Doc says in a sentence what to start the mode for. Models read it too.
	Doc string

	// Wakes reports whether ev starts a run of the mode. An event that comes
	// while a run it started is at work is for that run instead. If nil, the
	// mode runs only when it is started by name.
	Wakes func(ev Event) bool

	// History says that a run is shown what was on the thread before it.
	History bool

	// Carry, if set, is what a root run of a mode with History begins with where
	// the thread had one of the same version before: the state that the last one
	// came to, and after that was shown what has happened since, as if it still
	// went on. So a turn of a long thread need not be shown all of it again. It
	// must return what Start and the history would come to.
	Carry func(run Run, last State) State

	// Budget is the most that a run may cost, if its start says no other.
	Budget Budget

	// Redact, if set, returns what a model answered to a run as it may be kept. It
	// is pure, and applied before that is stored or the run is shown it.
	Redact func(llm.Message) llm.Message

	// Start returns the state of a run that has seen no event yet.
	Start func(Run) State

	// Load undoes [json.Marshal] of a state, so that a long thread opens fast.
	// If nil, the thread is read from its beginning each time it is opened.
	Load func(Run, []byte) (State, error)
}

// A State is all that a run knows. It is a value: its methods change neither
// it nor what it refers to, and return the same for the same arguments, on any
// machine, for as long as a run of it may be in a log.
type State interface {
	// Apply returns the state after ev. It is called with the events of the
	// thread from the start of the run on (see [Mode.History]); of calls, tools
	// and children only the results of the run's own, and of failed attempts
	// only the last.
	Apply(ev Event) State

	// Next returns what the run wants done now. The engine does, all at once,
	// what has not been done; leaves alone what is in flight; and cancels what
	// is in flight but not wanted any more. It calls Next again after each event
	// that the run is shown and at the end of each Wait. A run that wants
	// nothing sleeps until the next event. Of what a paused run wants, only its
	// Writes are done.
	Next(now Moment) []Action
}

// A Moment is a point in time as a run sees it.
type Moment struct {
	Wall  time.Time     // the clock of the machine that holds the thread
	Spent time.Duration // thinking time of the run: held by a process, and not paused
}

// A Run is a mode at work on a thread.
type Run struct {
	ID      RunID
	Mode    string
	Version int
	Input   string
	Options json.RawMessage
	Budget  Budget
	Started time.Time
}

// An Action is something a run wants done. Its key says which: in a run, one
// key means one deed, done once, however often Next asks for it. To do a thing
// again on purpose, ask with another key. A key has letters, digits, '-', '_',
// '.', ':' and '~', at most 64 of them; keys that end in "-" and a number that
// counts up are remembered in constant space.
type Action interface{ isAction() }

type (
	// Call asks a model. Its result is a [CallFinished]. Shown says that users see
	// what is written while it is written.
	Call struct {
		Key     string
		Role    Role
		Request llm.Request
		Shown   bool
	}

	// Do uses a tool. Its result is a [ToolResult]. Internal says that both are
	// internal events.
	Do struct {
		Key      string
		Tool     string
		Args     json.RawMessage
		Internal bool
	}

	// Spawn starts a run of another mode. Its result is a [RunFinished] of the
	// run [RunID]/Key. Until then it must be asked for, or it is cancelled.
	Spawn struct {
		Key     string
		Mode    string
		Input   string
		Options json.RawMessage
		Budget  Budget // that of the mode if zero; those above hold all the same
	}

	// Write adds events to the thread, all in one transaction. A log that is
	// cut between them is completed by asking again with the same bodies.
	Write struct {
		Key      string
		Bodies   []Body
		Internal bool // the events are
	}

	// Wait makes the engine call Next at a time. It leaves no event.
	Wait struct{ Until time.Time }

	// Finish ends the run. What comes after it in a list is not done.
	Finish struct {
		Status     Status // Completed if empty
		Answer     string // of a completed run; never empty
		Reason     string // why it ends now: "time is spent", "model failed: ..."
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

// A Tool is something a model, or a mode, may use.
type Tool struct {
	llm.Tool

	// Once says that to use the tool twice does harm. If a crash leaves it
	// unknown whether it was used, it is not used again, and fails.
	Once bool

	// Untrusted says that strangers write of what it returns, as of what is read
	// from the web. Its results are marked so.
	Untrusted bool

	// Redact, if set, returns an input as it may be kept: it is applied to what
	// models ask of the tool before that is stored, or anything else is done
	// with it.
	Redact func(input json.RawMessage) json.RawMessage

	// Do uses the tool. Its text is the result; an error is a result too. It
	// must return soon after ctx is done.
	Do func(ctx context.Context, input json.RawMessage) (string, error)
}

// NewTool returns a tool that decodes its input to an In.
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

// describeTypeError says what is wrong with the input of a tool, in words for a model.
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

// A ToolContext is the thread, the run and the mode that use a tool.
type ToolContext struct {
	Thread ThreadID
	Run    RunID
	Mode   string
}

type toolContextKey struct{}

// WithToolContext returns a ctx for [Tool.Do]. The engine passes such a ctx; a caller
// that uses a tool without the engine may do the same.
func WithToolContext(ctx context.Context, use ToolContext) context.Context {
	return context.WithValue(ctx, toolContextKey{}, use)
}

// ToolContextFrom returns the ToolContext in the ctx of a [Tool.Do], or a zero one.
func ToolContextFrom(ctx context.Context) ToolContext {
	use, _ := ctx.Value(toolContextKey{}).(ToolContext)
	return use
}

// A Placement decides which process works on which thread, and when. It calls the
// function that it was made with, such as Engine.Work, and never twice at once for one
// thread. Package internal/placement has a durable one and one for tests. It is safe for
// concurrent use.
type Placement interface {
	// Start makes sure that the thread is worked on, here and from now on, until
	// nothing is left to do. It does not wait, and starting what is at work does
	// nothing.
	Start(ctx context.Context, thread ThreadID) error

	// Recover starts the threads of processes that are gone, and returns how many.
	Recover(ctx context.Context) (int, error)

	// Schedule calls tick at the times of a cron expression (five fields, or six
	// with seconds first), in one process of those that share the store; what was
	// missed while none ran is not made up. The name says which schedule it is.
	Schedule(ctx context.Context, name, cron string, tick func(context.Context, time.Time) error) error

	// Close stops all work and waits for it to stop.
	Close(ctx context.Context) error
}
