package research

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/internal/background"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/pendingwrites"
	"ponder/mode/internal/runstate"
	"ponder/mode/internal/steerstate"
)

const (
	trivial = "trivial"
	normal  = "normal"
	deep    = "deep"
)

type piece struct {
	N            int      `json:"n"`
	Source       string   `json:"source"` // a path or URL
	Title        string   `json:"title,omitempty"`
	Section      string   `json:"section,omitempty"`
	Quote        string   `json:"quote"`            // equals the content of its event; show displayText of it
	Start        int      `json:"start,omitempty"`  // of the quote in its text, in bytes
	Window       string   `json:"window,omitempty"` // exact text around the quote, or ""
	WindowStart  int      `json:"window_start,omitempty"`
	Hash         string   `json:"hash,omitempty"`   // of the text
	Score        float64  `json:"score,omitempty"`  // relevance by the search, 0 to 1
	Direct       float64  `json:"direct,omitempty"` // the best score for the question itself
	SourceWeight float64  `json:"worth,omitempty"`  // evidence.Weight of the source, 0 to 1; 1 if unknown
	Terms        []string `json:"terms,omitempty"`  // matched words of the query: lower case, sorted
	Query        string   `json:"query,omitempty"`
	Tool         string   `json:"tool,omitempty"`
	Round        int      `json:"round,omitempty"`

	URL       string    `json:"url,omitempty"`
	Kind      string    `json:"kind,omitempty"` // file, memory, document, post, journal, thread or page; fact: a user's correction
	Author    string    `json:"author,omitempty"`
	Published time.Time `json:"published,omitzero"`
	Fetched   time.Time `json:"fetched,omitzero"`
	Cluster   string    `json:"cluster,omitempty"`   // shared by copies of one text; see voice
	Copy      string    `json:"copy,omitempty"`      // id of the piece that it repeats
	Voices    int       `json:"voices,omitempty"`    // agreeing independent sources, as reported by the search
	Known     bool      `json:"known,omitempty"`     // in the older report
	Rated     bool      `json:"rated,omitempty"`     // the quality of its source is known
	Untrusted bool      `json:"untrusted,omitempty"` // written by others
	Addressed bool      `json:"addressed,omitempty"` // addresses programs; never quoted
	Withdrawn bool      `json:"withdrawn,omitempty"` // a correction that the user withdrew

	Orders bool `json:"orders,omitempty"` // addresses programs in the user's own text; not quoted without a model

	// Of a piece with a window, for the quotes within it.
	Page     int             `json:"page_number,omitempty"`
	Original string          `json:"original,omitempty"`
	Provider string          `json:"provider,omitempty"`
	Quality  []ponder.Signal `json:"quality,omitempty"`

	Key      string `json:"key,omitempty"`
	QuoteKey string `json:"same,omitempty"` // identifies its words
	PageKey  string `json:"page,omitempty"` // identifies its page

	words []string // of the quote; recomputed by load
}

func (p piece) id() string { return "e" + strconv.Itoa(p.N) }

// voiceKey identifies the author of a piece: its cluster of copies, else its source.
func (p piece) voiceKey() string {
	if p.Cluster != "" {
		return p.Cluster
	}
	return p.Source
}

func (p piece) isQuotable() bool { return p.Copy == "" && !p.Addressed && !p.Withdrawn }

// weight is relevance times worth.
func (p piece) weight() float64 { return p.Score * p.SourceWeight }

func (p piece) displayQuote() string { return displayText(p.Quote) }

// displayText returns text of a source on one line, safe for prompts and answers: without
// instructions, citations or verification marks.
func displayText(s string) string {
	return lookup.DefuseCitations(lookup.Sanitize(fakeMarks.ReplaceAllString(textkit.OneLine(s), "")))
}

// fakeMarks matches fake verification marks in quoted text.
var fakeMarks = regexp.MustCompile(`(?i)\s*[\[(【]\s*(?:(?:fully |partly |not |un)?(?:verified|supported)|fact[- ]checked|confirmed|contradicted(?: by [^\])】]{0,20})?)[^\])】\pL]{0,5}[\])】]`)

func (p piece) isFrom(name string) bool {
	return p.Kind != factKind && (lookup.Denotes(p.Source, name) || p.URL != "" && lookup.Denotes(p.URL, name))
}

const (
	gathering  = "gather"
	reflecting = "reflect"
	writing    = "write"
	judging    = "judge"
	done       = "done"
)

