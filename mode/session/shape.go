package session

import (
	"strings"
	"time"

	"ponder"
	"ponder/mode/internal/steerstate"
	"ponder/mode/internal/usage"
)

// View is a session for display, folded from the events of its thread. Its JSON is the export
// format. It omits internal data except usage totals. It is not safe for concurrent use; see
// [View.Apply].
type View struct {
	Session   Session     `json:"session"`
	Thoughts  []Thought   `json:"thoughts"`
	Questions []Question  `json:"questions"`
	Syntheses []Synthesis `json:"syntheses"`
	Sources   []Source    `json:"sources"`

	// Steering lists user commands, oldest first.
	Steering    []SteerCommand `json:"steering,omitempty"`
	Corrections []Correction   `json:"corrections,omitempty"`
	Pinned      []string       `json:"pinned_sources,omitempty"`
	Banned      []string       `json:"banned_sources,omitempty"`

	// Notes are remarks of the program, such as files not read.
	Notes []string `json:"notes,omitempty"`

	// CutShort says that a budget other than time ended the session.
	CutShort bool `json:"-"`

	// Refused says that the budget ended before the call for the answer.
	Refused bool `json:"-"`

	// BrokeOff says how the answer of the model broke off, or is empty; see [llm.Finish.DescribeIncomplete].
	BrokeOff string `json:"-"`

	fold viewFold
}

// Session is the summary of a session.
type Session struct {
	ID         ponder.ThreadID `json:"id"`
	Run        ponder.RunID    `json:"run_id"`
	Question   string          `json:"original_question"`
	Minutes    float64         `json:"thinking_duration_minutes"` // 0: unlimited
	Model      string          `json:"model_id"`
	Status     ponder.Status   `json:"status"`
	Progress   Progress        `json:"progress"`
	Created    *time.Time      `json:"created_at"`
	Started    *time.Time      `json:"started_at"` // nil before the first action
	Paused     *time.Time      `json:"paused_at"`  // of the newest pause, also after a resume
	Resumed    *time.Time      `json:"resumed_at"`
	Completed  *time.Time      `json:"completed_at"`
	Final      string          `json:"final_synthesis"`
	Confidence []float64       `json:"confidence_evolution"`       // claimed values
	Trend      string          `json:"confidence_trend,omitempty"` // converging, diverging or plateau
	StopReason string          `json:"stop_reason"`
	Budget     Limits          `json:"budget"`
	Usage      Usage           `json:"usage"`
	Metadata   Metadata        `json:"metadata"`
	Error      string          `json:"error_message"`
	Resolution *Resolution     `json:"resolution,omitempty"` // nil until known

	Certainty // of the newest synthesis

	End ponder.EndReason `json:"end_reason,omitempty"` // the code of StopReason, once the session has ended
}

// Progress measures a session.
type Progress struct {
	Thoughts       int     `json:"total_thoughts"`
	Questions      int     `json:"total_questions"`
	Syntheses      int     `json:"total_syntheses"`
	Explored       int     `json:"explored_questions"`
	Dropped        int     `json:"dropped_questions,omitempty"`
	Merged         int     `json:"merged_thoughts,omitempty"`
	Focus          string  `json:"current_focus"`
	Foci           []Focus `json:"foci,omitempty"`  // current foci, oldest first
	Percentage     float64 `json:"percentage"`      // of the budget closest to its limit; 100 if completed
	PercentageOf   string  `json:"percentage_of"`   // that budget: time, calls, tokens or money
	TimePercentage float64 `json:"time_percentage"` // of the time, also if completed
	Elapsed        float64 `json:"elapsed_seconds"`
}

// Focus is a current subject.
type Focus struct {
	Round    int    `json:"round"`
	Text     string `json:"text"`
	Question string `json:"question_id,omitempty"` // empty for the user's question
}

type (
	Limits     = usage.Limits
	Usage      = usage.Usage
	ModelUsage = usage.Model
)

// Metadata is the options of a session.
type Metadata struct {
	SynthesisInterval float64  `json:"synthesis_interval_seconds"`
	Docs              []string `json:"docs,omitempty"`
	Memory            bool     `json:"memory,omitempty"`
	Web               bool     `json:"web,omitempty"`
	WithoutModel      bool     `json:"without_model,omitempty"` // at least in part
	Parallel          int      `json:"parallel,omitempty"`
}

// Thought is a thought of a session.
type Thought struct {
	ID           string          `json:"id"`
	Session      ponder.ThreadID `json:"session_id"`
	Number       int             `json:"sequence_number"`
	Text         string          `json:"thought_text"`
	Kind         string          `json:"thought_type"`
	Confidence   float64         `json:"confidence"`
	Importance   float64         `json:"importance"`
	Question     string          `json:"related_to_question_id,omitempty"`
	Focus        string          `json:"focus,omitempty"`
	Cites        []string        `json:"cites,omitempty"`
	Against      []string        `json:"contradicts,omitempty"`
	Repeats      int             `json:"said_again,omitempty"` // merged repeats
	WithoutModel bool            `json:"without_model,omitempty"`
	Assumed      bool            `json:"confidence_assumed,omitempty"` // the confidence is a default
	Offset       float64         `json:"time_offset_seconds"`
	Created      time.Time       `json:"created_at"`
}

