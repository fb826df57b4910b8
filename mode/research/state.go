package research

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/background"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/pendingwrites"
	"ponder/mode/internal/runstate"
	"ponder/mode/internal/steering"
)

const (
	trivial = "trivial"
	normal  = "normal"
	deep    = "deep"
)

type piece struct {
	N       int      `json:"n"`
	Source  string   `json:"source"` // a path or URL
	Title   string   `json:"title,omitempty"`
	Section string   `json:"section,omitempty"`
	Quote   string   `json:"quote"`             // equals the content of its event; display shown() instead
	Context string   `json:"context,omitempty"` // surrounding text, not citable
	Score   float64  `json:"score,omitempty"`   // relevance by the search, 0 to 1
	Worth   float64  `json:"worth,omitempty"`   // evidence.Weight of the source, 0 to 1; 1 if unknown
	Terms   []string `json:"terms,omitempty"`   // matched words of the query: lower case, sorted
	Query   string   `json:"query,omitempty"`
	Tool    string   `json:"tool,omitempty"`
	Round   int      `json:"round,omitempty"`

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

	Orders bool `json:"orders,omitempty"` // addresses programs in the user's own text; not quoted without a model

	Key  string `json:"key,omitempty"`
	Same string `json:"same,omitempty"` // identifies its words
	Page string `json:"page,omitempty"` // identifies its page

	words []string // of the quote; recomputed by load
}

func (p piece) id() string { return "e" + strconv.Itoa(p.N) }

// voice identifies the author of a piece: its cluster of copies, else its source.
func (p piece) voice() string {
	if p.Cluster != "" {
		return p.Cluster
	}
	return p.Source
}

func (p piece) quotable() bool { return p.Copy == "" && !p.Addressed }

// weight is relevance times worth.
func (p piece) weight() float64 { return p.Score * p.Worth }

// shown returns the quote on one line, safe for prompts and answers: without instructions,
// citations or verification marks.
func (p piece) shown() string {
	return lookup.Defused(lookup.Tame(planted.ReplaceAllString(textkit.OneLine(p.Quote), "")))
}

// planted matches fake verification marks in quoted text.
var planted = regexp.MustCompile(`(?i)\s*[\[(【]\s*(?:(?:fully |partly |not |un)?(?:verified|supported)|fact[- ]checked|confirmed|contradicted(?: by [^\])】]{0,20})?)[^\])】\pL]{0,5}[\])】]`)

func (p piece) from(name string) bool {
	return p.Kind != factKind && (lookup.IsOf(p.Source, name) || p.URL != "" && lookup.IsOf(p.URL, name))
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

	Time     runstate.Clock       `json:"time,omitzero"`
	Step     string               `json:"step"`
	Notes    []pendingwrites.Note `json:"notes,omitempty"`
	Paused   bool                 `json:"paused,omitempty"`
	Told     bool                 `json:"told,omitempty"` // the budget is spent
	ToldAt   int64                `json:"told_at_ms,omitempty"`
	End      string               `json:"end,omitempty"`        // why no further look is made
	Calls    int                  `json:"calls,omitempty"`      // maximum number of calls, if limited
	Allowed  time.Duration        `json:"allowed_ns,omitempty"` // time limit, if the user changed it
	Ask      string               `json:"ask,omitempty"`        // key of the awaited call
	AskSince int64                `json:"ask_since_ms,omitempty"`
	Fault    string               `json:"fault,omitempty"` // error of the last call
	Retry    retry                `json:"retry,omitzero"`  // of a plan, reflection or judgement
	Out      *runstate.End        `json:"out,omitempty"`   // how the run ends, once it does

	Effort     string   `json:"effort,omitempty"`
	Plan       plan     `json:"plan,omitzero"`
	Planning   bool     `json:"planning,omitempty"`
	PlanSince  int64    `json:"plan_since_ms,omitempty"`
	Round      int      `json:"round,omitempty"`
	Looks      []look   `json:"looks,omitempty"` // of this round of looks or tools
	RoundAt    int64    `json:"round_at_ms,omitempty"`
	RoundSpent int      `json:"round_spent,omitempty"` // calls before the round
	Slowest    int64    `json:"slowest,omitempty"`     // duration of the slowest finished look, in ms
	Opened     int      `json:"opened,omitempty"`
	Read       []string `json:"read,omitempty"`  // keys of requested pages
	Asked      []string `json:"asked,omitempty"` // keys of queries
	Reached    []string `json:"reached,omitempty"`
	Failed     []string `json:"failed,omitempty"`
	Worth      worth    `json:"worth,omitzero"`
	Counts     counts   `json:"counts,omitzero"`
	Tools      []tally  `json:"tools,omitempty"`   // sources by the tool that found them first
	Sources    []string `json:"sources,omitempty"` // keys of sources

	Evidence  []piece           `json:"evidence,omitempty"`
	Questions []question        `json:"questions,omitempty"`
	Mind      []background.Note `json:"mind,omitempty"` // background notes at the start
	Facts     []fact            `json:"facts,omitempty"`
	steering.SourceFilter
	Persona Persona `json:"persona,omitzero"` // if the user changed it

	Work  *work  `json:"work,omitempty"`  // the answer being written
	Draft *draft `json:"draft,omitempty"` // the answer being checked
	Small bool   `json:"small,omitempty"` // the model has a small context
}

