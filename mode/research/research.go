// Package research is the mode that finds an answer in sources, in a minute or so.
//
//	ask ─┬─ plan (a model) ──────────────┐
//	     └─ queries of the question ─────┴─ gather ─ (reflect ─ gather)* ─ synthesise ─ verify
//
// The question's own words are looked up at once, while a model still plans; what
// it plans to look up joins them. When a round of looks is over, a model is asked
// what is still missing, unless another round would not be worth it. Then the
// answer is written, by a model that may look up more, and is checked sentence by
// sentence against what was gathered.
//
// The files, in the order to read them: state.go says what the research knows,
// next.go decides; begin.go plans, looks.go looks things up, pages.go reads pages,
// gather.go keeps what was found and report.go tells of it; pack.go shows it to the
// model that writes, synthesis.go has the answer written, tools.go does what the model
// wishes meanwhile, and check.go checks the answer; steer.go obeys the user. asking.go
// and heuristic.go plan without a model, plan.go and reflect.go with one, retry.go
// asks again for what can't be read, gain.go says when it is enough, unaided.go answers in
// quotations, and view.go and reference.go fold research for people to look at.
//
// It writes, under keys with a number that counts up: plan (plans and the questions
// they have), found (evidence), told (progress), steered (what became of a wish), and
// at the end, all at once, answered: the claims, and the final synthesis. A plan, a
// reflection or a judgement that can't be read is asked for once more, with what is wrong
// with it, under the key of its call and "~2". What it knows is kept in checkpoints as the
// JSON of its state; [Options] are its own part of run_started.
//
// Nothing that an answer cites was not gathered, and nothing that strangers wrote is
// obeyed: it is quoted, tamed and framed, and leads to no action. Only pages that a
// search found are read.
package research

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/internal/lookup"
)

// Name is the name of the mode.
const Name = "research"

// The defaults, with the seed's names.
const (
	maxRounds          = 5
	maxItemsPerSource  = 10
	maxParallelQueries = 3
	duration           = 3 * time.Minute // unless the start says another
)

// Strategies of the synthesis.
const (
	Auto  = "auto"
	Force = "force"
	Never = "never"
)

// Options are what research is started with: the Options of its RunStarted. The
// zero value works, with what the model knows.
type Options struct {
	// MaxRounds is how many rounds of looking there are at most, 1 to 20; 5 if it
	// is not positive. The model may use tools in max(2 x MaxRounds, 6) rounds.
	MaxRounds int `json:"maxRounds,omitempty"`

	// MaxItemsPerSource is how many passages a search may bring, 1 to 40; 10 if it
	// is not positive.
	MaxItemsPerSource int `json:"maxItemsPerSource,omitempty"`

	// ForceWebSearch says that the web is searched for the question itself, too, as
	// it is worded; if Web says that it may be searched.
	ForceWebSearch bool `json:"forceWebSearch,omitempty"`

	// EnableCaching says whether answers of the web search may be those of a while
	// ago; nil is yes. Pages that are kept are read as they are.
	EnableCaching *bool `json:"enableCaching,omitempty"`

	// MinConfidenceThreshold is the least score of a passage that is gathered, 0 to 1.
	MinConfidenceThreshold float64 `json:"minConfidenceThreshold,omitempty"`

	// MaxParallelQueries is how many queries of the memory, and of the web, go on at
	// a time, 1 to 10; 3 if it is not positive.
	MaxParallelQueries int `json:"maxParallelQueries,omitempty"`

	// SynthesisStrategy is "auto", "force" (a model writes the answer though nothing
	// was found) or "never" (the answer is made of quotes); "auto" if empty.
	SynthesisStrategy string `json:"synthesisStrategy,omitempty"`

	// Docs are absolute paths of files and folders to look things up in.
	Docs []string `json:"docs,omitempty"`

	// Memory says that things are looked up in what the owner has remembered, too.
	Memory bool `json:"memory,omitempty"`

	// Web says that things are looked up on the web, too. What is looked up goes to
	// the providers of the search.
	Web bool `json:"web,omitempty"`

	// Tools are tools of others that the model may use while it writes; the mind must
	// have them, and they only look. What they return is cited as what strangers wrote.
	Tools []llm.Tool `json:"tools,omitempty"`

	// Effort is "trivial", "normal" or "deep"; as the question needs if empty.
	Effort string `json:"effort,omitempty"`

	// Persona is who answers.
	Persona Persona `json:"persona,omitzero"`

	// Prompt is what the owner wants of all answers, such as "Answer in French."
	Prompt string `json:"prompt,omitempty"`

	// WithoutModel says that no model is to be asked.
	WithoutModel bool `json:"without_model,omitempty"`

	// Since is an older report that is brought up to date.
	Since *Report `json:"since,omitempty"`

	// The roles of the models to ask; fast, slow and cheap if empty.
	PlanRole      ponder.Role `json:"plan_role,omitempty"`
	SynthesisRole ponder.Role `json:"synthesis_role,omitempty"`
	JudgeRole     ponder.Role `json:"judge_role,omitempty"`
}

