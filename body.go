package ponder

import (
	"encoding/json"
	"time"

	"ponder/llm"
)

// Events of a conversation.
type (
	// UserMessage is a message of a user in a conversation.
	UserMessage struct {
		Content string      `json:"-"`
		Media   []llm.Media `json:"media,omitempty"`

		// Decisions answer questions of the program. Only the surfaces set them, never a text.
		Decisions []ApprovalDecision `json:"decisions,omitempty"`
	}
	// ApprovalRequested asks the user to approve a tool call that a model requested. The event's ID
	// is the ID of the question. The call runs only after a UserMessage with a decision, with
	// exactly these Args.
	ApprovalRequested struct {
		Tool      string          `json:"-"`
		Args      json.RawMessage `json:"-"`
		Reason    string          `json:"-"`                           // for the question, for users
		Expires   time.Time       `json:"expires"`                     // a later decision has no effect
		Untrusted []string        `json:"untrusted_sources,omitempty"` // of text that the model had read
	}
	// ApprovalDecision is the answer of the user to one question.
	ApprovalDecision struct {
		ID       string `json:"approval_id"` // the ID of the event ApprovalRequested
		Approved bool   `json:"approved"`
	}
	// AssistantMessage is an answer to a user.
	AssistantMessage struct {
		Content   string            `json:"-"`
		Model     string            `json:"-"`
		Usage     *llm.Usage        `json:"-"`
		Untrusted []UntrustedSource `json:"untrusted_from,omitempty"` // text of strangers that the model had read
	}
	// UntrustedSource is a source of text that a stranger may have written.
	UntrustedSource struct {
		Source string `json:"source"`        // for users
		Seq    Seq    `json:"seq,omitempty"` // of the event with the text
	}
	// ToolCall is the intent to use a tool. Its result is a ToolResult.
	ToolCall struct {
		Name string          `json:"-"`
		Args json.RawMessage `json:"-"`
	}
	// ToolResult is the result of a ToolCall.
	ToolResult struct {
		Name      string `json:"-"`
		Result    string `json:"-"`
		Untrusted bool   `json:"untrusted,omitempty"` // the text may come from strangers: it is data and never a command
		Outcome
	}
	// SystemNote is a remark of the program, or an imported event of a foreign type.
	SystemNote struct {
		Content string   `json:"-"`
		Reason  string   `json:"-"`
		Foreign string   `json:"type,omitempty"`
		From    ThreadID `json:"from_thread,omitempty"` // the thread from which a fork copied the events before this note
		At      Seq      `json:"from_seq,omitempty"`    // the last copied event
	}
	// AttachmentAdded is a file that a user attached to a conversation.
	AttachmentAdded struct {
		Content string `json:"-"` // its text, if it has one
		Name    string `json:"name"`
		Media   string `json:"media_type,omitempty"`
		Hash    string `json:"hash,omitempty"` // SHA-256, hex
		Bytes   int64  `json:"bytes,omitempty"`
	}
	// InnerMonologue is a reflection for the fast model. Users do not see it.
	InnerMonologue struct {
		Content   string   `json:"-"`
		Tool      string   `json:"-"`
		Reason    string   `json:"-"`
		Model     string   `json:"-"`
		ReadTo    Seq      `json:"read_to,omitempty"`         // the newest event that it read
		Trigger   string   `json:"triggered_after,omitempty"` // the id of the event that triggered it
		Sources   []string `json:"sources,omitempty"`         // its sources
		Condenses []Seq    `json:"condenses,omitempty"`       // the reflections that it replaces
		Older     bool     `json:"older,omitempty"`           // the conversation has newer events
		Untrusted bool     `json:"untrusted,omitempty"`       // it read text of strangers
	}
	// TitleGenerated names the thread.
	TitleGenerated struct {
		Content string `json:"-"`
	}
	// Summary replaces the events From to To in requests to models.
	Summary struct {
		Content string `json:"-"`
		From    Seq    `json:"from"`
		To      Seq    `json:"to"`
	}
)

