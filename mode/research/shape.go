package research

import (
	"encoding/json"
	"time"

	"ponder"
	"ponder/mode/internal/usage"
)

// A View is a research as people and programs are shown it: a fold over the events of
// its thread. Its JSON is what is exported. Nothing internal is in it but sums of
// usage. It has one owner; see [View.Apply].
//
// Quotes, claims and conflicts are as they are in the log, byte for byte, for passages
// are bytes of them: whoever shows them on a terminal cleans them. All other text is
// clean.
type View struct {
	Research  Research          `json:"research"`
	Plans     []Plan            `json:"plans"`     // oldest first
	Queries   []Query           `json:"queries"`   // each use of a tool, in the order in which they began
	Evidence  []Evidence        `json:"evidence"`  // in the order in which it was found
	Claims    []Claim           `json:"claims"`    // in the order of the answer
	Conflicts []ponder.Conflict `json:"conflicts"` // between the sources
	Removed   []string          `json:"removed_citations"`
	Timeline  []Moment          `json:"timeline"`
	Questions []Question        `json:"questions"`

	// Steering is what users wished for while it went on, oldest first.
	Steering []Steering `json:"steering,omitempty"`
	Pinned   []string   `json:"pinned_sources,omitempty"`
	Banned   []string   `json:"banned_sources,omitempty"`

	// References is the newest count of the sources.
	References Summary `json:"reference_summary"`

	// Notes are remarks of the program, such as which files were not read.
	Notes []string `json:"notes,omitempty"`

	// BrokeOff says how what the model wrote for the answer broke off: see
	// [llm.Finish.BrokeOff]. It is empty if it did not.
	BrokeOff string `json:"-"`

	only ponder.RunID // the run to show; the newest if it is empty
	fold viewFold
}

// A Research is the head of a research.
type Research struct {
	ID         ponder.ThreadID `json:"id"`
	Run        ponder.RunID    `json:"run_id"`
	Question   string          `json:"question"`
	Status     ponder.Status   `json:"status"`
	Started    time.Time       `json:"started_at,omitzero"`
	Paused     time.Time       `json:"paused_at,omitzero"` // while it is paused
	Completed  time.Time       `json:"completed_at,omitzero"`
	Answer     string          `json:"answer"`     // what is not borne out is marked; empty until there is one
	Confidence float64         `json:"confidence"` // 0 to 1; of the answer
	Insights   []string        `json:"key_insights,omitempty"`
	Remaining  []string        `json:"remaining_questions,omitempty"` // what could not be found out
	StopReason string          `json:"stop_reason"`
	Error      string          `json:"error_message"`
	Effort     string          `json:"effort,omitempty"` // trivial, normal or deep
	Stage      string          `json:"stage,omitempty"`  // the newest of its progress
	Rounds     int             `json:"rounds"`           // of queries
	Model      string          `json:"model_id"`         // the last that answered; empty if none has
	Unaided    bool            `json:"without_model,omitempty"`
	CutShort   string          `json:"cut_short,omitempty"` // which budget was spent before its end
	Persona    Persona         `json:"persona,omitzero"`
	Setup      Setup           `json:"options"`
	Budget     usage.Limits    `json:"budget"`
	Usage      Usage           `json:"usage"`
	Elapsed    float64         `json:"elapsed_seconds"` // of work; pauses are not counted
	Percentage float64         `json:"percentage"`      // of the budget that is nearest to its end
	Fork       *Fork           `json:"fork,omitempty"`
}

// What the calls of a research used and may use.
type (
	Limits     = usage.Limits
	Usage      = usage.Usage
	ModelUsage = usage.Model
)

// A Setup is how a research was started.
type Setup struct {
	MaxRounds int             `json:"maxRounds"`
	MaxItems  int             `json:"maxItemsPerSource"`
	Parallel  int             `json:"maxParallelQueries"`
	ForceWeb  bool            `json:"forceWebSearch,omitempty"`
	Strategy  string          `json:"synthesisStrategy"`
	Docs      []string        `json:"docs,omitempty"`
	Memory    bool            `json:"memory,omitempty"`        // is looked into
	Web       bool            `json:"web,omitempty"`           // likewise
	Others    bool            `json:"others_tools,omitempty"`  // tools of others are used
	Unaided   bool            `json:"without_model,omitempty"` // as it was wished
	Since     ponder.ThreadID `json:"since,omitempty"`         // of the report that is brought up to date
}

// A Fork is where a thread was copied from.
type Fork struct {
	From ponder.ThreadID `json:"from_thread"`
	At   ponder.Seq      `json:"from_seq"`
}

