// Package research implements a mode that answers a question from sources in about a minute.
//
//	ask ─┬─ plan (a model) ──────────────┐
//	     └─ queries of the question ─────┴─ gather ─ (reflect ─ gather)* ─ synthesise ─ verify
//
// Queries of the question start at once, while a model plans; planned queries join them. After
// each round of looks a model names gaps, unless another round is not worth its cost. Then a model
// writes the answer, with tools for further looks, and each sentence is checked against evidence.
//
// Read state.go and next.go first. start.go plans, lookups.go and pages.go search, gather.go keeps
// evidence and report.go reports progress. sourcepack.go, synthesis.go and tools.go write the answer, and
// check.go checks it. steer.go applies commands. questionparse.go and heuristic.go plan without a model,
// plan.go and reflect.go with one. retry.go repeats unreadable answers, stopping.go stops rounds, and
// extractive.go answers in quotations. view.go and reference.go fold research for display.
//
// A run writes under numbered keys: plan (plans and questions), found (evidence), told (progress)
// and steered (acknowledgements). The last, answered, has the claims and the final synthesis. The
// retry of an unreadable answer has the key of its call with the suffix "~2".
//
// An answer cites only gathered evidence. Untrusted text is sanitized, framed and quoted; it causes
// no action. Only pages from search results are read.
package research

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/internal/locale"
	"ponder/mode/internal/lookup"
)

// Name is the name of the mode.
const Name = "research"

const (
	maxRounds          = 5
	maxItemsPerSource  = 10
	maxParallelQueries = 3
	defaultDuration    = 3 * time.Minute // unless the budget sets a time
)

const (
	Auto  = "auto"
	Force = "force"
	Never = "never"
)

// Locale is the zone and the language of the user.
type Locale = locale.Locale

// Options are the options of a run. The zero value answers from the model's knowledge.
type Options struct {
	Locale

	// MaxRounds is the maximum number of rounds of looks, 1 to 20; 5 if not positive. While
	// it writes, the model may use tools in max(2 x MaxRounds, 6) rounds.
	MaxRounds int `json:"maxRounds,omitempty"`

	// MaxItemsPerSource is the maximum number of passages per search, 1 to 40; 10 if not positive.
	MaxItemsPerSource int `json:"maxItemsPerSource,omitempty"`

	// ForceWebSearch also searches the web for the question verbatim, if Web is set.
	ForceWebSearch bool `json:"forceWebSearch,omitempty"`

	// EnableCaching allows cached search results; nil means true. Cached pages are always used.
	EnableCaching *bool `json:"enableCaching,omitempty"`

	// MinConfidenceThreshold is the minimum score of a gathered passage, 0 to 1.
	MinConfidenceThreshold float64 `json:"minConfidenceThreshold,omitempty"`

	// MaxParallelQueries is the number of concurrent queries each of memory and web, 1 to 10; 3 if
	// not positive.
	MaxParallelQueries int `json:"maxParallelQueries,omitempty"`

	// SynthesisStrategy is "auto", "force" (a model answers even without sources) or "never" (the
	// answer consists of quotes). Empty means "auto".
	SynthesisStrategy string `json:"synthesisStrategy,omitempty"`

	// Docs are absolute paths of files and folders to search.
	Docs []string `json:"docs,omitempty"`

	// Memory includes the owner's memory in the search.
	Memory bool `json:"memory,omitempty"`

	// MemoryContext adds what the memory has on the question to the prompt of the answer: memories,
	// each with its raw post, then other posts, then how to use them.
	MemoryContext bool `json:"memoryContext,omitempty"`

	// Web includes the web. Search providers see the queries.
	Web bool `json:"web,omitempty"`

	// Tools are external read-only tools for the model while it writes; the engine must have them.
	// Their results are cited as untrusted.
	Tools []llm.Tool `json:"tools,omitempty"`

	// Effort is "trivial", "normal" or "deep". If empty, the question decides.
	Effort string `json:"effort,omitempty"`

	// Persona is the voice of the answer.
	Persona Persona `json:"persona,omitzero"`

	// Prompt is the owner's standing instruction, such as "Answer in French."
	Prompt string `json:"prompt,omitempty"`

	// PlanFirst pauses the run with a plan, which the user approves by resuming it.
	PlanFirst bool `json:"plan_first,omitempty"`

	// Plan is an approved plan. The run searches exactly its queries.
	Plan *ponder.Plan `json:"plan,omitempty"`

	// WithoutModel forbids model calls.
	WithoutModel bool `json:"without_model,omitempty"`

	// Since is an older report to update.
	Since *Report `json:"since,omitempty"`

	// Roles of the models; if empty: fast, slow and cheap.
	PlanRole      ponder.Role `json:"plan_role,omitempty"`
	SynthesisRole ponder.Role `json:"synthesis_role,omitempty"`
	JudgeRole     ponder.Role `json:"judge_role,omitempty"`
}

