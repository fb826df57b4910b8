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

// The efforts.
const (
	trivial = "trivial"
	normal  = "normal"
	deep    = "deep"
)

// A piece is a passage that was gathered. Its id is e and N.
type piece struct {
	N       int      `json:"n"`
	Source  string   `json:"source"` // a path or a URL
	Title   string   `json:"title,omitempty"`
	Section string   `json:"section,omitempty"`
	Quote   string   `json:"quote"`             // exactly the content of its event; what may be shown is shown()
	Context string   `json:"context,omitempty"` // what stands around it, to read only
	Score   float64  `json:"score,omitempty"`   // of the search, 0 to 1: how well it fits what was asked
	Worth   float64  `json:"worth,omitempty"`   // of what is known of its source, 0 to 1: evidence.Weight; 1 if nothing is known
	Terms   []string `json:"terms,omitempty"`   // words of the query that are in it: lower case, sorted
	Query   string   `json:"query,omitempty"`   // that found it first
	Tool    string   `json:"tool,omitempty"`    // likewise
	Round   int      `json:"round,omitempty"`   // of looks

	URL       string    `json:"url,omitempty"`
	Kind      string    `json:"kind,omitempty"` // file, memory, document, post, journal, thread, page; fact: the user says it
	Author    string    `json:"author,omitempty"`
	Published time.Time `json:"published,omitzero"`
	Fetched   time.Time `json:"fetched,omitzero"`
	Cluster   string    `json:"cluster,omitempty"`   // the same for copies of one text: see voice
	Copy      string    `json:"copy,omitempty"`      // the id of the piece that it says again, word for word
	Voices    int       `json:"voices,omitempty"`    // independent sources that say the same, as its search said
	Known     bool      `json:"known,omitempty"`     // an older report had it
	Rated     bool      `json:"rated,omitempty"`     // something is known of how good its source is
	Untrusted bool      `json:"untrusted,omitempty"` // strangers wrote it; it is tamed
	Addressed bool      `json:"addressed,omitempty"` // it is meant for programs, and is not quoted

	Orders bool `json:"orders,omitempty"` // of the user's own: it speaks to programs, and is not quoted where no model weighs it

	Key  string `json:"key,omitempty"`  // of its hit
	Same string `json:"same,omitempty"` // what its words are known by
	Page string `json:"page,omitempty"` // what its page is known by

	words []string // of the quote; made again when a state is loaded
}

// id returns what a piece is cited by.
func (p piece) id() string { return "e" + strconv.Itoa(p.N) }

// voice returns whose a piece is: copies of one text have one voice, whoever
// publishes them, and so have all passages of one source.
func (p piece) voice() string {
	if p.Cluster != "" {
		return p.Cluster
	}
	return p.Source
}

// quotable reports whether a piece may be quoted in an answer.
func (p piece) quotable() bool { return p.Copy == "" && !p.Addressed }

// weight is what a piece counts: how well it fits, times what its source is worth.
func (p piece) weight() float64 { return p.Score * p.Worth }

// shown returns the quote as a prompt or an answer may have it: on one line, without
// what could be obeyed, and without what looks like a citation or a mark of the check.
func (p piece) shown() string {
	return lookup.Defused(lookup.Tame(planted.ReplaceAllString(textkit.OneLine(p.Quote), "")))
}

// planted matches what looks like a mark of the check in what others wrote.
var planted = regexp.MustCompile(`(?i)\s*[\[(【]\s*(?:(?:fully |partly |not |un)?(?:verified|supported)|fact[- ]checked|confirmed|contradicted(?: by [^\])】]{0,20})?)[^\])】\pL]{0,5}[\])】]`)

// from reports whether a piece is from the source that is named.
func (p piece) from(name string) bool {
	return p.Kind != factKind && (lookup.IsOf(p.Source, name) || p.URL != "" && lookup.IsOf(p.URL, name))
}

// The steps.
const (
	gathering  = "gather"
	reflecting = "reflect"
	writing    = "write"
	judging    = "judge"
	done       = "done"
)

