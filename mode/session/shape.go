package session

import (
	"strings"
	"time"

	"ponder"
	"ponder/mode/internal/usage"
)

// A View is a session as people and programs are shown it: a fold over the events
// of its thread. Its JSON is what is exported. Nothing internal is in it but sums
// of usage. It has one owner; see [View.Apply].
type View struct {
	Session   Session     `json:"session"`
	Thoughts  []Thought   `json:"thoughts"`
	Questions []Question  `json:"questions"`
	Syntheses []Synthesis `json:"syntheses"`
	Sources   []Source    `json:"sources"`

	// Steering is what users wished for while it went on, oldest first.
	Steering    []Steering   `json:"steering,omitempty"`
	Corrections []Correction `json:"corrections,omitempty"`
	Pinned      []string     `json:"pinned_sources,omitempty"`
	Banned      []string     `json:"banned_sources,omitempty"`

	// Notes are remarks of the program, such as which files were not read.
	Notes []string `json:"notes,omitempty"`

	// CutShort says that a budget other than time was spent before its end.
	CutShort bool `json:"-"`

	// BrokeOff says how what the model wrote for the answer broke off: see
	// [llm.Finish.BrokeOff]. It is empty if it did not.
	BrokeOff string `json:"-"`

	fold viewFold
}

// A Session is the head of a thinking session.
type Session struct {
	ID         ponder.ThreadID `json:"id"`
	Run        ponder.RunID    `json:"run_id"`
	Question   string          `json:"original_question"`
	Minutes    float64         `json:"thinking_duration_minutes"` // 0: not limited
	Model      string          `json:"model_id"`                  // the last that answered; empty if none has
	Status     ponder.Status   `json:"status"`
	Progress   Progress        `json:"progress"`
	Created    *time.Time      `json:"created_at"`
	Started    *time.Time      `json:"started_at"`
	Paused     *time.Time      `json:"paused_at"` // while it is paused
	Completed  *time.Time      `json:"completed_at"`
	Final      string          `json:"final_synthesis"`            // the answer
	Confidence []float64       `json:"confidence_evolution"`       // as claimed
	Trend      string          `json:"confidence_trend,omitempty"` // converging, diverging, plateau
	StopReason string          `json:"stop_reason"`
	Budget     Limits          `json:"budget"`
	Usage      Usage           `json:"usage"`
	Metadata   Metadata        `json:"metadata"`
	Error      string          `json:"error_message"`
	Resolution *Resolution     `json:"resolution,omitempty"` // how it turned out, once that is known

	Certainty // of its newest synthesis
}

// Progress is how far a session has come.
type Progress struct {
	Thoughts   int     `json:"total_thoughts"`
	Questions  int     `json:"total_questions"`
	Syntheses  int     `json:"total_syntheses"`
	Explored   int     `json:"explored_questions"`
	Dropped    int     `json:"dropped_questions,omitempty"`
	Merged     int     `json:"merged_thoughts,omitempty"` // that only said again what was said
	Focus      string  `json:"current_focus"`             // the newest
	Foci       []Focus `json:"foci,omitempty"`            // all that are being thought about, oldest first
	Percentage float64 `json:"percentage"`                // of the budget that is nearest to its end
	Elapsed    float64 `json:"elapsed_seconds"`
}

// A Focus is something that is being thought about.
type Focus struct {
	Round    int    `json:"round"`
	Text     string `json:"text"`
	Question string `json:"question_id,omitempty"` // empty if it is the question of the user
}

// What the calls of a session used and may use.
type (
	Limits     = usage.Limits
	Usage      = usage.Usage
	ModelUsage = usage.Model
)

// Metadata is how a session was started.
type Metadata struct {
	SynthesisInterval float64  `json:"synthesis_interval_seconds"`
	Docs              []string `json:"docs,omitempty"`
	Memory            bool     `json:"memory,omitempty"`        // is looked into
	Web               bool     `json:"web,omitempty"`           // likewise
	WithoutModel      bool     `json:"without_model,omitempty"` // all or part of it
	Parallel          int      `json:"parallel,omitempty"`      // foci at a time, if more than one
}

// A Thought is a thought of a session.
type Thought struct {
	ID         string          `json:"id"`
	Session    ponder.ThreadID `json:"session_id"`
	Number     int             `json:"sequence_number"`
	Text       string          `json:"thought_text"`
	Kind       string          `json:"thought_type"`
	Confidence float64         `json:"confidence"`
	Importance float64         `json:"importance"`
	Question   string          `json:"related_to_question_id,omitempty"`
	Focus      string          `json:"focus,omitempty"`
	Cites      []string        `json:"cites,omitempty"`
	Against    []string        `json:"contradicts,omitempty"` // ids of corrections
	Repeats    int             `json:"said_again,omitempty"`  // times that it came up again and was not written
	Unaided    bool            `json:"without_model,omitempty"`
	Assumed    bool            `json:"confidence_assumed,omitempty"` // nobody gave the confidence
	Offset     float64         `json:"time_offset_seconds"`
	Created    time.Time       `json:"created_at"`
}

