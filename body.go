package ponder

import (
	"encoding/json"
	"time"

	"ponder/llm"
)

// What is said.
type (
	// UserMessage is what a user says in a conversation.
	UserMessage struct {
		Content string      `json:"-"`
		Media   []llm.Media `json:"media,omitempty"`
	}
	// AssistantMessage is what a user is answered.
	AssistantMessage struct {
		Content string     `json:"-"`
		Model   string     `json:"-"`
		Usage   *llm.Usage `json:"-"`
	}
	// ToolCall is the intent to use a tool. Its result is a ToolResult.
	ToolCall struct {
		Name string          `json:"-"`
		Args json.RawMessage `json:"-"`
	}
	// ToolResult is what the use of a tool came to.
	ToolResult struct {
		Name      string `json:"-"`
		Result    string `json:"-"`
		Untrusted bool   `json:"untrusted,omitempty"` // strangers wrote of it: it is data, and nothing in it is a wish
		Outcome
	}
	// SystemNote is a remark of the program, or an imported event of a foreign type.
	SystemNote struct {
		Content string   `json:"-"`
		Reason  string   `json:"-"`
		Foreign string   `json:"type,omitempty"`
		From    ThreadID `json:"from_thread,omitempty"` // what stands before was copied from there: see Fork
		At      Seq      `json:"from_seq,omitempty"`    // of the last event that was copied
	}
	// AttachmentAdded is a file that a user put beside a conversation.
	AttachmentAdded struct {
		Content string `json:"-"` // its text, as far as it has one
		Name    string `json:"name"`
		Media   string `json:"media_type,omitempty"`
		Hash    string `json:"hash,omitempty"` // SHA-256, hex
		Bytes   int64  `json:"bytes,omitempty"`
	}
	// InnerMonologue is a reflection that the fast model reads and no user sees.
	InnerMonologue struct {
		Content   string   `json:"-"`
		Tool      string   `json:"-"`
		Reason    string   `json:"-"`
		Model     string   `json:"-"`
		ReadTo    Seq      `json:"read_to,omitempty"`         // the newest event it had read
		Trigger   string   `json:"triggered_after,omitempty"` // the id of the event after which it was asked for
		Sources   []string `json:"sources,omitempty"`         // what it looked up
		Condenses []Seq    `json:"condenses,omitempty"`       // the reflections that it stands for
		Older     bool     `json:"older,omitempty"`           // the conversation has moved on since it read
	}
	// TitleGenerated names the thread.
	TitleGenerated struct {
		Content string `json:"-"`
	}
	// Summary stands for the events From to To in what a model is shown.
	Summary struct {
		Content string `json:"-"`
		From    Seq    `json:"from"`
		To      Seq    `json:"to"`
	}
)

