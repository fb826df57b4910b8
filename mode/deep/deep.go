// Package deep is the mode that reflects on a conversation between its turns: a
// slow model reads the last events, may look a few things up, and writes down what
// a fast model is shown with the next message and no user sees.
//
// A progress event of the stage deep_think asks for a reflection, and so does an
// observation of that sensor, which is a user's own wish. One is made at a
// time; if another is asked for meanwhile, one more is made afterwards, with what
// has come since. A reflection has read the thread up to a place, which it says.
//
// deep.go and state.go say what a run knows, next.go decides, route.go which tools
// fit a topic, answer.go reads what the model wrote and canvas.go the diagrams in
// it. The keys are think-N-K for the Kth call of the reflection that was asked for
// by the event N, use-N-K-I for tools, rebase-N, muse-N (the inner_monologue),
// drawn-N (diagrams) and failed-N.
package deep

import (
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"ponder"
	"ponder/internal/toolname"
	"ponder/llm"
)

// Name is the name of the mode.
const Name = "deep"

// What the mode shares with conversations: see package chat.
const (
	Tool   = toolname.DeepThink
	asked  = toolname.DeepThink
	failed = "deep_think_failed"
	byUser = "the user asked for it" // the reason of what a user asks for
)

// Numbers of a reflection.
const (
	transcript = 50 // events that are read
	toolTurns  = 2
	fresh      = 2 // messages that may have come since it read; then it is rebased, or marked
	hardLimit  = 120 * time.Second
	maxEvent   = 4000 // bytes of an event that are read
	maxResult  = 8000 // bytes of a tool's result
	replyMax   = 1500 // tokens: what slow models write in about half a minute
)

//go:embed inner_voice.md
var innerVoice string

//go:embed rebase.md
var rebasePrompt string

// Options say how to reflect. The zero value has no tools.
type Options struct {
	Tools    []llm.Tool    // that it may use; the mind must have them. See [Route].
	Limit    time.Duration // of thinking time; two minutes if zero
	Reply    int           // tokens; 1,500 if zero
	NoRebase bool          // mark what is older, and do not have it rebased
	Role     ponder.Role   // slow if empty
	Rebaser  ponder.Role   // cheap if empty

	// Redact, if set, takes out of what models write what may not be kept. It is pure.
	Redact func(llm.Message) llm.Message
}

// New returns the mode.
func New(opts Options) ponder.Mode {
	if opts.Limit <= 0 {
		opts.Limit = hardLimit
	}
	if opts.Reply <= 0 {
		opts.Reply = replyMax
	}
	if opts.Role == "" {
		opts.Role = ponder.Slow
	}
	if opts.Rebaser == "" {
		opts.Rebaser = ponder.Cheap
	}
	return ponder.Mode{
		Name:    Name,
		Version: 1,
		Doc:     "Reflect on a conversation, between its turns.",
		Wakes:   func(ev ponder.Event) bool { return asks(ev) },
		History: true,
		Redact:  opts.Redact,
		Start:   func(r ponder.Run) ponder.State { return &state{run: r, opts: &opts} },
		Carry: func(r ponder.Run, last ponder.State) ponder.State {
			s := *last.(*state)
			s.run, s.Stop, s.Made, s.Why = r, "", false, ""
			return &s
		},
		Load: func(r ponder.Run, js []byte) (ponder.State, error) {
			s := &state{}
			if err := json.Unmarshal(js, s); err != nil {
				return nil, err
			}
			if s.Work != nil && s.Work.N == 0 {
				return nil, errors.New("a reflection that nobody asked for")
			}
			s.run, s.opts = r, &opts
			return s, nil
		},
	}
}

func asks(ev ponder.Event) bool {
	switch b := ev.Body.(type) {
	case ponder.Progress:
		return b.Stage == asked
	case ponder.Observation: // a user's own wish
		return b.Sensor == asked
	}
	return false
}
