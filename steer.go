package ponder

// Operations of a [Steer] that sessions and research apply, in addition to those of the
// engine. Each takes its values from the Content or from the Args, which are [SteerArgs].
const (
	AddQuestion  SteerOp = "add_question"  // Content; Priority, 8 if it is 0
	DropQuestion SteerOp = "drop_question" // Question
	RankQuestion SteerOp = "rank_question" // Question, Priority
	Correct      SteerOp = "correct"       // Content: the correct fact
	PinSource    SteerOp = "pin_source"    // Source
	BanSource    SteerOp = "ban_source"    // Source
	SetPersona   SteerOp = "persona"       // of research. Content: the voice; Name
	SetPlan      SteerOp = "plan"          // of research whose plan waits. Args is a [Plan]

	// RewriteSection is for the fork of a research that had an answer. Args is a [SteerSection];
	// Content is the instruction.
	RewriteSection SteerOp = "rewrite"
)

// SteerArgs are the Args of a [Steer], except for [SetBudget], [SetPlan] and
// [RewriteSection].
type SteerArgs struct {
	Question string `json:"question,omitempty"` // its id, or its text
	Priority int    `json:"priority,omitempty"` // 1 to 10
	Source   string `json:"source,omitempty"`   // a path or URL, or the id of evidence
	Name     string `json:"name,omitempty"`     // of a persona
}

// A SteerSection is the section of an answer to rewrite, between the rest of the answer.
type SteerSection struct {
	Before  string `json:"before,omitempty"`
	Section string `json:"section"`
	After   string `json:"after,omitempty"`
}
