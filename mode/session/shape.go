package session

import (
	"time"

	"ponder"
)

// A View is a session as people and programs are shown it: a fold over the events
// of its thread. Its JSON is what is exported. Nothing internal is in it but sums
// of usage.
type View struct {
	Session   Session     `json:"session"`
	Thoughts  []Thought   `json:"thoughts"`
	Questions []Question  `json:"questions"`
	Syntheses []Synthesis `json:"syntheses"`
	Sources   []Source    `json:"sources"`

	// Notes are remarks of the program, such as which files were not read.
	Notes []string `json:"notes,omitempty"`

	// CutShort says that a budget other than time was spent before its end.
	CutShort bool `json:"-"`

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
	Final      string          `json:"final_synthesis"`      // the answer
	Confidence []float64       `json:"confidence_evolution"` // as claimed
	StopReason string          `json:"stop_reason"`
	Budget     Limits          `json:"budget"`
	Usage      Usage           `json:"usage"`
	Metadata   Metadata        `json:"metadata"`
	Error      string          `json:"error_message"`

	Certainty // of its newest synthesis
}

// Progress is how far a session has come.
type Progress struct {
	Thoughts   int     `json:"total_thoughts"`
	Questions  int     `json:"total_questions"`
	Syntheses  int     `json:"total_syntheses"`
	Focus      string  `json:"current_focus"`
	Percentage float64 `json:"percentage"` // of the budget that is nearest to its end
	Elapsed    float64 `json:"elapsed_seconds"`
}

// Limits are the budgets of a session. Zero is no limit.
type Limits struct {
	Seconds float64 `json:"time_seconds,omitempty"`
	Calls   int     `json:"calls,omitempty"`
	Tokens  int     `json:"tokens,omitempty"`
	USD     float64 `json:"cost_usd,omitempty"`
}

// Usage is what the calls of a session used. The runs below it count.
type Usage struct {
	Calls    int          `json:"calls"`
	Failed   int          `json:"failed_calls"`
	Input    int          `json:"input_tokens"` // from caches or not
	Output   int          `json:"output_tokens"`
	Total    int          `json:"total_tokens"`
	USD      float64      `json:"cost_usd"`
	Unpriced int          `json:"unpriced_calls"` // whose price is not known; not in USD
	Models   []ModelUsage `json:"models"`
}

// ModelUsage is what the calls of one model used.
type ModelUsage struct {
	Model    string  `json:"model"`
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed_calls"`
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"`
}

// Metadata is how a session was started.
type Metadata struct {
	SynthesisInterval float64  `json:"synthesis_interval_seconds"`
	Docs              []string `json:"docs,omitempty"`
	WithoutModel      bool     `json:"without_model,omitempty"` // all or part of it
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
	Unaided    bool            `json:"without_model,omitempty"`
	Offset     float64         `json:"time_offset_seconds"`
	Created    time.Time       `json:"created_at"`
}

// A Question is a question that came up in a session.
type Question struct {
	ID       string          `json:"id"`
	Session  ponder.ThreadID `json:"session_id"`
	Text     string          `json:"question_text"`
	Priority int             `json:"priority"`
	Why      string          `json:"why"`
	Explored bool            `json:"explored"`
	Insights string          `json:"insights_gained"`
	Unaided  bool            `json:"without_model,omitempty"`
	Created  time.Time       `json:"created_at"`
}

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
	Final      bool            `json:"final,omitempty"`
	Unaided    bool            `json:"without_model,omitempty"`
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
}