// What is thought.
type (
	// Thought is one thought of a session.
	Thought struct {
		Content    string   `json:"-"`
		Number     int      `json:"sequence_number"`              // counts from 0 in its run
		Kind       string   `json:"thought_type"`                 // exploration, critique, connection, insight, question, synthesis
		Confidence float64  `json:"confidence"`                   // 0 to 1, as the model claims
		Importance float64  `json:"importance,omitempty"`         // 0 to 1
		Focus      string   `json:"focus,omitempty"`              // what was being thought about
		Question   string   `json:"question_id,omitempty"`        // the sub-question it addresses
		Cites      []string `json:"cites,omitempty"`              // the ids of evidence it rests on
		Against    []string `json:"contradicts,omitempty"`        // the ids of corrections that it contradicts
		Unaided    bool     `json:"without_model,omitempty"`      // made without a model
		Assumed    bool     `json:"confidence_assumed,omitempty"` // nobody gave the confidence
		Offset     float64  `json:"time_offset_seconds"`          // thinking time of the run
		Model      string   `json:"-"`
	}
	// SubQuestion is a question that came up.
	SubQuestion struct {
		Content  string  `json:"-"`
		ID       string  `json:"question_id"`         // unique in its run
		Parent   string  `json:"parent_id,omitempty"` // the question whose exploration raised it
		Priority int     `json:"priority"`            // 1 to 10, the highest first
		Why      string  `json:"why,omitempty"`
		By       string  `json:"by,omitempty"` // who asks, if it is not the model: "user"
		Unaided  bool    `json:"without_model,omitempty"`
		Offset   float64 `json:"time_offset_seconds"`
	}
	// QuestionUpdated changes what is known of a sub-question.
	QuestionUpdated struct {
		ID       string `json:"question_id"`
		Priority int    `json:"priority,omitempty"` // 0: as before
		Explored bool   `json:"explored,omitempty"`
		Dropped  bool   `json:"dropped,omitempty"` // not wanted any more
		Insights string `json:"insights_gained,omitempty"`
		Reason   string `json:"-"`
	}
	// Synthesis is the understanding so far.
	Synthesis struct {
		Content    string     `json:"-"`
		Number     int        `json:"sequence_number"` // counts from 0 in its run
		Insights   []string   `json:"key_insights,omitempty"`
		Confidence float64    `json:"confidence_level"` // 0 to 1
		Remaining  []string   `json:"remaining_questions,omitempty"`
		Cites      []string   `json:"cites,omitempty"`
		Trend      string     `json:"trend,omitempty"` // of the confidence: converging, diverging, plateau
		Basis      Basis      `json:"basis,omitzero"`
		Conflicts  []Conflict `json:"conflicts,omitempty"`         // between the sources of the answer
		Removed    []string   `json:"removed_citations,omitempty"` // of what was not gathered
		Final      bool       `json:"final,omitempty"`
		Unaided    bool       `json:"without_model,omitempty"`
		Assumed    bool       `json:"confidence_assumed,omitempty"` // nobody gave the confidence
		Offset     float64    `json:"time_offset_seconds"`
		Model      string     `json:"-"`
	}
	// Basis is what speaks for a synthesis beside what the model claims. Each is
	// a share from 0 to 1.
	Basis struct {
		Agreement     float64 `json:"agreement,omitempty"`     // of thoughts, those that another focus came to as well
		Support       float64 `json:"support,omitempty"`       // of thoughts, those that cite evidence
		Contradiction float64 `json:"contradiction,omitempty"` // of thoughts, those that others contradict
		Stability     float64 `json:"stability,omitempty"`     // rounds of small change in the confidence: 1 is three or more
	}
)

