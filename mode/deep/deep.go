// Package deep implements reflections between the turns of a conversation. A slow model reads the
// recent events, may look things up, and writes a note that users do not see. The fast model gets
// it with the next message.
//
// A progress event of the stage deep_think requests a reflection; so does a user's observation of
// that sensor. Reflections run one at a time. Requests during one lead to a single further
// reflection. Each states the position up to which it has read. Beyond the hourly limit, a request is
// refused with the time of the next one.
//
// state.go is the state, next.go decides, route.go selects tools, answer.go parses and canvas.go
// extracts diagrams. The keys are think-N-K for call K of the reflection requested by event N,
// use-N-K-I, rebase-N, muse-N (the inner_monologue), drawn-N (diagrams), failed-N and refused-N.
package deep

import (
	_ "embed"
	"encoding/json"
	"errors"
	"time"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/toolname"
	"ponder/llm"
	"ponder/mode/internal/locale"
)

// Name is the name of the mode.
const Name = "deep"

const (
	Tool           = toolname.DeepThink
	stageRequested = toolname.DeepThink
	stageFailed    = "deep_think_failed"
	stageRefused   = "deep_think_refused"
	reasonByUser   = "the user asked for it"
)

const (
	maxLines      = 50
	maxToolTurns  = 2
	freshMessages = 2 // later messages that need no rebase or mark
	defaultLimit  = 120 * time.Second
	defaultHourly = 12
	maxEvent      = 4000 // bytes of an event
	maxResult     = 8000 // bytes of a tool result
	defaultReply  = 1500 // tokens: about half a minute of a slow model
)

//go:embed prompts/inner_voice.md
var innerVoice string

//go:embed prompts/rebase.md
var rebasePrompt string

// Options configure reflections. The zero value has no tools.
type Options struct {
	Tools    []llm.Tool // possible tools, which the engine must have; see [Route]
	Locale   locale.Locale
	Limit    time.Duration // thinking time; two minutes if zero
	PerHour  int           // maximal requests per hour; 12 if zero
	Reply    int           // tokens; 1,500 if zero
	NoRebase bool          // marks old reflections instead of rebasing them
	Role     ponder.Role   // slow if empty
	Rebaser  ponder.Role   // cheap if empty

	// Gate decides on tool calls.
	Gate taint.Gate

	// Redact, if set, removes secrets from model output. It must be pure.
	Redact func(llm.Message) llm.Message
}

// New returns the mode.
func New(opts Options) ponder.Mode {
	if opts.Limit <= 0 {
		opts.Limit = defaultLimit
	}
	if opts.PerHour <= 0 {
		opts.PerHour = defaultHourly
	}
	if opts.Reply <= 0 {
		opts.Reply = defaultReply
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
		Wakes:   func(ev ponder.Event) bool { return isRequest(ev) },
		History: true,
		Redact:  opts.Redact,
		Start:   func(r ponder.Run) ponder.State { return &state{run: r, opts: &opts} },
		Carry: func(r ponder.Run, last ponder.State) ponder.State {
			s := *last.(*state)
			s.run, s.Stop, s.Reflected, s.Why = r, "", false, ""
			return &s
		},
		Load: func(r ponder.Run, js []byte) (ponder.State, error) {
			s := &state{}
			if err := json.Unmarshal(js, s); err != nil {
				return nil, err
			}
			if s.Work != nil && s.Work.N == 0 {
				return nil, errors.New("the state has a reflection without a request")
			}
			s.run, s.opts = r, &opts
			return s, nil
		},
	}
}

func isRequest(ev ponder.Event) bool {
	switch b := ev.Body.(type) {
	case ponder.Progress:
		return b.Stage == stageRequested
	case ponder.Observation: // a user's request
		return b.Sensor == stageRequested
	}
	return false
}
