package research

import (
	"encoding/json"
	"time"

	"ponder"
	"ponder/mode/internal/steerstate"
	"ponder/mode/internal/usage"
)

// View is a research for display, folded from the events of its thread. Its JSON is the export
// format. It omits internal data except usage totals. It is not safe for concurrent use; see
// [View.Apply].
//
// Quotes, claims and conflicts equal the log byte for byte, because passages are byte ranges;
// terminals must sanitize them. All other text is sanitized.
type View struct {
	Research  Research          `json:"research"`
	Plans     []Plan            `json:"plans"`              // oldest first
	Proposal  *Plan             `json:"proposal,omitempty"` // waits for the approval of the user
	Queries   []Query           `json:"queries"`            // uses of tools, in order of start
	Evidence  []Evidence        `json:"evidence"`           // in order of discovery
	Claims    []Claim           `json:"claims"`             // in order of the answer
	Conflicts []ponder.Conflict `json:"conflicts"`
	Removed   []string          `json:"removed_citations"`
	Timeline  []Moment          `json:"timeline"`
	Questions []Question        `json:"questions"`

	// Steering lists user commands, oldest first.
	Steering []SteerCommand `json:"steering,omitempty"`
	Pinned   []string       `json:"pinned_sources,omitempty"`
	Banned   []string       `json:"banned_sources,omitempty"`

	// References is the latest count of sources.
	References Summary `json:"reference_summary"`

	// Notes are remarks of the program, such as files not read.
	Notes []string `json:"notes,omitempty"`

	// BrokeOff says how the answer of the model broke off, or is empty; see [llm.Finish.DescribeIncomplete].
	BrokeOff string `json:"-"`

	fold viewFold
}

// Research is the summary of a research.
type Research struct {
	ID           ponder.ThreadID `json:"id"`
	Run          ponder.RunID    `json:"run_id"`
	Question     string          `json:"question"`
	Status       ponder.Status   `json:"status"`
	Started      time.Time       `json:"started_at,omitzero"`
	Paused       time.Time       `json:"paused_at,omitzero"`
	Completed    time.Time       `json:"completed_at,omitzero"`
	Answer       string          `json:"answer"`     // with unsupported claims marked; empty until written
	Confidence   float64         `json:"confidence"` // of the answer, 0 to 1
	Insights     []string        `json:"key_insights,omitempty"`
	Remaining    []string        `json:"remaining_questions,omitempty"` // unanswered questions
	StopReason   string          `json:"stop_reason"`
	Error        string          `json:"error_message"`
	Effort       string          `json:"effort,omitempty"`
	Stage        string          `json:"stage,omitempty"`
	Rounds       int             `json:"rounds"`
	Model        string          `json:"model_id"` // the last model that answered
	WithoutModel bool            `json:"without_model,omitempty"`
	CutShort     string          `json:"cut_short,omitempty"` // the exhausted budget, if it ended early
	Persona      Persona         `json:"persona,omitzero"`
	Setup        Setup           `json:"options"`
	Budget       usage.Limits    `json:"budget"`
	Usage        Usage           `json:"usage"`
	Elapsed      float64         `json:"elapsed_seconds"` // of work, without pauses
	Percentage   float64         `json:"percentage"`      // of the budget closest to its limit
	Fork         *Fork           `json:"fork,omitempty"`

	End     ponder.EndReason `json:"end_reason,omitempty"` // the code of StopReason, once the research has ended
	Refused bool             `json:"refused,omitempty"`    // the budget ended before the call for the answer
}

type (
	Limits     = usage.Limits
	Usage      = usage.Usage
	ModelUsage = usage.Model
)

// Setup is the options of a research.
type Setup struct {
	MaxRounds    int             `json:"maxRounds"`
	MaxItems     int             `json:"maxItemsPerSource"`
	Parallel     int             `json:"maxParallelQueries"`
	ForceWeb     bool            `json:"forceWebSearch,omitempty"`
	Strategy     string          `json:"synthesisStrategy"`
	Docs         []string        `json:"docs,omitempty"`
	Memory       bool            `json:"memory,omitempty"`
	Web          bool            `json:"web,omitempty"`
	Others       bool            `json:"others_tools,omitempty"`
	WithoutModel bool            `json:"without_model,omitempty"` // as requested
	Since        ponder.ThreadID `json:"since,omitempty"`         // thread of the updated report
}