// What is looked up.
type (
	// Plan is how a question will be researched.
	Plan struct {
		Content string   `json:"-"`
		Steps   []string `json:"steps,omitempty"`
		Terms   []string `json:"terms,omitempty"`          // that matter, to look for
		Web     []string `json:"web_queries,omitempty"`    // that are asked of the web
		Memory  []string `json:"memory_queries,omitempty"` // of the memory and the documents
		Queries []string `json:"queries,omitempty"`        // of whatever there is
		Round   int      `json:"round,omitempty"`          // the round of queries that it begins, from 1
		Effort  string   `json:"effort,omitempty"`         // trivial, normal or deep
		Unaided bool     `json:"without_model,omitempty"`
		Model   string   `json:"-"`
	}
	// Evidence is a quote with its place and its history. Content is exactly
	// the bytes Start to End of the text that Hash names. What is not known is
	// zero.
	Evidence struct {
		Content string  `json:"-"`
		ID      string  `json:"evidence_id"` // unique in its run
		Source  string  `json:"source"`      // a path or a URL
		Title   string  `json:"title,omitempty"`
		Start   int     `json:"start"`          // byte offset
		End     int     `json:"end"`            // byte offset, exclusive
		Hash    string  `json:"hash,omitempty"` // SHA-256 of the source's text, hex
		Score   float64 `json:"score,omitempty"`
		Tool    string  `json:"-"`

		URL       string    `json:"url,omitempty"`      // where a user can open it
		Section   string    `json:"section,omitempty"`  // the heading that it stands under
		Page      int       `json:"page,omitempty"`     // of a paged file, from 1
		Author    string    `json:"author,omitempty"`   // as the source names them
		Published time.Time `json:"published,omitzero"` // as the source says
		Fetched   time.Time `json:"fetched,omitzero"`   // when the copy was made that it was read from
		Original  string    `json:"original,omitempty"` // SHA-256 of the archived bytes of that copy, hex
		Found     Found     `json:"found,omitzero"`
		Cluster   string    `json:"cluster,omitempty"` // the same for copies of one text, which are one voice
		Voices    int       `json:"voices,omitempty"`  // independent sources that say the same, itself among them
		Quality   []Signal  `json:"quality,omitempty"` // what is known of how good the source is
		Untrusted bool      `json:"untrusted,omitempty"`
	}
	// Found is how a piece of evidence was found.
	Found struct {
		Tool     string `json:"tool,omitempty"`
		Query    string `json:"query,omitempty"`
		Provider string `json:"provider,omitempty"` // of a web search, those that had it, with commas
	}
	// A Signal is one thing that is known of how good a source is. No other
	// number says anything of that.
	Signal struct {
		Name  string  `json:"name"`
		Value float64 `json:"value"` // 0 to 1, the better the higher
		Says  string  `json:"says"`  // a sentence for users: what was seen
	}
	// Claim is a sentence of an answer and what supports it.
	Claim struct {
		Content string    `json:"-"`                  // without citations
		ID      string    `json:"claim_id,omitempty"` // unique in its run
		Start   int       `json:"start,omitempty"`    // byte offset in the answer before it was marked
		End     int       `json:"end,omitempty"`      // exclusive
		Cites   []string  `json:"cites,omitempty"`    // ids of evidence that the answer names for it
		Verdict string    `json:"verdict,omitempty"`  // supported, qualified, contradicted, unverified, inference
		Score   float64   `json:"score,omitempty"`    // how well the evidence bears it out, 0 to 1
		Quotes  []Passage `json:"quotes,omitempty"`   // that bear it out, the best first
		Against []Passage `json:"against,omitempty"`  // that say otherwise
		Reason  string    `json:"-"`                  // why the verdict is what it is
		Judge   string    `json:"judge,omitempty"`    // the model that was asked about it
	}
	// A Passage is a part of the content of a piece of evidence.
	Passage struct {
		Evidence string `json:"evidence_id"`
		Start    int    `json:"start"` // byte offset in the Content of the evidence
		End      int    `json:"end"`   // exclusive
	}
	// A Conflict is that sources say different things of one attribute of one
	// thing at one time.
	Conflict struct {
		Subject   string `json:"subject"`
		Attribute string `json:"attribute"`
		Time      string `json:"time,omitempty"`
		Unit      string `json:"unit,omitempty"`
		Sides     []Side `json:"sides"` // at least two, the one of most voices first
	}
	// A Side is one of the things that sources say.
	Side struct {
		Value  string    `json:"value"`
		Quotes []Passage `json:"quotes"`
		Voices int       `json:"voices"`          // independent sources that say it: copies are one
		Newest time.Time `json:"newest,omitzero"` // when the last of them was published, if that is known
	}
	// Progress tells a user what is going on.
	Progress struct {
		Content    string  `json:"-"`
		Stage      string  `json:"stage,omitempty"`
		Label      string  `json:"label,omitempty"`
		Step       int     `json:"plan_step,omitempty"`
		Total      int     `json:"total_steps,omitempty"`
		Iteration  int     `json:"iteration,omitempty"`
		Confidence float64 `json:"confidence,omitempty"`

		Meta json.RawMessage `json:"metadata,omitempty"` // what else a mode says

		Ref       string   `json:"ref,omitempty"`       // the id of the event or question it is about
		Refused   bool     `json:"refused,omitempty"`   // what was wished for is not done
		Cancelled []string `json:"cancelled,omitempty"` // keys of the actions that it put an end to
		Thoughts  []int    `json:"thoughts,omitempty"`  // numbers of the thoughts it is about
	}
)