// state is the state of a run. Exported fields are stored in checkpoints.
type state struct {
	run  ponder.Run
	opts Options

	Time          runstate.Clock       `json:"time,omitzero"`
	Step          string               `json:"step"`
	Notes         []pendingwrites.Note `json:"notes,omitempty"`
	Paused        bool                 `json:"paused,omitempty"`
	BudgetSpent   bool                 `json:"told,omitempty"`       // the budget is spent
	StopReason    string               `json:"end,omitempty"`        // why no further look is made
	Calls         int                  `json:"calls,omitempty"`      // maximum number of calls, if limited
	TimeLimit     time.Duration        `json:"allowed_ns,omitempty"` // time limit, if the user changed it
	AwaitedKey    string               `json:"ask,omitempty"`        // key of the awaited call
	AskSince      int64                `json:"ask_since_ms,omitempty"`
	LastError     string               `json:"fault,omitempty"`          // error of the last call
	Retry         retry                `json:"retry,omitzero"`           // of a plan, reflection or judgement
	FormatIgnored bool                 `json:"format_ignored,omitempty"` // the model ignored the format when asked for it again
	Outcome       *runstate.End        `json:"out,omitempty"`            // how the run ends, once it does

	StopCode     ponder.EndReason `json:"end_code,omitempty"`     // of StopReason
	ReachedLimit runstate.Reason  `json:"limit_reached,omitzero"` // the limit that BudgetSpent names
	Speed        llm.Speed        `json:"speed,omitzero"`         // of the models so far

	Effort       string       `json:"effort,omitempty"`
	Plan         plan         `json:"plan,omitzero"`
	Planning     bool         `json:"planning,omitempty"`
	Proposal     *plan        `json:"proposal,omitempty"` // waits for approval
	Offered      bool         `json:"offered,omitempty"`  // the user can see the proposal
	Approved     bool         `json:"approved,omitempty"` // search the queries of the plan alone
	PlanSince    int64        `json:"plan_since_ms,omitempty"`
	Round        int          `json:"round,omitempty"`
	Lookups      []lookupCall `json:"looks,omitempty"` // of this round of looks or tools
	RoundAt      int64        `json:"round_at_ms,omitempty"`
	RoundSpent   int          `json:"round_spent,omitempty"` // calls before the round
	Slowest      int64        `json:"slowest,omitempty"`     // duration of the slowest finished look, in ms
	Opened       int          `json:"opened,omitempty"`
	Read         []string     `json:"read,omitempty"`  // keys of requested pages
	Asked        []string     `json:"asked,omitempty"` // keys of queries
	Reached      []string     `json:"reached,omitempty"`
	Failed       []string     `json:"failed,omitempty"`
	RoundHistory roundHistory `json:"worth,omitzero"`
	Counts       counts       `json:"counts,omitzero"`
	Tools        []toolCount  `json:"tools,omitempty"`   // sources by the tool that found them first
	Sources      []string     `json:"sources,omitempty"` // keys of sources

	Evidence  []piece           `json:"evidence,omitempty"`
	Questions []question        `json:"questions,omitempty"`
	Mind      []background.Note `json:"mind,omitempty"` // background notes at the start
	Facts     []fact            `json:"facts,omitempty"`
	steerstate.SourceFilter
	Persona Persona        `json:"persona,omitzero"` // if the user changed it
	Limits  *ponder.Budget `json:"limits,omitempty"` // of the run, if the user changed them

	MemoryText   string            `json:"memory_text,omitempty"` // of the memory, formatted by its tool: see Options.MemoryContext
	Work         *answerInProgress `json:"work,omitempty"`        // the answer being written
	Revision     *revision         `json:"revision,omitempty"`
	Draft        *draft            `json:"draft,omitempty"` // the answer being checked
	SmallContext bool              `json:"small,omitempty"` // the model has a small context, or is too slow for more
	Pack         int               `json:"pack,omitempty"`  // bytes of evidence, after a model refused more; see shrinkEvidence
	Bare         bool              `json:"bare,omitempty"`  // no tools for the model, for lack of room
}

// counts number keys and events.
type counts struct {
	Calls     int `json:"calls,omitempty"` // finished calls
	Lookups   int `json:"looks,omitempty"`
	Evidence  int `json:"evidence,omitempty"`
	Questions int `json:"questions,omitempty"`
	Facts     int `json:"facts,omitempty"`
	Written   int `json:"written,omitempty"`   // calls for the answer
	Iteration int `json:"iteration,omitempty"` // completed uses of tools
	Judged    int `json:"judged,omitempty"`
	Reflected int `json:"reflected,omitempty"`

	Plans    int `json:"plans,omitempty"`
	Found    int `json:"found,omitempty"`
	Progress int `json:"told,omitempty"`
	Steered  int `json:"steered,omitempty"`
}