// A state is what research knows. What is exported is kept in checkpoints.
type state struct {
	run  ponder.Run
	opts Options

	Time     runstate.Clock       `json:"time,omitzero"`
	Step     string               `json:"step"`
	Notes    []pendingwrites.Note `json:"notes,omitempty"`
	Paused   bool                 `json:"paused,omitempty"`
	Told     bool                 `json:"told,omitempty"` // that the budget is spent
	ToldAt   int64                `json:"told_at_ms,omitempty"`
	End      string               `json:"end,omitempty"`        // why no more is looked up
	Calls    int                  `json:"calls,omitempty"`      // the most it may make, if there is such a limit
	Allowed  time.Duration        `json:"allowed_ns,omitempty"` // the time it may take, if the user has changed it
	Ask      string               `json:"ask,omitempty"`        // the key of the call that the step waits for
	AskSince int64                `json:"ask_since_ms,omitempty"`
	Fault    string               `json:"fault,omitempty"` // how the last call failed
	Retry    retry                `json:"retry,omitzero"`  // of a plan, a reflection or a judgement
	Out      *runstate.End        `json:"out,omitempty"`   // how it ends, once it does

	Effort     string   `json:"effort,omitempty"`
	Plan       plan     `json:"plan,omitzero"`      // all that was planned
	Planning   bool     `json:"planning,omitempty"` // a model does
	PlanSince  int64    `json:"plan_since_ms,omitempty"`
	Round      int      `json:"round,omitempty"`
	Looks      []look   `json:"looks,omitempty"`       // of the round at hand, or of a round of tools
	RoundAt    int64    `json:"round_at_ms,omitempty"` // when the round began
	RoundSpent int      `json:"round_spent,omitempty"` // what was asked before it, of models and tools
	Slowest    int64    `json:"slowest,omitempty"`     // of the looks that were answered, in ms
	Opened     int      `json:"opened,omitempty"`      // pages in this round
	Read       []string `json:"read,omitempty"`        // what pages are known by that were asked for
	Asked      []string `json:"asked,omitempty"`       // queries, with their kind
	Reached    []string `json:"reached,omitempty"`     // kinds of looks that were answered
	Failed     []string `json:"failed,omitempty"`      // kinds of looks that failed
	Worth      worth    `json:"worth,omitzero"`
	Counts     counts   `json:"counts,omitzero"`
	Tools      []tally  `json:"tools,omitempty"`   // sources by the tool that found them first
	Sources    []string `json:"sources,omitempty"` // what they are known by

	Evidence  []piece           `json:"evidence,omitempty"`
	Questions []question        `json:"questions,omitempty"` // that are open
	Mind      []background.Note `json:"mind,omitempty"`      // what was on the user's mind when it began
	Facts     []fact            `json:"facts,omitempty"`     // that the user has corrected
	steering.SourceFilter
	Persona Persona `json:"persona,omitzero"` // if the user has changed it

	Work  *work  `json:"work,omitempty"`  // the answer that is being written
	Draft *draft `json:"draft,omitempty"` // the answer that is being checked
	Small bool   `json:"small,omitempty"` // the model can't read much at once
}

// counts are how many there are of each thing. They number keys and events.
type counts struct {
	Calls     int `json:"calls,omitempty"` // that were answered, or failed for good
	Looks     int `json:"looks,omitempty"`
	Evidence  int `json:"evidence,omitempty"`
	Questions int `json:"questions,omitempty"`
	Facts     int `json:"facts,omitempty"`
	Written   int `json:"written,omitempty"`   // calls that an answer was asked with
	Iteration int `json:"iteration,omitempty"` // uses of tools that came back
	Judged    int `json:"judged,omitempty"`
	Reflected int `json:"reflected,omitempty"`

	Plans   int `json:"plans,omitempty"` // writes of each kind
	Found   int `json:"found,omitempty"`
	Told    int `json:"told,omitempty"`
	Steered int `json:"steered,omitempty"`
}

// A tally counts the sources that a tool found first.
type tally struct {
	Tool string `json:"tool"`
	N    int    `json:"n"`
}

// A question is a part of the user's question.
type question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Priority int    `json:"priority"`
	User     bool   `json:"user,omitempty"`
}

// firstKey is the key of the first Write.
const firstKey = "plan-1"

func (s *state) offset() float64 { return s.Time.Seconds() }

// Apply implements [ponder.State]. What changes the state does so on the copy that
// is returned, and copies what it refers to.
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

// minds reports whether ev may change anything.
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

// see changes the state by an event that it minds.
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
		} else { // looking things up costs no calls
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

// called takes in what a call came to.
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

// note adds a Write of bodies, whose key is the prefix and n, counted up.
func (s *state) note(prefix string, n *int, add ...ponder.Body) {
	s.Notes = runstate.Write(s.Notes, prefix, n, add)
}

// tell tells the user what goes on.
func (s *state) tell(stage, label, content string) {
	s.note("told", &s.Counts.Told, ponder.Progress{Content: content, Stage: stage, Label: label, Iteration: s.Counts.Iteration})
}

// fail ends the run without an answer.
func (s *state) fail(why string) { s.end(runstate.Failed(why)) }

func (s *state) end(o runstate.End) {
	s.Out, s.Step, s.Looks, s.Work, s.Draft, s.Planning = &o, done, nil, nil, nil, false
}

// gathers reports whether there is anything to look things up in.
func (s *state) gathers() bool { return s.searches() || s.opts.Web }

// searches reports whether there are documents or a memory to look things up in.
func (s *state) searches() bool { return len(s.opts.Docs) > 0 || s.opts.Memory }

func (s *state) persona() Persona {
	if s.Persona != (Persona{}) {
		return s.Persona
	}
	return s.opts.Persona
}
