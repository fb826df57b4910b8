// Package session implements a mode that thinks about one question for minutes to hours.
//
// A round takes a focus: the most urgent open question, or else the user's question. It searches
// the allowed sources and asks a model for three to five thoughts, in parallel for several foci if
// configured. Repeated thoughts are merged. After five new thoughts it asks for questions and
// priorities; at intervals it writes a synthesis. It asks for the answer when the budget is spent,
// nothing new comes, or the user wants it.
//
// Read state.go, round.go and steps.go first. focus.go keeps questions, dedup.go thoughts, and
// evidence.go and carried.go passages. web.go and pages.go search the web; earlier.go recalls sessions.
// stopping.go stops, steer.go and retract.go apply commands, grounding.go checks the answer.
// prompt.go asks with the material of timeline.go, answer.go parses; quote.go and extractive.go
// work without a model. view.go, shape.go, tree.go, steering.go and certainty.go fold a session
// for display.
//
// A run writes under numbered keys: focus, found (evidence), note (thoughts), asked (questions),
// summed (a synthesis) and steered (acknowledgements). The key aside drops a question that the
// model fails on; rests announces waits and pauses.
//
// Without a working model, thoughts are quotations of sources. An answer cites only gathered
// evidence. Untrusted text is sanitized, framed and quoted, and causes no action. Only pages from
// search results are read.
package session

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit/similarity"
	"ponder/mode/internal/locale"
)

// Name is the name of the mode.
const Name = "session"

const (
	maxQuestions      = 3
	questionEvery     = 5  // thoughts
	recentThoughts    = 20 // minimum input of a synthesis; so many new ones trigger one
	maxFoci           = 16
	synthesisInterval = 5 * time.Minute // unless the options set another
	defaultDuration   = 5 * time.Minute
	maxFails          = 3  // consecutive permanent failures
	dryRounds         = 2  // consecutive rounds without new evidence
	extractiveRounds  = 24 // without a model; later quotes matter little
)

// Locale is the zone and the language of the user.
type Locale = locale.Locale

// Options are the options of a run. The zero value works.
type Options struct {
	Locale

	// SynthesisInterval is the maximum thinking time between syntheses in seconds; 300 if not
	// positive. Twenty new thoughts also trigger one.
	SynthesisInterval float64 `json:"synthesis_interval_seconds,omitempty"`

	// Parallel is the number of foci per wave, 1 to 16; 1 if not positive.
	Parallel int `json:"parallel,omitempty"`

	// Earlier looks up conclusions of the owner's earlier sessions first, with [EarlierTool].
	Earlier bool `json:"earlier,omitempty"`

	// ToTheEnd continues until the budget is spent, even without new thoughts.
	ToTheEnd bool `json:"to_the_end,omitempty"`

	// Unattended means that no user can repair a model. The session then concludes instead of
	// pausing.
	Unattended bool `json:"unattended,omitempty"`

	// Docs are absolute paths of files and folders to search.
	Docs []string `json:"docs,omitempty"`

	// Memory includes the owner's memory, by [SearchTool].
	Memory bool `json:"memory,omitempty"`

	// Web includes the web, by [WebSearchTool] and [WebFetchTool]. Search providers see the
	// queries.
	Web bool `json:"web,omitempty"`

	// WebEvery is the number of waves per web search; 1 if not positive.
	WebEvery int `json:"web_every,omitempty"`

	// WithoutModel forbids model calls.
	WithoutModel bool `json:"without_model,omitempty"`

	// Effort is the reasoning effort; see llm.Request.
	Effort string `json:"effort,omitempty"`

	// Prompt is the owner's standing instruction, such as "Answer in French."
	Prompt string `json:"prompt,omitempty"`

	// Roles of the models; if empty: slow, slow and frontier.
	ThoughtRole   ponder.Role `json:"thought_role,omitempty"`
	SynthesisRole ponder.Role `json:"synthesis_role,omitempty"`
	FinalRole     ponder.Role `json:"final_role,omitempty"`
}

// New returns the mode. Its runs take [Options]. They use knowledge_search for documents and
// memory, and web_search and web_fetch for the web.
func New() ponder.Mode {
	return ponder.Mode{
		Name:    Name,
		Version: 2,
		Layout:  1,
		Doc:     "Think about one hard question for minutes to hours: explore it, raise questions, synthesize, and answer with reasons and a confidence.",
		Budget:  ponder.Budget{Time: defaultDuration},
		Start:   func(r ponder.Run) ponder.State { return newState(r) },
		Load:    loadState,
	}
}

// parseOptions returns a run's options with defaults applied.
func parseOptions(r ponder.Run) (Options, error) {
	o := Options{}
	if len(r.Options) > 0 {
		if err := json.Unmarshal(r.Options, &o); err != nil {
			return o, fmt.Errorf("parse options of the session: %w", err)
		}
	}
	if !(o.SynthesisInterval > 0) {
		o.SynthesisInterval = synthesisInterval.Seconds()
	}
	o.SynthesisInterval = math.Min(o.SynthesisInterval, math.MaxInt32)
	o.Parallel = min(max(1, o.Parallel), maxFoci)
	o.WebEvery = max(1, o.WebEvery)
	for role, other := range map[*ponder.Role]ponder.Role{&o.ThoughtRole: ponder.Slow, &o.SynthesisRole: ponder.Slow, &o.FinalRole: ponder.Frontier} {
		if *role == "" {
			*role = other
		}
	}
	return o, nil
}

func newState(r ponder.Run) *state {
	opts, err := parseOptions(r)
	s := &state{runInput: &runInput{r, opts, similarity.Parse(r.Input)}, Calls: r.Budget.Calls}
	s.Unaided = s.opts.WithoutModel
	switch {
	case err != nil:
		s.failRun(err.Error())
	case strings.TrimSpace(r.Input) == "":
		s.failRun("the question is empty")
	case s.Unaided && !s.canGather():
		s.failRun(noModelNoSources)
	case s.opts.Earlier:
		s.Step = step{Do: earlier, N: 1}
	default:
		s.startWave()
	}
	return s
}

// noModelNoSources is the failure of a session without model and sources.
const noModelNoSources = "no model and no documents are available; configure a model or add documents"

// loadState decodes a state from a checkpoint.
func loadState(r ponder.Run, js []byte) (ponder.State, error) {
	s := &state{}
	if err := json.Unmarshal(js, s); err != nil {
		return nil, fmt.Errorf("load session %s: %w", r.ID, err)
	}
	opts, _ := parseOptions(r) // invalid options already failed the run
	s.runInput = &runInput{r, opts, similarity.Parse(r.Input)}
	s.restoreNormTexts()
	return s, nil
}