type toolCount struct {
	Tool string `json:"tool"`
	N    int    `json:"n"`
}

type question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Priority int    `json:"priority"`
	User     bool   `json:"user,omitempty"`
}

const firstKey = "plan-1"

func (s *state) elapsedSeconds() float64 { return s.Time.Seconds() }

// Apply implements [ponder.State]. It changes a copy and clones shared data first.
func (s *state) Apply(ev ponder.Event) ponder.State {
	if !s.isRelevant(ev) {
		return s
	}
	next := *s
	next.Time = s.Time.Advance(ev, s.run.ID, firstKey)
	next.applyEvent(ev)
	next.advance()
	return &next
}

func (s *state) isRelevant(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallFinished, ponder.ToolResult, ponder.BudgetSpent:
		return ev.Run == s.run.ID
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return true
	case ponder.Observation:
		_, ok := background.NoteFrom(ev)
		return ok && s.Planning
	}
	return ev.Run == s.run.ID && (pendingwrites.IsLastEvent(ev.Cause) || s.Retry.Key != "" && strings.Contains(ev.Cause, "/"))
}

func (s *state) applyEvent(ev ponder.Event) {
	key, _, _ := strings.Cut(ev.Cause, "#")
	switch b := ev.Body.(type) {
	case ponder.Steer:
		switch b.Do {
		case ponder.SetPlan:
			s.applyPlanEdit(ev.ID, b.Args)
		case ponder.RewriteSection:
			s.applyRevision(ev.ID, b)
		default:
			s.applySteer(ev.ID, b)
		}
	case ponder.Observation:
		n, _ := background.NoteFrom(ev)
		s.Mind = background.AppendNote(s.Mind, n)
	case ponder.RunPaused:
		s.Paused = true
		if isPlanPause(ev) {
			s.Offered, s.Notes = true, pendingwrites.RemoveCompleted(s.Notes, ev.Cause)
		}
	case ponder.RunResumed:
		s.Paused = false
		s.approvePlan()
	case ponder.BudgetSpent:
		s.BudgetSpent, s.ReachedLimit = true, runstate.BudgetReason(b)
		if b.What == "time" || s.Step != gathering && s.Step != proposing {
			s.concludeRun(s.ReachedLimit)
			return
		}
		s.setStopReason(s.ReachedLimit) // looks cost no calls
		if s.Step == proposing && s.Planning {
			s.skipPlan(s.StopReason)
		}
		s.Planning = false
	case ponder.CallFinished:
		s.Counts.Calls++
		s.Speed = s.Speed.Learn(callTiming(b))
		s.applyCall(key, b)
	case ponder.ToolResult:
		s.applyLookup(key, b)
	default:
		key, _, _ = strings.Cut(ev.Cause, "/")
		if s.applyWithoutRetry(key); pendingwrites.IsLastEvent(ev.Cause) {
			s.Notes = pendingwrites.RemoveCompleted(s.Notes, ev.Cause)
			s.applyTimeout(key)
		}
	}
}

func (s *state) applyCall(key string, b ponder.CallFinished) {
	switch {
	case s.Planning && key == s.Retry.attemptKey(planKey):
		s.applyPlan(b)
	case s.Step == reflecting && key == s.awaitedCall():
		s.applyReflection(b)
	case s.Step == writing && s.Work != nil && key == s.Work.callKey():
		s.applyAnswer(b)
	case s.Step == judging && key == s.awaitedCall():
		s.applyVerdicts(b)
	}
}

// queueWrite adds a Write of bodies under prefix and the incremented n.
func (s *state) queueWrite(prefix string, n *int, add ...ponder.Body) {
	s.Notes = runstate.AppendWrite(s.Notes, prefix, n, add)
}

// notifyUser writes a progress for the user.
func (s *state) notifyUser(stage, label, content string) {
	s.queueWrite("told", &s.Counts.Progress, ponder.Progress{Content: content, Stage: stage, Label: label, Iteration: s.Counts.Iteration})
}

func (s *state) failRun(why string) { s.endRun(runstate.Failed(why)) }

func (s *state) endRun(o runstate.End) {
	s.Outcome, s.Step, s.Lookups, s.Work, s.Draft, s.Planning = &o, done, nil, nil, nil, false
}

func (s *state) canGather() bool { return s.canSearch() || s.opts.Web }

func (s *state) canSearch() bool { return len(s.opts.Docs) > 0 || s.opts.Memory }

func (s *state) activePersona() Persona {
	if s.Persona != (Persona{}) {
		return s.Persona
	}
	return s.opts.Persona
}