// Events of thinking.
type (
	// Thought is one thought of a session.
	Thought struct {
		Content      string   `json:"-"`
		Number       int      `json:"sequence_number"`              // counts from 0 in its run
		Kind         string   `json:"thought_type"`                 // exploration, critique, connection, insight, question, synthesis
		Confidence   float64  `json:"confidence"`                   // 0 to 1, the claim of the model
		Importance   float64  `json:"importance,omitempty"`         // 0 to 1
		Focus        string   `json:"focus,omitempty"`              // the subject of the thought
		Question     string   `json:"question_id,omitempty"`        // the sub-question it addresses
		Cites        []string `json:"cites,omitempty"`              // the ids of its evidence
		Against      []string `json:"contradicts,omitempty"`        // the ids of corrections that it contradicts
		WithoutModel bool     `json:"without_model,omitempty"`      // made without a model
		Assumed      bool     `json:"confidence_assumed,omitempty"` // the confidence is a default
		Offset       float64  `json:"time_offset_seconds"`          // thinking time of the run
		Model        string   `json:"-"`
	}
	// SubQuestion is a question that a session or a user raised.
	SubQuestion struct {
		Content      string  `json:"-"`
		ID           string  `json:"question_id"`         // unique in its run
		Parent       string  `json:"parent_id,omitempty"` // the question whose exploration raised it
		Priority     int     `json:"priority"`            // 1 to 10, the highest first
		Why          string  `json:"why,omitempty"`
		By           string  `json:"by,omitempty"` // "user", or empty for the model
		WithoutModel bool    `json:"without_model,omitempty"`
		Offset       float64 `json:"time_offset_seconds"`
	}
	// QuestionUpdated changes a sub-question.
	QuestionUpdated struct {
		ID       string `json:"question_id"`
		Priority int    `json:"priority,omitempty"` // 0: unchanged
		Explored bool   `json:"explored,omitempty"`
		Dropped  bool   `json:"dropped,omitempty"`  // no longer wanted
		Reopened bool   `json:"reopened,omitempty"` // wanted again
		Insights string `json:"insights_gained,omitempty"`
		Reason   string `json:"-"`
	}
	// Synthesis is the current understanding.
	Synthesis struct {
		Content      string     `json:"-"`
		Number       int        `json:"sequence_number"` // counts from 0 in its run
		Insights     []string   `json:"key_insights,omitempty"`
		Confidence   float64    `json:"confidence_level"` // 0 to 1
		Remaining    []string   `json:"remaining_questions,omitempty"`
		Cites        []string   `json:"cites,omitempty"`
		Trend        string     `json:"trend,omitempty"` // of the confidence: converging, diverging, plateau
		Basis        Basis      `json:"basis,omitzero"`
		Conflicts    []Conflict `json:"conflicts,omitempty"`         // between the sources of the answer
		Removed      []string   `json:"removed_citations,omitempty"` // of evidence that the session does not have
		Final        bool       `json:"final,omitempty"`
		WithoutModel bool       `json:"without_model,omitempty"`
		Assumed      bool       `json:"confidence_assumed,omitempty"` // the confidence is a default
		Offset       float64    `json:"time_offset_seconds"`
		Model        string     `json:"-"`

		// Refused says that the budget ended before the call that writes it. Then the mode put
		// it together from its material. It is not WithoutModel.
		Refused bool `json:"refused,omitempty"`
	}
	// Basis holds measures of a synthesis that do not depend on the claim of the model.
	// Each is a share from 0 to 1.
	Basis struct {
		Agreement     float64 `json:"agreement,omitempty"`     // thoughts that another focus reached too
		Support       float64 `json:"support,omitempty"`       // thoughts that cite evidence
		Contradiction float64 `json:"contradiction,omitempty"` // thoughts that others contradict
		Stability     float64 `json:"stability,omitempty"`     // rounds of small change in the confidence: 1 is three or more
	}
)