// What is noticed.
type (
	// Observation is what a sensor saw.
	Observation struct {
		Content   string          `json:"-"`
		Sensor    string          `json:"sensor"`              // its name, as it is configured: "mail", "feed:news"
		Subject   string          `json:"subject,omitempty"`   // what it is about, the same each time: a file, a message, a measure
		State     string          `json:"state,omitempty"`     // of the subject: "new", "changed", "high", "upcoming"
		Level     int             `json:"level,omitempty"`     // 1 to 10: how much the sensor's own rule makes of it; 0: it has none
		Due       time.Time       `json:"due,omitzero"`        // when the subject happens or must be done
		Source    string          `json:"source,omitempty"`    // where a user can look: a path or an address
		Untrusted bool            `json:"untrusted,omitempty"` // strangers wrote of it
		Cursor    json.RawMessage `json:"cursor,omitempty"`    // up to where the sensor has read; the last of a look has it
	}
	// Finding is what a role of the subconscious found.
	Finding struct {
		Content    string    `json:"-"`
		By         string    `json:"by"`
		Kind       string    `json:"kind,omitempty"`
		Importance int       `json:"importance,omitempty"` // 1 to 10
		Reinforces []string  `json:"reinforces,omitempty"` // ids of entries
		Rests      []string  `json:"rests_on,omitempty"`   // ids of the observations it comes from
		Due        time.Time `json:"due,omitzero"`
		Untrusted  bool      `json:"untrusted,omitempty"` // an observation it rests on is
		Became     string    `json:"became,omitempty"`    // what the merge made of it: added, reinforced, suppressed, ...
		Entry      string    `json:"entry,omitempty"`     // the id of the entry that it went into
	}
	// Subconscious is a state of the subconscious after a tick.
	Subconscious struct {
		State   json.RawMessage `json:"state,omitempty"`
		Tick    int             `json:"tick,omitempty"`    // counts from 1
		Changes json.RawMessage `json:"changes,omitempty"` // what the tick changed, and why
	}
	// Escalation is something that deserves the user's attention. It is raised, and
	// decided by another event with the same ID.
	Escalation struct {
		Content    string   `json:"-"` // raised: the findings, in words; decided: what the user is told, or why it is dismissed
		Reason     string   `json:"-"` // why it was raised
		ID         string   `json:"escalation_id,omitempty"`
		Importance int      `json:"importance,omitempty"`
		Outcome    string   `json:"outcome,omitempty"`    // of one that is decided: message, act, remember, dismiss
		Entries    []string `json:"entries,omitempty"`    // ids of entries that it is about
		Rests      []string `json:"rests_on,omitempty"`   // ids of observations
		Signatures []string `json:"signatures,omitempty"` // of the distinct states of the world that it tells of
		Sources    []string `json:"sources,omitempty"`    // where a user can look
		Untrusted  bool     `json:"untrusted,omitempty"`  // strangers wrote of what it rests on
		Unaided    bool     `json:"without_model,omitempty"`
		Model      string   `json:"-"`
	}
	// Resolved says that something needs no more attention, or how it turned out.
	Resolved struct {
		Content string          `json:"-"`
		Ref     string          `json:"ref,omitempty"`
		Outcome *float64        `json:"outcome,omitempty"` // 1: the answer was right; 0: it was wrong
		As      string          `json:"as,omitempty"`      // of the subconscious: resolved if empty, forgotten, rolled_back
		State   json.RawMessage `json:"state,omitempty"`   // that a tick is rolled back to
	}
)