// Persona is the voice of an answer and the owner of the searched memory.
type Persona struct {
	Name  string `json:"name,omitempty"`
	Voice string `json:"voice,omitempty"`
}

// Report is the result of an older research.
type Report struct {
	Thread   ponder.ThreadID `json:"thread,omitempty"`
	Run      ponder.RunID    `json:"run,omitempty"`
	Question string          `json:"question,omitempty"`
	Answer   string          `json:"answer"`
	At       time.Time       `json:"at,omitzero"`
	Evidence []KnownEvidence `json:"evidence,omitempty"`

	Claims    []KnownClaim      `json:"claims,omitempty"`
	Conflicts []ponder.Conflict `json:"conflicts,omitempty"`
}

// KnownClaim is a checked claim of an older report.
type KnownClaim struct {
	Text   string `json:"text"`
	Status string `json:"status,omitempty"`
}

// KnownEvidence is a piece of evidence of an older report.
type KnownEvidence struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	URL    string `json:"url,omitempty"`
	Title  string `json:"title,omitempty"`
	Quote  string `json:"quote,omitempty"`
}

// New returns the mode. Its runs take [Options]. They use the tools knowledge_search,
// personaMemorySearch, web_search and web_fetch as the options allow.
func New() ponder.Mode {
	return ponder.Mode{
		Name:    Name,
		Version: 1,
		Doc:     "Answer from sources in about a minute: plan, search memory and web, read, and write an answer with a quote for each factual sentence.",
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
			return o, fmt.Errorf("parse options of the research: %w", err)
		}
	}
	o.MaxRounds = clampOption(o.MaxRounds, maxRounds, 20)
	o.MaxItemsPerSource = clampOption(o.MaxItemsPerSource, maxItemsPerSource, 40)
	o.MaxParallelQueries = clampOption(o.MaxParallelQueries, maxParallelQueries, 10)
	o.PlanRole = defaultRole(o.PlanRole, ponder.Fast)
	o.SynthesisRole = defaultRole(o.SynthesisRole, ponder.Slow)
	o.JudgeRole = defaultRole(o.JudgeRole, ponder.Cheap)
	switch o.SynthesisStrategy {
	case "":
		o.SynthesisStrategy = Auto
	case Auto, Force, Never:
	default:
		return o, fmt.Errorf("parse options of the research: synthesisStrategy is %q; use auto, force or never", o.SynthesisStrategy)
	}
	switch o.Effort {
	case "", trivial, normal, deep:
	default:
		return o, fmt.Errorf("parse options of the research: effort is %q; use trivial, normal or deep", o.Effort)
	}
	return o, nil
}

func clampOption(n, other, most int) int {
	if n <= 0 {
		return other
	}
	return min(n, most)
}

func defaultRole(role, other ponder.Role) ponder.Role {
	if role == "" {
		return other
	}
	return role
}

func newState(r ponder.Run) *state {
	s := &state{run: r, Calls: r.Budget.Calls}
	var err error
	s.opts, err = parseOptions(r)
	switch {
	case err != nil:
		s.failRun(err.Error())
	case strings.TrimSpace(r.Input) == "":
		s.failRun("the question is empty")
	case s.opts.WithoutModel && !s.canGather():
		s.failRun(noModelNoSources)
	default:
		s.startResearch()
	}
	return s
}

// noModelNoSources is the failure of a run without model and sources.
const noModelNoSources = "no model and no sources are available; configure a model, add documents, or allow memory or web search"

// loadState decodes a state from a checkpoint.
func loadState(r ponder.Run, js []byte) (ponder.State, error) {
	s := &state{}
	if err := json.Unmarshal(js, s); err != nil {
		return nil, fmt.Errorf("load research %s: %w", r.ID, err)
	}
	s.run = r
	s.opts, _ = parseOptions(r) // invalid options already failed the run
	for i, p := range s.Evidence {
		s.Evidence[i].words = lookup.DistinctWords(p.Quote)
	}
	if s.Draft != nil {
		s.Draft.claims = s.verifyDraft(*s.Draft)
	}
	return s, nil
}