// A Plan is how a round of queries was planned.
type Plan struct {
	Text    string   `json:"text,omitempty"`
	Round   int      `json:"round,omitempty"`
	Effort  string   `json:"effort,omitempty"`
	Steps   []string `json:"steps"`
	Terms   []string `json:"terms"`
	Web     []string `json:"web_queries"`
	Memory  []string `json:"memory_queries"` // of the memory and the documents
	Queries []string `json:"queries,omitempty"`
	Unaided bool     `json:"without_model,omitempty"`
	Model   string   `json:"model_id,omitempty"`
	At      float64  `json:"at_seconds"` // of work
}

// A Query is a use of a tool that looks something up: a search, or the reading of a page.
type Query struct {
	Tool  string  `json:"tool"`
	Text  string  `json:"query"` // what was searched for, or the address that was read
	Round int     `json:"round,omitempty"`
	At    float64 `json:"at_seconds"`
	Took  float64 `json:"took_seconds"`
	Found int     `json:"found"` // passages that it brought first
	Done  bool    `json:"done"`
	Age   int     `json:"kept_seconds,omitempty"` // how old the oldest answer is that was kept, in seconds
	Error string  `json:"error,omitempty"`
}

// Evidence is a passage that was gathered.
type Evidence struct {
	ponder.Evidence
	Quote   string    `json:"quote"` // exactly its Content
	FoundBy []string  `json:"found_by_tools"`
	Best    float64   `json:"best_score"` // of all passages of its source
	Cited   bool      `json:"cited"`      // by the answer
	Pinned  bool      `json:"pinned,omitempty"`
	Banned  bool      `json:"banned,omitempty"`
	Event   string    `json:"event_id"`
	At      float64   `json:"at_seconds"` // of work
	Created time.Time `json:"created_at"`
}

// A Claim is a sentence of the answer that can be right or wrong. Its place is that in
// the answer before it was marked.
type Claim struct {
	ponder.Claim
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"` // why its verdict is what it is
}

// A Moment is something that happened. Its stage is that of a progress (planning,
// research, analysis, synthesis, reflection, note), or says what else it is: steered,
// wish, paused, resumed, budget, failed, finished.
type Moment struct {
	At         float64         `json:"at_seconds"` // of work
	Time       time.Time       `json:"time"`
	Stage      string          `json:"stage"`
	Label      string          `json:"label,omitempty"`
	Message    string          `json:"message"`
	Step       int             `json:"plan_step,omitempty"`
	Total      int             `json:"total_steps,omitempty"`
	Iteration  int             `json:"iteration,omitempty"`
	Confidence float64         `json:"confidence,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	Query      string          `json:"query,omitempty"`
	New        int             `json:"new_passages,omitempty"`
	Error      string          `json:"error,omitempty"`
	Meta       json.RawMessage `json:"metadata,omitempty"` // all that a progress says
}

// A Question is a part of the question that is looked into on its own.
type Question struct {
	ID       string  `json:"id"`
	Parent   string  `json:"parent_id,omitempty"`
	Text     string  `json:"question_text"`
	Priority int     `json:"priority"`
	Why      string  `json:"why,omitempty"`
	By       string  `json:"by,omitempty"` // who asks, if it is not the mode: "user"
	Explored bool    `json:"explored"`
	Dropped  bool    `json:"dropped,omitempty"` // not wanted any more
	Insights string  `json:"insights_gained,omitempty"`
	Reason   string  `json:"reason,omitempty"` // why it changed last
	Unaided  bool    `json:"without_model,omitempty"`
	At       float64 `json:"at_seconds"`
}

// Steering is a wish of a user while a research went on, and what came of it.
type Steering struct {
	ID      string         `json:"id"` // of the event
	Order   ponder.SteerOp `json:"order,omitempty"`
	Content string         `json:"content,omitempty"`
	Target  string         `json:"target,omitempty"` // what it is about, or the new limits
	At      float64        `json:"at_seconds"`
	Created time.Time      `json:"created_at"`

	// What came of it: nothing yet, if Seq is 0.
	Seq       ponder.Seq `json:"effective_seq,omitempty"` // of the event that acknowledges it
	Effect    string     `json:"effect,omitempty"`        // in words
	Refused   bool       `json:"refused,omitempty"`
	Cancelled []string   `json:"cancelled,omitempty"` // keys of what was in flight and was put an end to
	Effective float64    `json:"effective_at_seconds,omitempty"`

	source string        // to pin or ban
	name   string        // of a persona
	limits ponder.Budget // that are wished for
}
