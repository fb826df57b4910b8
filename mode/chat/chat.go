// Package chat is the mode that talks: it answers the messages of a conversation,
// one after the other, with a fast model that may use tools, put down thoughts
// that no user sees, and set a slower model thinking between turns.
//
// A turn begins with the oldest message that was not answered and ends with the
// event end-N, where N is the seq of that message: a message that comes meanwhile
// waits for its own turn, in the same run. In a turn the model is asked in rounds
// (turn-N-K), until it calls no tool any more; what it says is written at once
// (say-N-K). A turn without a word ends in one more round without tools, and if
// that is empty too, in a sentence of our own.
//
// The files, in the order to read them: state.go says what a conversation knows,
// turn.go is one turn, next.go decides, native.go has the tools that the mode does
// itself (think and deep_think), notes.go the reflections, context.go builds what
// the model is shown, condense.go what becomes of it when that gets too long, mind.go
// what the subconscious says, and quoting.go answers where there is no model.
//
// A user asks for a reflection with an internal observation whose sensor is
// [DeepAsked] and whose content is what it is to be about. A turn is stopped by the
// order [ponder.Cancel] for its run, with what the user has seen of the text that was
// being written as its content.
//
// It writes, under the keys say-N-K assistant messages, thought-N-K-I thoughts and
// asked-N-K-I requests for a reflection (progress events of the stage
// [DeepAsked]); end-N ends a turn (a progress event of the stage [TurnEnded]);
// summed-N are summaries, and noted-N reflections that stand for several. All but
// the first are internal.
package chat

import (
	"encoding/json"
	"errors"

	"ponder"
	"ponder/internal/toolname"
	"ponder/llm"
)

// Name is the name of the mode.
const Name = "chat"

// Stages of the [ponder.Progress] events that the mode and others tell each other
// of. All are internal.
const (
	DeepAsked  = toolname.DeepThink  // a reflection is wanted: Content is what about, Label why
	DeepFailed = "deep_think_failed" // and nothing came of it: Content says why
	TurnEnded  = "turn"              // Ref is the id of the message; Refused: it was not answered, and Content says why
)

// Thinking is the Kind of thoughts that are put down with the tool think.
const Thinking = toolname.Think

// Options say how to talk. The zero value talks without tools.
type Options struct {
	// System is the system prompt; a short one if empty.
	System string

	// Tools are those that the model may use; the mind must have them.
	Tools []llm.Tool

	// Think offers the tool think, with ThinkRules in the system prompt.
	Think      bool
	ThinkRules string

	// Forget says that thoughts are not shown to the model in later turns.
	Forget bool

	// Deep offers the tool deep_think. A reflection is asked for unbidden after
	// every DeepAfter turns without one; 0 is never.
	Deep      bool
	DeepAfter int

	Rounds        int // of tools in a turn; 8 if zero
	ThinkPerTurn  int // thoughts; 10 if zero
	ThinkPerMin   int // thoughts in a minute; 20 if zero
	DeepPerHour   int // reflections asked for in an hour; 12 if zero
	Window        int // tokens that the model can read; 32,000 if zero
	Reply         int // tokens of an answer; 0 leaves it to the provider
	MaxNotes      int // bytes of reflections before they are condensed; 8,000 if zero
	Role          ponder.Role
	CondenserRole ponder.Role

	// WithoutModel says that there is none: messages are answered with quotations
	// of what the tool knowledge_search finds, if that is among Tools.
	WithoutModel bool

	// Allow, if set, is asked before a tool is used: a reason refuses the call,
	// and the model is told it. It must be a pure function.
	Allow func(Use) (reason string)
}

// A Use is a call of a tool that a model wishes for.
type Use struct {
	Call  llm.ToolCall
	Turns []Turn           // of the conversation, oldest first; the last is the one that goes on. Of those that were condensed, only what begins with a slash is left.
	Used  []llm.ToolResult // of tools that were used in the turn that goes on
}

func (o Options) orDefault() Options {
	for field, value := range map[*int]int{
		&o.Rounds: 8, &o.ThinkPerTurn: 10, &o.ThinkPerMin: 20, &o.DeepPerHour: 12, &o.Window: 32_000, &o.MaxNotes: 8_000,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	if o.System == "" {
		o.System = system
	}
	if o.Role == "" {
		o.Role = ponder.Fast
	}
	if o.CondenserRole == "" {
		o.CondenserRole = ponder.Cheap
	}
	return o
}

// New returns the mode. A message of a user wakes it.
func New(opts Options) ponder.Mode {
	opts = opts.orDefault()
	opts.Deep = opts.Deep && !opts.WithoutModel
	return ponder.Mode{
		Name:    Name,
		Version: 1,
		Layout:  1,
		Doc:     "Talk with the user.",
		Wakes:   func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok },
		History: true,
		Start: func(r ponder.Run) ponder.State {
			s := &state{run: r, opts: &opts}
			if r.Input != "" { // started by name
				s.Waiting = []Turn{{Said: Said{Text: r.Input}}}
			}
			return s
		},
		Carry: func(r ponder.Run, last ponder.State) ponder.State {
			s := *last.(*state)
			s.run, s.Hurry, s.Work, s.Answer, s.Failed = r, false, nil, nil, ""
			return &s
		},
		Load: func(r ponder.Run, js []byte) (ponder.State, error) {
			s := &state{}
			if err := json.Unmarshal(js, s); err != nil {
				return nil, err
			}
			s.run, s.opts = r, &opts
			if s.Work != nil && len(s.Waiting) == 0 {
				return nil, errors.New("a turn without a message")
			}
			return s, nil
		},
	}
}