// counts number keys and events.
type counts struct {
	Calls     int `json:"calls,omitempty"` // finished calls
	Looks     int `json:"looks,omitempty"`
	Evidence  int `json:"evidence,omitempty"`
	Questions int `json:"questions,omitempty"`
	Facts     int `json:"facts,omitempty"`
	Written   int `json:"written,omitempty"`   // calls for the answer
	Iteration int `json:"iteration,omitempty"` // completed uses of tools
	Judged    int `json:"judged,omitempty"`
	Reflected int `json:"reflected,omitempty"`

	Plans   int `json:"plans,omitempty"`
	Found   int `json:"found,omitempty"`
	Told    int `json:"told,omitempty"`
	Steered int `json:"steered,omitempty"`
}

type tally struct {
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

func (s *state) offset() float64 { return s.Time.Seconds() }

// Apply implements [ponder.State]. It changes a copy and clones shared data first.
func (s *state) Apply(ev ponder.Event) ponder.State {
	if !s.minds(ev) {
		return s
	}
	next := *s
	next.Time = s.Time.After(ev, s.run.ID, firstKey)
	next.see(ev)
	next.wind()
	return &next
}

func (s *state) minds(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallFinished, ponder.ToolResult, ponder.BudgetSpent:
		return ev.Run == s.run.ID
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return true
	case ponder.Observation:
		_, ok := background.Of(ev)
		return ok && s.Planning
	}
	return ev.Run == s.run.ID && (pendingwrites.Ends(ev.Cause) || s.Retry.Key != "" && strings.Contains(ev.Cause, "/"))
}

func (s *state) see(ev ponder.Event) {
	key, _, _ := strings.Cut(ev.Cause, "#")
	switch b := ev.Body.(type) {
	case ponder.Steer:
		s.applySteer(ev.ID, b)
	case ponder.Observation:
		n, _ := background.Of(ev)
		s.Mind = background.With(s.Mind, n)
	case ponder.RunPaused:
		s.Paused = true
	case ponder.RunResumed:
		s.Paused = false
	case ponder.BudgetSpent:
		s.Told, s.ToldAt = true, s.Time.Milliseconds()
		if b.What == "time" || s.Step != gathering {
			s.conclude(runstate.BudgetSpent(b.What))
		} else { // looks cost no calls
			s.End, s.Planning = cmp.Or(s.End, runstate.BudgetSpent(b.What)), false
		}
	case ponder.CallFinished:
		s.Counts.Calls++
		s.called(key, b)
	case ponder.ToolResult:
		s.looked(key, b)
	default:
		key, _, _ = strings.Cut(ev.Cause, "/")
		if s.unretried(key); pendingwrites.Ends(ev.Cause) {
			s.Notes = pendingwrites.Without(s.Notes, ev.Cause)
			s.gaveUp(key)
		}
	}
}

func (s *state) called(key string, b ponder.CallFinished) {
	switch {
	case s.Planning && key == s.Retry.key(planKey):
		s.planned(b)
	case s.Step == reflecting && key == s.calling():
		s.reflected(b)
	case s.Step == writing && s.Work != nil && key == s.Work.key():
		s.wrote(b)
	case s.Step == judging && key == s.calling():
		s.judged(b)
	}
}

// note adds a Write of bodies under prefix and the incremented n.
func (s *state) note(prefix string, n *int, add ...ponder.Body) {
	s.Notes = runstate.Write(s.Notes, prefix, n, add)
}

// tell writes a progress for the user.
func (s *state) tell(stage, label, content string) {
	s.note("told", &s.Counts.Told, ponder.Progress{Content: content, Stage: stage, Label: label, Iteration: s.Counts.Iteration})
}

func (s *state) fail(why string) { s.end(runstate.Failed(why)) }

func (s *state) end(o runstate.End) {
	s.Out, s.Step, s.Looks, s.Work, s.Draft, s.Planning = &o, done, nil, nil, nil, false
}

func (s *state) gathers() bool { return s.searches() || s.opts.Web }

func (s *state) searches() bool { return len(s.opts.Docs) > 0 || s.opts.Memory }

func (s *state) persona() Persona {
	if s.Persona != (Persona{}) {
		return s.Persona
	}
	return s.opts.Persona
}