// A Question is a question that came up in a session.
type Question struct {
	ID       string          `json:"id"`
	Session  ponder.ThreadID `json:"session_id"`
	Parent   string          `json:"parent_id,omitempty"` // the question it came from; empty: the user's
	Text     string          `json:"question_text"`
	Priority int             `json:"priority"`
	Why      string          `json:"why"`
	Explored bool            `json:"explored"`
	Insights string          `json:"insights_gained"`
	State    QuestionState   `json:"state"`
	By       string          `json:"by,omitempty"`          // who asks, if it is not the model: "user"
	Repeats  int             `json:"asked_again,omitempty"` // times
	Unaided  bool            `json:"without_model,omitempty"`
	Created  time.Time       `json:"created_at"`
}

// A QuestionState says how far a question has come.
type QuestionState string

// The states.
const (
	Open      QuestionState = "open"
	Exploring QuestionState = "exploring" // is a focus
	Explored  QuestionState = "explored"
	Dropped   QuestionState = "dropped" // not wanted any more
)

// A Synthesis is the understanding at a time.
type Synthesis struct {
	ID         string          `json:"id"`
	Session    ponder.ThreadID `json:"session_id"`
	Number     int             `json:"sequence_number"`
	Text       string          `json:"synthesis_text"`
	Insights   []string        `json:"key_insights"`
	Confidence float64         `json:"confidence_level"`
	Remaining  []string        `json:"remaining_questions"`
	Cites      []string        `json:"cites,omitempty"`
	Trend      string          `json:"trend,omitempty"` // of the confidence
	Basis      ponder.Basis    `json:"basis,omitzero"`
	Final      bool            `json:"final,omitempty"`
	Unaided    bool            `json:"without_model,omitempty"`
	Assumed    bool            `json:"confidence_assumed,omitempty"` // nobody gave the confidence
	Offset     float64         `json:"time_offset_seconds"`
	Created    time.Time       `json:"created_at"`
}

// A Source is a quotation that was gathered.
type Source struct {
	ID     string  `json:"id"`
	Source string  `json:"source"`
	Title  string  `json:"title"`
	Quote  string  `json:"quote"`
	Start  int     `json:"start"` // byte offsets in the text of the source
	End    int     `json:"end"`
	Hash   string  `json:"hash,omitempty"`
	Score  float64 `json:"score,omitempty"`
	Cited  bool    `json:"cited"`

	Origin
}

// An Origin is where a quotation is from, as far as that is known.
type Origin struct {
	URL       string          `json:"url,omitempty"`
	Section   string          `json:"section,omitempty"`
	Page      int             `json:"page,omitempty"`
	Author    string          `json:"author,omitempty"`
	Published *time.Time      `json:"published,omitempty"`
	Fetched   *time.Time      `json:"fetched,omitempty"`
	Original  string          `json:"original,omitempty"` // SHA-256 of the archived copy
	FoundBy   *ponder.Found   `json:"found,omitempty"`
	Cluster   string          `json:"cluster,omitempty"` // the same for copies of one text
	Voices    int             `json:"voices,omitempty"`  // independent sources that say the same
	Quality   []ponder.Signal `json:"quality,omitempty"`
	Untrusted bool            `json:"untrusted,omitempty"` // strangers wrote it
}

// Earlier returns the thread of the earlier session that a source comes from,
// if it comes from one. Its Title is the question of that.
func (s Source) Earlier() (ponder.ThreadID, bool) {
	id, ok := strings.CutPrefix(s.Source, "thread:")
	return ponder.ThreadID(id), ok && id != ""
}

// Cites reports whether the newest synthesis, and so the answer, once there is one, cites a
// source.
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

// Steering is a wish of a user while a session went on, and what came of it.
type Steering struct {
	ID      string         `json:"id"` // of the event
	Order   ponder.SteerOp `json:"order"`
	Content string         `json:"content,omitempty"`
	Target  string         `json:"target,omitempty"` // the question or the source it is about, or the new limits
	Offset  float64        `json:"time_offset_seconds"`
	Created time.Time      `json:"created_at"`

	// What came of it: nothing yet, if Seq is 0.
	Seq       ponder.Seq `json:"effective_seq,omitempty"` // of the event that acknowledges it
	Effect    string     `json:"effect,omitempty"`        // in words
	Refused   bool       `json:"refused,omitempty"`
	Cancelled []string   `json:"cancelled,omitempty"` // keys of what was in flight and was put an end to
	At        float64    `json:"effective_offset_seconds,omitempty"`

	source string        // to pin or ban
	limits ponder.Budget // that are wished for
}

// A Correction is a fact as a user says that it is.
type Correction struct {
	ID      string  `json:"id"`
	Text    string  `json:"text"`
	Offset  float64 `json:"time_offset_seconds"`
	Against []int   `json:"contradicted_by,omitempty"` // numbers of later thoughts
}

// A Resolution is how the answer of a session turned out.
type Resolution struct {
	Outcome *float64  `json:"outcome,omitempty"` // 1: right; 0: wrong
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created_at"`
}