// A Persona is whose voice an answer has, and whose memory is searched.
type Persona struct {
	Name  string `json:"name,omitempty"`
	Voice string `json:"voice,omitempty"` // how they speak, in words for a model
}

// A Report is what an older research came to.
type Report struct {
	Thread   ponder.ThreadID `json:"thread,omitempty"`
	Run      ponder.RunID    `json:"run,omitempty"`
	Question string          `json:"question,omitempty"`
	Answer   string          `json:"answer"`
	At       time.Time       `json:"at,omitzero"` // when it was finished
	Evidence []Known         `json:"evidence,omitempty"`
}

// A Known is a piece of evidence of an older report.
type Known struct {
	ID     string `json:"id"` // there
	Source string `json:"source"`
	URL    string `json:"url,omitempty"`
	Title  string `json:"title,omitempty"`
	Quote  string `json:"quote,omitempty"`
}

// New returns the mode. Its runs take [Options] and use the tools knowledge_search,
// personaMemorySearch, web_search and web_fetch, as far as the options allow them.
func New() ponder.Mode {
	return ponder.Mode{
		Name:    Name,
		Version: 1,
		Doc:     "Find an answer in sources in a minute or so: plan, search memory and web, read, and write an answer in which every sentence can be traced to a quote.",
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
			return o, fmt.Errorf("options of the research: %w", err)
		}
	}
	o.MaxRounds = within(o.MaxRounds, maxRounds, 20)
	o.MaxItemsPerSource = within(o.MaxItemsPerSource, maxItemsPerSource, 40)
	o.MaxParallelQueries = within(o.MaxParallelQueries, maxParallelQueries, 10)
	o.PlanRole = orRole(o.PlanRole, ponder.Fast)
	o.SynthesisRole = orRole(o.SynthesisRole, ponder.Slow)
	o.JudgeRole = orRole(o.JudgeRole, ponder.Cheap)
	switch o.SynthesisStrategy {
	case "":
		o.SynthesisStrategy = Auto
	case Auto, Force, Never:
	default:
		return o, fmt.Errorf("options of the research: synthesisStrategy is %q, not auto, force or never", o.SynthesisStrategy)
	}
	switch o.Effort {
	case "", trivial, normal, deep:
	default:
		return o, fmt.Errorf("options of the research: effort is %q, not trivial, normal or deep", o.Effort)
	}
	return o, nil
}

// within returns n, at most most; or what else it is if n is not positive.
func within(n, other, most int) int {
	if n <= 0 {
		return other
	}
	return min(n, most)
}

func orRole(role, other ponder.Role) ponder.Role {
	if role == "" {
		return other
	}
	return role
}

// start returns the state of research that has seen nothing.
func start(r ponder.Run) *state {
	s := &state{run: r, Calls: r.Budget.Calls}
	var err error
	s.opts, err = options(r)
	switch {
	case err != nil:
		s.fail(err.Error())
	case strings.TrimSpace(r.Input) == "":
		s.fail("there is no question")
	case s.opts.WithoutModel && !s.gathers():
		s.fail(nothingToGoBy)
	default:
		s.begin()
	}
	return s
}

// nothingToGoBy is why research without model and sources fails.
const nothingToGoBy = "there is no model to ask and there is nothing to look into: configure a model, give documents, or allow the memory or the web"

// load undoes the marshalling of a state.
func load(r ponder.Run, js []byte) (ponder.State, error) {
	s := &state{}
	if err := json.Unmarshal(js, s); err != nil {
		return nil, fmt.Errorf("load research %s: %w", r.ID, err)
	}
	s.run = r
	s.opts, _ = options(r) // options that are wrong have failed the run already
	for i, p := range s.Evidence {
		s.Evidence[i].words = lookup.Words(p.Quote)
	}
	if s.Draft != nil {
		s.Draft.claims = s.verify(*s.Draft)
	}
	return s, nil
}