// How a run goes. An intent comes before the deed, its result after.
type (
	// RunStarted starts a run.
	RunStarted struct {
		Input   string          `json:"-"`
		Mode    string          `json:"mode"`
		Version int             `json:"version,omitempty"` // of the mode; zero is whichever is the newest
		Budget  Budget          `json:"budget,omitzero"`
		Options json.RawMessage `json:"options,omitempty"` // of the mode's own
	}
	// RunPaused pauses the run of the event and those below it.
	RunPaused struct {
		Reason string `json:"-"`
	}
	// RunResumed undoes RunPaused.
	RunResumed struct {
		Reason string `json:"-"`
	}
	// RunFinished ends a run. A completed run has an answer.
	RunFinished struct {
		Answer     string  `json:"-"`
		Status     Status  `json:"status"`
		Reason     string  `json:"-"`                    // why it ended when it did
		Confidence float64 `json:"confidence,omitempty"` // 0 to 1; zero if the mode has none
		Spent      Cost    `json:"spent,omitzero"`       // with the runs below it; set by the engine
	}
	// Steer is a wish about a run and those below it.
	Steer struct {
		Content string          `json:"-"`
		Do      SteerOp         `json:"do,omitempty"`
		Args    json.RawMessage `json:"args,omitempty"`
	}
	// CallStarted is the intent to ask a model. The request is kept in the
	// ledger, not in the event.
	CallStarted struct {
		Role    Role         `json:"model_role"`
		Mode    string       `json:"mode,omitempty"` // of the run
		Model   string       `json:"-"`
		Request *llm.Request `json:"-"`
		Size    int          `json:"request_bytes,omitempty"` // of the request, as [llm.Request.Size] counts
		Held    Cost         `json:"held,omitzero"`           // reserved from the budgets
	}
	// CallFinished is what a call came to. Its Message is whole only if Error
	// is empty and Finish is not [llm.FinishLength].
	CallFinished struct {
		Message llm.Message `json:"message,omitzero"`
		Finish  llm.Finish  `json:"finish,omitempty"`
		Model   string      `json:"-"`
		Usage   llm.Usage   `json:"-"`
		Spent   Cost        `json:"spent,omitzero"`  // what the budgets are charged
		Price   PriceSource `json:"price,omitempty"` // where the money in Spent comes from
		Took    int64       `json:"took_ms,omitempty"`
		Outcome
	}
	// BudgetSpent tells a run to conclude. It may use what was kept for that.
	BudgetSpent struct {
		What string `json:"-"` // time, calls, tokens or money
	}
)

// Unknown is a body of another version. It is kept as it was.
type Unknown struct {
	Name string
	Head head
	Data json.RawMessage
}

// An Outcome is how an attempt at an action ended. Modes see neither an attempt
// that will be made again nor one that was dropped.
type Outcome struct {
	Error   string    `json:"error,omitempty"`
	Class   llm.Class `json:"error_class,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`    // another attempt comes then
	Next    string    `json:"next_model,omitempty"` // and asks this model
	Dropped bool      `json:"dropped,omitempty"`    // interrupted, or not wanted any more
	Refused bool      `json:"refused,omitempty"`    // not made, for the budget is spent
	Unsent  bool      `json:"unsent,omitempty"`     // begun, but the model is closed for now: nothing was asked

	// NotBefore says, where no other attempt comes, when one would be of use at the
	// earliest, if the one model there is has said so or its breaker is open.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// Made reports whether anything was asked, so that it counts and may be billed.
func (o Outcome) Made() bool { return !o.Refused && !o.Unsent }

// A PriceSource says who set the price of a call.
type PriceSource string

// The sources. A call whose price is not known has no money in its Spent.
const (
	PriceReported PriceSource = "provider" // the provider said what the call cost
	PriceTable    PriceSource = "table"
	PriceLocal    PriceSource = "local" // a model of one's own machine costs nothing
	PriceUnknown  PriceSource = "unknown"
)

// A Status is what became of a run.
type Status string

// The statuses. A run that is none of the last three is still open.
const (
	Created   Status = "created"
	Thinking  Status = "thinking"
	Paused    Status = "paused"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Ended reports whether the run is over.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// An Order is a word of a [Steer] that the engine itself obeys; modes see it
// too, and may have orders of their own.
type SteerOp string

// The orders. The first two interrupt what is in flight.
const (
	Cancel    SteerOp = "cancel"     // end now, without an answer
	AnswerNow SteerOp = "answer_now" // conclude from what there is
	SetBudget SteerOp = "budget"     // Args is a [Budget]: the limits it has replace those of the run, as long as that is not told to conclude
)