// Question is a question of a session.
type Question struct {
	ID           string          `json:"id"`
	Session      ponder.ThreadID `json:"session_id"`
	Parent       string          `json:"parent_id,omitempty"` // empty: the user's question
	Text         string          `json:"question_text"`
	Priority     int             `json:"priority"`
	Why          string          `json:"why"`
	Explored     bool            `json:"explored"`
	Insights     string          `json:"insights_gained"`
	State        QuestionState   `json:"state"`
	By           string          `json:"by,omitempty"`          // "user" if the user asked it
	Repeats      int             `json:"asked_again,omitempty"` // merged repeats
	WithoutModel bool            `json:"without_model,omitempty"`
	Created      time.Time       `json:"created_at"`
}

// QuestionState is the state of a question.
type QuestionState string

const (
	Open      QuestionState = "open"
	Exploring QuestionState = "exploring"
	Explored  QuestionState = "explored"
	Dropped   QuestionState = "dropped" // by a command
)

// Synthesis is the understanding at a time.
type Synthesis struct {
	ID           string          `json:"id"`
	Session      ponder.ThreadID `json:"session_id"`
	Number       int             `json:"sequence_number"`
	Text         string          `json:"synthesis_text"`
	Insights     []string        `json:"key_insights"`
	Confidence   float64         `json:"confidence_level"`
	Remaining    []string        `json:"remaining_questions"`
	Cites        []string        `json:"cites,omitempty"`
	Trend        string          `json:"trend,omitempty"`
	Basis        ponder.Basis    `json:"basis,omitzero"`
	Final        bool            `json:"final,omitempty"`
	WithoutModel bool            `json:"without_model,omitempty"`
	Assumed      bool            `json:"confidence_assumed,omitempty"` // the confidence is a default
	Offset       float64         `json:"time_offset_seconds"`
	Created      time.Time       `json:"created_at"`

	Refused bool `json:"refused,omitempty"` // the budget ended before the call that writes it
}

// Source is a gathered quotation.
type Source struct {
	ID     string  `json:"id"`
	Source string  `json:"source"`
	Title  string  `json:"title"`
	Quote  string  `json:"quote"`
	Start  int     `json:"start"` // byte offsets in the source's text
	End    int     `json:"end"`
	Hash   string  `json:"hash,omitempty"`
	Score  float64 `json:"score,omitempty"`
	Cited  bool    `json:"cited"`

	Origin
}

// Origin is the known origin of a quotation.
type Origin struct {
	URL       string          `json:"url,omitempty"`
	Section   string          `json:"section,omitempty"`
	Page      int             `json:"page,omitempty"`
	Author    string          `json:"author,omitempty"`
	Published *time.Time      `json:"published,omitempty"`
	Fetched   *time.Time      `json:"fetched,omitempty"`
	Original  string          `json:"original,omitempty"` // SHA-256 of the archived copy
	FoundBy   *ponder.Found   `json:"found,omitempty"`
	Cluster   string          `json:"cluster,omitempty"` // shared by copies of one text
	Voices    int             `json:"voices,omitempty"`  // agreeing independent sources
	Quality   []ponder.Signal `json:"quality,omitempty"`
	Untrusted bool            `json:"untrusted,omitempty"` // written by others
}

// Earlier returns the thread of the earlier session that s comes from, if any. Title is then that
// session's question.
func (s Source) Earlier() (ponder.ThreadID, bool) {
	id, ok := strings.CutPrefix(s.Source, "thread:")
	return ponder.ThreadID(id), ok && id != ""
}

// Cites reports whether the newest synthesis, or the answer, cites a source.
func (v *View) Cites(id string) bool {
	if len(v.Syntheses) == 0 {
		return false
	}
	last := &v.Syntheses[len(v.Syntheses)-1]
	id = "[" + id + "]"
	for _, list := range [][]string{last.Insights, last.Remaining, {"[" + strings.Join(last.Cites, "][") + "]"}} {
		if strings.Contains(strings.Join(list, ""), id) {
			return true
		}
	}
	return false
}

// SteerCommand is a user command and its result.
type SteerCommand struct {
	ID      string         `json:"id"` // of the event
	Order   ponder.SteerOp `json:"order"`
	Content string         `json:"content,omitempty"`
	Target  string         `json:"target,omitempty"`
	Offset  float64        `json:"time_offset_seconds"`
	Created time.Time      `json:"created_at"`

	// The result; Seq is 0 while pending.
	Seq       ponder.Seq `json:"effective_seq,omitempty"` // of the acknowledgement
	Effect    string     `json:"effect,omitempty"`
	Refused   bool       `json:"refused,omitempty"`
	Cancelled []string   `json:"cancelled,omitempty"` // keys of cancelled actions
	At        float64    `json:"effective_offset_seconds,omitempty"`

	steerstate.Origin

	source string
	limits ponder.LimitChange
}

// Correction is a fact stated by the user.
type Correction struct {
	ID      string  `json:"id"`
	Text    string  `json:"text"`
	Offset  float64 `json:"time_offset_seconds"`
	Against []int   `json:"contradicted_by,omitempty"` // numbers of later thoughts

	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Resolution is the outcome of a session's answer.
type Resolution struct {
	Outcome *float64  `json:"outcome,omitempty"` // 1: right; 0: wrong
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created_at"`
}