// Events of research.
type (
	// Plan is the plan of a research run.
	Plan struct {
		Content      string   `json:"-"`
		Steps        []string `json:"steps,omitempty"`
		Terms        []string `json:"terms,omitempty"`          // important terms
		Web          []string `json:"web_queries,omitempty"`    // queries for the web
		Memory       []string `json:"memory_queries,omitempty"` // queries for the memory and the documents
		Queries      []string `json:"queries,omitempty"`        // queries for all sources
		Round        int      `json:"round,omitempty"`          // the round of queries that it starts, from 1
		Effort       string   `json:"effort,omitempty"`         // trivial, normal or deep
		WithoutModel bool     `json:"without_model,omitempty"`
		Proposed     bool     `json:"proposed,omitempty"` // it waits for the approval of the user
		Model        string   `json:"-"`
	}
	// Evidence is a quote with its place and its history. Content is exactly the bytes Start to
	// End of the text that Hash names. Unknown fields are zero.
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

		URL       string    `json:"url,omitempty"`      // for users
		Section   string    `json:"section,omitempty"`  // the heading above it
		Page      int       `json:"page,omitempty"`     // of a paged file, from 1
		Author    string    `json:"author,omitempty"`   // according to the source
		Published time.Time `json:"published,omitzero"` // according to the source
		Fetched   time.Time `json:"fetched,omitzero"`   // the time of the copy that was read
		Original  string    `json:"original,omitempty"` // SHA-256 of the archived bytes of that copy, hex
		Found     Found     `json:"found,omitzero"`
		Cluster   string    `json:"cluster,omitempty"` // the same for all copies of one text, which count as one voice
		Voices    int       `json:"voices,omitempty"`  // independent sources with the same statement, including this one
		Quality   []Signal  `json:"quality,omitempty"` // of the source
		Untrusted bool      `json:"untrusted,omitempty"`
	}
	// Found describes the search that found a piece of evidence.
	Found struct {
		Tool     string `json:"tool,omitempty"`
		Query    string `json:"query,omitempty"`
		Provider string `json:"provider,omitempty"` // the web search engines, separated by commas
	}
	// A Signal is one measure of the quality of a source. There is no total.
	Signal struct {
		Name        string  `json:"name"`
		Value       float64 `json:"value"` // 0 to 1; higher is better
		Description string  `json:"says"`  // the observation, as a sentence for users
	}
	// Claim is a sentence of an answer and its support.
	Claim struct {
		Content string    `json:"-"`                  // without citations
		ID      string    `json:"claim_id,omitempty"` // unique in its run
		Start   int       `json:"start,omitempty"`    // byte offset in the answer before it was marked
		End     int       `json:"end,omitempty"`      // exclusive
		Cites   []string  `json:"cites,omitempty"`    // ids of evidence that the answer names for it
		Verdict string    `json:"verdict,omitempty"`  // supported, qualified, contradicted, unverified, inference
		Score   float64   `json:"score,omitempty"`    // the support by the evidence, 0 to 1
		Quotes  []Passage `json:"quotes,omitempty"`   // that support it, the best first
		Against []Passage `json:"against,omitempty"`  // that contradict it
		Reason  string    `json:"-"`                  // for the verdict
		Judge   string    `json:"judge,omitempty"`    // the model that judged it
	}
	// A Passage is a part of the content of a piece of evidence.
	Passage struct {
		Evidence string `json:"evidence_id"`
		Start    int    `json:"start"` // byte offset in the Content of the evidence
		End      int    `json:"end"`   // exclusive
	}
	// A Conflict is a disagreement of sources about one attribute of one subject at one time.
	Conflict struct {
		Subject   string `json:"subject"`
		Attribute string `json:"attribute"`
		Time      string `json:"time,omitempty"`
		Unit      string `json:"unit,omitempty"`
		Sides     []Side `json:"sides"` // at least two, the one of most voices first
	}
	// A Side is one of the statements in a conflict.
	Side struct {
		Value  string    `json:"value"`
		Quotes []Passage `json:"quotes"`
		Voices int       `json:"voices"`          // independent sources; copies count as one
		Newest time.Time `json:"newest,omitzero"` // the newest publication, if known
	}
	// Progress reports progress to users.
	Progress struct {
		Content    string  `json:"-"`
		Stage      string  `json:"stage,omitempty"`
		Label      string  `json:"label,omitempty"`
		Step       int     `json:"plan_step,omitempty"`
		Total      int     `json:"total_steps,omitempty"`
		Iteration  int     `json:"iteration,omitempty"`
		Confidence float64 `json:"confidence,omitempty"`

		Meta json.RawMessage `json:"metadata,omitempty"` // further data of the mode

		Ref       string   `json:"ref,omitempty"`       // the id of its event or question
		Refused   bool     `json:"refused,omitempty"`   // the run rejected the command
		Cancelled []string `json:"cancelled,omitempty"` // keys of the actions that it ended
		Thoughts  []int    `json:"thoughts,omitempty"`  // numbers of its thoughts

		Undo []SteerStep `json:"undo,omitempty"` // of [StageSteered]: the commands that revert the command, in their order
	}
)