// Fork is the origin of a copied thread.
type Fork struct {
	From ponder.ThreadID `json:"from_thread"`
	At   ponder.Seq      `json:"from_seq"`
}

// Plan is the plan of a round.
type Plan struct {
	Text         string   `json:"text,omitempty"`
	Round        int      `json:"round,omitempty"`
	Effort       string   `json:"effort,omitempty"`
	Steps        []string `json:"steps"`
	Terms        []string `json:"terms"`
	Web          []string `json:"web_queries"`
	Memory       []string `json:"memory_queries"`
	Queries      []string `json:"queries,omitempty"`
	WithoutModel bool     `json:"without_model,omitempty"`
	Model        string   `json:"model_id,omitempty"`
	At           float64  `json:"at_seconds"` // of work
}

// Query is a use of a search or page-reading tool.
type Query struct {
	Tool  string  `json:"tool"`
	Text  string  `json:"query"` // the search text or page address
	Round int     `json:"round,omitempty"`
	At    float64 `json:"at_seconds"`
	Took  float64 `json:"took_seconds"`
	Found int     `json:"found"` // passages it found first
	Done  bool    `json:"done"`
	Age   int     `json:"kept_seconds,omitempty"` // age of the oldest cached answer
	Error string  `json:"error,omitempty"`
}

// Evidence is a gathered passage.
type Evidence struct {
	ponder.Evidence
	Quote   string    `json:"quote"`
	FoundBy []string  `json:"found_by_tools"`
	Best    float64   `json:"best_score"`
	Cited   bool      `json:"cited"`
	Pinned  bool      `json:"pinned,omitempty"`
	Banned  bool      `json:"banned,omitempty"`
	Event   string    `json:"event_id"`
	At      float64   `json:"at_seconds"` // of work
	Created time.Time `json:"created_at"`
}

// Claim is a checked sentence of the answer. Offsets refer to the answer before it was marked.
type Claim struct {
	ponder.Claim
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"`
}

// Moment is an entry of the timeline. Its stage is a stage of progress (planning, research,
// analysis, synthesis, reflection, note) or one of steered, wish, paused, resumed, budget, failed,
// finished.
type Moment struct {
	At         float64         `json:"at_seconds"`
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
	Meta       json.RawMessage `json:"metadata,omitempty"`
}

// Question is a part of the question that is researched separately.
type Question struct {
	ID           string  `json:"id"`
	Parent       string  `json:"parent_id,omitempty"`
	Text         string  `json:"question_text"`
	Priority     int     `json:"priority"`
	Why          string  `json:"why,omitempty"`
	By           string  `json:"by,omitempty"` // "user" if the user asked it
	Explored     bool    `json:"explored"`
	Dropped      bool    `json:"dropped,omitempty"` // by a command
	Insights     string  `json:"insights_gained,omitempty"`
	Reason       string  `json:"reason,omitempty"`
	WithoutModel bool    `json:"without_model,omitempty"`
	At           float64 `json:"at_seconds"`
}

// SteerCommand is a user command and its result.
type SteerCommand struct {
	ID      string         `json:"id"` // of the event
	Order   ponder.SteerOp `json:"order,omitempty"`
	Content string         `json:"content,omitempty"`
	Target  string         `json:"target,omitempty"`
	At      float64        `json:"at_seconds"`
	Created time.Time      `json:"created_at"`

	// The result; Seq is 0 while pending.
	Seq       ponder.Seq `json:"effective_seq,omitempty"` // of the acknowledgement
	Effect    string     `json:"effect,omitempty"`
	Refused   bool       `json:"refused,omitempty"`
	Cancelled []string   `json:"cancelled,omitempty"`
	Effective float64    `json:"effective_at_seconds,omitempty"`

	steerstate.Origin

	source string
	name   string
	limits ponder.LimitChange
}
