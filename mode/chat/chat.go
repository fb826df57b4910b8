// Package chat implements conversations. A fast model answers each message. It may use tools, write
// hidden thoughts, and request reflections of a slower model between turns.
//
// A turn begins with the oldest unanswered message and ends with the event end-N, where N is the
// seq of that message. Later messages wait for their own turns in the same run. Rounds (turn-N-K)
// repeat until the model calls no tool; its text is written at once (say-N-K). A turn without text
// gets one more round without tools, and then a fixed sentence.
//
// Read state.go, turn.go and next.go first. reasoning.go implements think and deep_think, notes.go
// handles reflections, context.go builds requests, approve.go asks the
// user, condense.go and window.go shorten history, background.go adds
// background notes, and extractive.go answers without a model.
//
// A user requests a reflection by an internal observation of the sensor [DeepAsked] with the topic
// as content. [ponder.Cancel] for the run stops a turn; its content is the part of the answer that
// the user saw.
//
// If the model refuses a request as too long, the next round repeats it with less; see window.go. At the
// end of the turn, omitted-N names the missing parts to the user.
//
// A tool call may need the approval of the user. Then question-N-K-I asks for it with a
// [ponder.ApprovalRequested], and the model learns that the call waits. The turn of a message with
// an approval starts with the approved call, word for word. See approve.go.
//
// The keys say-N-K are messages, thought-N-K-I thoughts, and asked-N-K-I requests for a reflection
// (progress of stage [DeepAsked]). end-N ends a turn (progress of stage [TurnEnded]), summed-N is a
// summary, and noted-N a condensed reflection. All but say-N-K are internal.
package chat

import (
	"encoding/json"
	"errors"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/toolname"
	"ponder/llm"
	"ponder/mode/internal/locale"
)

// Name is the name of the mode.
const Name = "chat"

const (
	DeepAsked   = toolname.DeepThink   // a reflection is requested: Content is the topic, Label the reason
	DeepFailed  = "deep_think_failed"  // the reflection failed: Content is the reason
	DeepRefused = "deep_think_refused" // the limit of reflections per hour is reached: Content is the reason
	TurnEnded   = "turn"               // Ref is the message id; if Refused, it was not answered and Content is the reason
)

// Thinking is the Kind of thoughts written with the tool think.
const Thinking = toolname.Think

// Options configure the mode. The zero value answers without tools.
type Options struct {
	// System is the system prompt; a short default if empty.
	System string

	// Locale is the time zone and the language of the user.
	Locale locale.Locale

	// Tools are the model's tools; the engine must have them.
	Tools []llm.Tool

	// Think offers the tool think and adds ThinkRules to the system prompt.
	Think      bool
	ThinkRules string

	// Forget hides thoughts from the model in later turns.
	Forget bool

	// Deep offers the tool deep_think. After DeepAfter turns without a reflection, the mode
	// requests one; 0 means never.
	Deep      bool
	DeepAfter int

	Rounds        int // per turn; 8 if zero
	ThinkPerTurn  int // 10 if zero
	ThinkPerMin   int // 20 if zero
	DeepPerHour   int // 12 if zero
	Window        int // context size in tokens; 32,000 if zero
	Reply         int // maximum tokens of an answer; 0: the provider's default
	MaxNotes      int // bytes of reflections before they are condensed; 8,000 if zero
	Role          ponder.Role
	CondenserRole ponder.Role

	// WithoutModel answers with quotations found by knowledge_search, if that is among Tools.
	WithoutModel bool

	// Gate, if set, decides on tool calls. It must be pure.
	Gate func(ToolUse) taint.Decision

	// Described says that strangers wrote the description of a tool.
	Described bool
}

// ToolUse is a model's tool call.
type ToolUse struct {
	Call  llm.ToolCall
	Turns []Turn // the conversation, oldest first, ending with the current turn; of condensed turns only the newest slash command
	Used  []taint.Result

	View     taint.View
	Approved []string // tools of which the user approved a call in the conversation
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
		o.System = defaultSystem
	}
	if o.Role == "" {
		o.Role = ponder.Fast
	}
	if o.CondenserRole == "" {
		o.CondenserRole = ponder.Cheap
	}
	return o
}

// New returns the mode. A user's message wakes it.
func New(opts Options) ponder.Mode {
	opts = opts.orDefault()
	opts.Deep = opts.Deep && !opts.WithoutModel
	return ponder.Mode{
		Name:    Name,
		Version: 1,
		Layout:  1,
		Doc:     "Hold a conversation with the user.",
		Wakes:   func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok },
		History: true,
		Start: func(r ponder.Run) ponder.State {
			s := &state{run: r, opts: &opts}
			if r.Input != "" {
				s.Waiting = []Turn{{Message: Message{Text: r.Input}}}
			}
			return s
		},
		Carry: func(r ponder.Run, last ponder.State) ponder.State {
			s := *last.(*state)
			s.run, s.AnswerNow, s.Work, s.Answer, s.Failed, s.Room = r, false, nil, nil, "", 0
			return &s
		},
		Load: func(r ponder.Run, js []byte) (ponder.State, error) {
			s := &state{}
			if err := json.Unmarshal(js, s); err != nil {
				return nil, err
			}
			s.run, s.opts = r, &opts
			if s.Work != nil && len(s.Waiting) == 0 {
				return nil, errors.New("the state has a turn without a message")
			}
			return s, nil
		},
	}
}