// Events of the subconscious.
type (
	// Observation is an observation of a sensor.
	Observation struct {
		Content   string          `json:"-"`
		Sensor    string          `json:"sensor"`              // its configured name: "mail", "feed:news"
		Subject   string          `json:"subject,omitempty"`   // a stable name of the observed thing: a file, a message, a measure
		State     string          `json:"state,omitempty"`     // of the subject: "new", "changed", "high", "upcoming"
		Level     int             `json:"level,omitempty"`     // 1 to 10, by the rule of the sensor; 0: no rule
		Due       time.Time       `json:"due,omitzero"`        // the time of the event or the deadline
		Source    string          `json:"source,omitempty"`    // for users: a path or an address
		Untrusted bool            `json:"untrusted,omitempty"` // the text may come from strangers
		Cursor    json.RawMessage `json:"cursor,omitempty"`    // the position of the sensor; set in the last observation of a run
	}
	// Finding is a finding of a role of the subconscious.
	Finding struct {
		Content      string    `json:"-"`
		By           string    `json:"by"`
		Kind         string    `json:"kind,omitempty"`
		Importance   int       `json:"importance,omitempty"` // 1 to 10
		Reinforces   []string  `json:"reinforces,omitempty"` // ids of entries
		Observations []string  `json:"rests_on,omitempty"`   // ids of its observations
		Due          time.Time `json:"due,omitzero"`
		Untrusted    bool      `json:"untrusted,omitempty"` // one of its observations is
		MergeResult  string    `json:"became,omitempty"`    // the result of the merge: added, reinforced, suppressed, ...
		Entry        string    `json:"entry,omitempty"`     // the id of the merged entry
	}
	// Subconscious is the state of the subconscious after a tick.
	Subconscious struct {
		State   json.RawMessage `json:"state,omitempty"`
		Tick    int             `json:"tick,omitempty"`    // counts from 1
		Changes json.RawMessage `json:"changes,omitempty"` // of the tick, with reasons
	}
	// Escalation is a matter for the attention of the user. One event raises it, and another
	// event with the same ID decides it.
	Escalation struct {
		Content      string   `json:"-"` // raised: the findings; decided: the message to the user, or the reason of the dismissal
		Reason       string   `json:"-"` // for raising it
		ID           string   `json:"escalation_id,omitempty"`
		Importance   int      `json:"importance,omitempty"`
		Outcome      string   `json:"outcome,omitempty"`    // of the decision: message, act, remember, dismiss
		Entries      []string `json:"entries,omitempty"`    // ids of entries
		Observations []string `json:"rests_on,omitempty"`   // ids of observations
		Signatures   []string `json:"signatures,omitempty"` // of the distinct states that it reports
		Sources      []string `json:"sources,omitempty"`    // for users
		Untrusted    bool     `json:"untrusted,omitempty"`  // an observation may come from strangers
		WithoutModel bool     `json:"without_model,omitempty"`
		Model        string   `json:"-"`
	}
	// Resolution closes an entry, an escalation or a session, with the outcome if it is known.
	Resolution struct {
		Content string          `json:"-"`
		Ref     string          `json:"ref,omitempty"`
		Outcome *float64        `json:"outcome,omitempty"` // 1: the answer was right; 0: it was wrong
		As      string          `json:"as,omitempty"`      // for the subconscious: forgotten, rolled_back, or empty for resolved
		State   json.RawMessage `json:"state,omitempty"`   // after a rollback
	}
)

