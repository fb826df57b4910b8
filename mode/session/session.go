// Package session is the mode that thinks about one question for as long as it
// is given: minutes to hours.
//
// A round takes a focus, the most urgent question that is still open or else
// the question of the user, looks it up in the documents, the memory and on the
// web, as far as it is given them, and asks for three to five thoughts; in parallel sessions, for several foci at a
// time. What was said before is not said again. After every five new thoughts it
// asks which questions they raise, and what the open ones are worth now; at every
// interval, and when enough has changed, it sums up what is understood. When the
// budget is spent, nothing new comes any more, or the user wants an answer now,
// it asks for the answer.
//
// The files, in the order to read them: state.go says what a session knows,
// round.go thinks about foci and steps.go does what comes between; focus.go keeps
// the questions, said.go the thoughts, evidence.go the passages, web.go and
// pages.go those of the web, voice.go whose they are, and
// earlier.go what other sessions concluded; worth.go says when it is enough,
// steer.go obeys the user, retract.go forgets what a ban takes away, and founded.go
// checks what an answer quotes and counts. prompt.go asks, and answer.go reads what
// comes back with package structured; quote.go and unaided.go
// think without a model, in quotations. view.go folds a session for people to look
// at (shape.go, tree.go, steering.go, certainty.go).
//
// It writes, under keys with a number that counts up: focus (a progress event
// that names the next focus), found (evidence), note (thoughts, and what was
// learned of their question), asked (questions), summed (a synthesis), aside (a
// question that the model fails on), rests (that it waits for the model, or pauses) and steered
// (what became of a wish). What it knows
// is kept in checkpoints as the JSON of its state; [Options] are its own part of
// run_started.
//
// Without a model, and whenever one fails for good, thoughts are sentences of what
// was looked up, with their places. Nothing that an answer cites was not gathered,
// and nothing that strangers wrote is obeyed: it is quoted, tamed and framed, and
// leads to no action. Only pages that a search found are read.
package session

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit/similarity"
)

// Name is the name of the mode.
const Name = "session"

// The numbers of the loop.
const (
	maxQuestions      = 3               // that one answer may raise
	questionEvery     = 5               // thoughts
	recentThoughts    = 20              // that a synthesis is made from, at least; as many new ones call for one
	mostParallel      = 16              // foci at a time
	synthesisInterval = 5 * time.Minute // unless the options say another
	duration          = 5 * time.Minute // unless the start says another
	maxFails          = 3               // calls in a row that failed for good
	dryRounds         = 2               // without new evidence, and there is no more
	unaidedRounds     = 24              // without a model; what comes then hardly matters
)

// Options are what a session is started with: the Options of its RunStarted.
// The zero value works.
type Options struct {
	// SynthesisInterval is the thinking time between syntheses at most, in seconds;
	// 300 if it is not positive. Twenty new thoughts call for one too.
	SynthesisInterval float64 `json:"synthesis_interval_seconds,omitempty"`

	// Parallel is how many foci are thought about at a time, from 1 to 16; 1 if
	// it is not positive.
	Parallel int `json:"parallel,omitempty"`

	// Earlier says that what earlier sessions of the owner concluded is looked
	// up at the start, with the tool [EarlierTool].
	Earlier bool `json:"earlier,omitempty"`

	// ToTheEnd says to think until the budget is spent, though nothing new comes
	// any more.
	ToTheEnd bool `json:"to_the_end,omitempty"`

	// Unattended says that nobody is there who could mend a model that refuses its key or
	// is gone: the session does not pause for that, and concludes.
	Unattended bool `json:"unattended,omitempty"`

	// Docs are absolute paths of files and folders to look things up in.
	Docs []string `json:"docs,omitempty"`

	// Memory says that things are looked up in what the owner has remembered,
	// too, with [SearchTool].
	Memory bool `json:"memory,omitempty"`

	// Web says that things are looked up on the web, too, with [WebSearchTool]
	// and [WebFetchTool]. What is looked up goes to the providers of the search.
	Web bool `json:"web,omitempty"`

	// WebEvery is how many waves of foci there are to one that asks the web; 1 if
	// it is not positive.
	WebEvery int `json:"web_every,omitempty"`

	// WithoutModel says that no model is to be asked.
	WithoutModel bool `json:"without_model,omitempty"`

	// Effort is how hard a reasoning model should think. See llm.Request.
	Effort string `json:"effort,omitempty"`

	// Prompt is what the owner wants of all answers, such as "Answer in French."
	Prompt string `json:"prompt,omitempty"`

	// The roles of the models to ask; slow, slow and frontier if empty.
	ThoughtRole   ponder.Role `json:"thought_role,omitempty"`
	SynthesisRole ponder.Role `json:"synthesis_role,omitempty"`
	FinalRole     ponder.Role `json:"final_role,omitempty"`
}

// New returns the mode. Its runs take [Options] and use the tool
// knowledge_search if they are given documents or a memory, and web_search and
// web_fetch if they are given the web.
func New() ponder.Mode {
	return ponder.Mode{
		Name:    Name,
		Version: 2,
		Layout:  1,
		Doc:     "Think about one hard question for minutes to hours: explore it, raise questions, sum up, and answer with reasons and a confidence.",
		Budget:  ponder.Budget{Time: duration},
		Start:   func(r ponder.Run) ponder.State { return start(r) },
		Load:    load,
	}
}

// options returns the options of a run with their defaults.
func options(r ponder.Run) (Options, error) {
	o := Options{}
	if len(r.Options) > 0 {
		if err := json.Unmarshal(r.Options, &o); err != nil {
			return o, fmt.Errorf("options of the session: %w", err)
		}
	}
	if !(o.SynthesisInterval > 0) {
		o.SynthesisInterval = synthesisInterval.Seconds()
	}
	o.SynthesisInterval = math.Min(o.SynthesisInterval, math.MaxInt32)
	o.Parallel = min(max(1, o.Parallel), mostParallel)
	o.WebEvery = max(1, o.WebEvery)
	for role, other := range map[*ponder.Role]ponder.Role{&o.ThoughtRole: ponder.Slow, &o.SynthesisRole: ponder.Slow, &o.FinalRole: ponder.Frontier} {
		if *role == "" {
			*role = other
		}
	}
	return o, nil
}

// start returns the state of a session that has seen nothing.
func start(r ponder.Run) *state {
	opts, err := options(r)
	s := &state{given: &given{r, opts, similarity.Of(r.Input)}, Calls: r.Budget.Calls}
	s.Unaided = s.opts.WithoutModel
	switch {
	case err != nil:
		s.fail(err.Error())
	case strings.TrimSpace(r.Input) == "":
		s.fail("there is no question")
	case s.Unaided && !s.gathers():
		s.fail(nothingToGoBy)
	case s.opts.Earlier:
		s.Step = step{Do: earlier, N: 1}
	default:
		s.round()
	}
	return s
}

// nothingToGoBy is why a session without model and documents fails.
const nothingToGoBy = "there is no model to think with and there are no documents to quote: configure a model, or give documents"

// load undoes the marshalling of a state.
func load(r ponder.Run, js []byte) (ponder.State, error) {
	s := &state{}
	if err := json.Unmarshal(js, s); err != nil {
		return nil, fmt.Errorf("load session %s: %w", r.ID, err)
	}
	opts, _ := options(r) // options that are wrong have failed the session already
	s.given = &given{r, opts, similarity.Of(r.Input)}
	s.feel()
	return s, nil
}