// Events of runs. The intent of an action precedes its result.
type (
	// RunStarted starts a run.
	RunStarted struct {
		Input   string          `json:"-"`
		Mode    string          `json:"mode"`
		Version int             `json:"version,omitempty"` // of the mode; zero: the newest
		Budget  Budget          `json:"budget,omitzero"`
		Options json.RawMessage `json:"options,omitempty"` // of the mode
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
		Reason     string  `json:"-"`                    // for the end
		Confidence float64 `json:"confidence,omitempty"` // 0 to 1; zero if the mode has none
		Spent      Cost    `json:"spent,omitzero"`       // including the runs below it; set by the engine

		End EndReason `json:"end_reason,omitempty"` // the code of Reason; empty in events of older versions
	}
	// Steer is a command to a run and the runs below it.
	Steer struct {
		Content string          `json:"-"`
		Do      SteerOp         `json:"do,omitempty"`
		Args    json.RawMessage `json:"args,omitempty"`
		Group   string          `json:"group,omitempty"`  // the same for all commands of one request; an undo reverts them together
		Undoes  string          `json:"undoes,omitempty"` // the Group that it reverts
		Call    *SteerCall      `json:"call,omitempty"`   // of [Interpret]: the call that interpreted the sentence
	}
	// SteerCall is a call to a model that a client made to interpret a sentence. It counts like a
	// CallFinished.
	SteerCall struct {
		Role  Role        `json:"model_role,omitempty"`
		Model string      `json:"model"`
		Usage llm.Usage   `json:"usage"`
		Spent Cost        `json:"spent,omitzero"`
		Price PriceSource `json:"price,omitempty"`
		Took  int64       `json:"took_ms,omitempty"`
		Error string      `json:"error,omitempty"`
	}
	// A SteerStep is a command as another event has it.
	SteerStep struct {
		Do      SteerOp         `json:"do"`
		Content string          `json:"content,omitempty"`
		Args    json.RawMessage `json:"args,omitempty"`
	}
	// CallStarted is the intent to ask a model. The ledger stores the request; the log does
	// not.
	CallStarted struct {
		Role     Role         `json:"model_role"`
		Mode     string       `json:"mode,omitempty"` // of the run
		Model    string       `json:"-"`
		Request  *llm.Request `json:"-"`
		Size     int          `json:"request_bytes,omitempty"` // of the request, as [llm.Request.Size] counts
		Reserved Cost         `json:"held,omitzero"`           // reserved from the budgets

		Answer bool          `json:"answer,omitempty"`   // as of the [Call]
		Until  time.Duration `json:"until_ns,omitempty"` // as of the [Call]
	}
	// CallFinished is the result of a call. Its Message is complete only if Error is empty
	// and Finish is not cut: see [llm.Finish.IsCut].
	CallFinished struct {
		Message llm.Message `json:"message,omitzero"`
		Finish  llm.Finish  `json:"finish,omitempty"`
		Model   string      `json:"-"`
		Usage   llm.Usage   `json:"-"`
		Spent   Cost        `json:"spent,omitzero"`  // the charge to the budgets
		Price   PriceSource `json:"price,omitempty"` // the source of the money in Spent
		Took    int64       `json:"took_ms,omitempty"`
		First   int64       `json:"first_output_ms,omitempty"` // until the first output
		Outcome
	}
	// BudgetSpent tells a run to conclude. The run may then use the reserve of its budget.
	BudgetSpent struct {
		What  string `json:"-"`              // time, calls, tokens or money
		Limit Budget `json:"limit,omitzero"` // the reached limit; zero in events of older versions
	}
)

// Unknown is a body of another version. It keeps all stored fields.
type Unknown struct {
	Name string
	Head head
	Data json.RawMessage
}

// An Outcome is the outcome of an attempt at an action. Modes do not observe attempts that will
// be repeated or were dropped.
type Outcome struct {
	Error   string    `json:"error,omitempty"`
	Class   llm.Class `json:"error_class,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`    // the time of the next attempt
	Next    string    `json:"next_model,omitempty"` // of the next attempt
	Dropped bool      `json:"dropped,omitempty"`    // interrupted, or no longer wanted
	Refused bool      `json:"refused,omitempty"`    // not made, because the budget is spent
	Unsent  bool      `json:"unsent,omitempty"`     // the model was closed, so no request was sent

	// NotBefore is the earliest useful time for a retry. It is set only if no attempt
	// follows, and the only model of the chain named that time or its breaker is open.
	NotBefore time.Time `json:"not_before,omitzero"`

	// Room is how many bytes a request may have, if the class is context_length and the last
	// model of the chain refused; see [llm.Error].
	Room int `json:"room,omitempty"`
}

// Made reports whether a request was sent, so that it counts and may be billed.
func (o Outcome) Made() bool { return !o.Refused && !o.Unsent }

// A PriceSource is the source of the price of a call.
type PriceSource string

// The sources. A call with an unknown price has no money in its Spent.
const (
	PriceReported PriceSource = "provider" // reported with the answer
	PriceTable    PriceSource = "table"
	PriceLocal    PriceSource = "local" // a model on this machine is free
	PriceUnknown  PriceSource = "unknown"
)

// A Status is the status of a run.
type Status string

// The statuses. The last three end a run.
const (
	Created   Status = "created"
	Thinking  Status = "thinking"
	Paused    Status = "paused"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Ended reports whether the status ends a run.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// A SteerOp is the operation of a [Steer]. The engine applies the operations below, and modes
// observe them. Modes may define further operations: see steer.go.
type SteerOp string

// The operations of the engine. The first two interrupt calls and tools in flight.
const (
	Cancel    SteerOp = "cancel"     // ends the run without an answer
	AnswerNow SteerOp = "answer_now" // concludes with the available material
	SetBudget SteerOp = "budget"     // Args is a [Budget]: its limits replace the limits of a run that does not conclude yet
)
