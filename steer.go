package ponder

// Operations of a [Steer] that sessions and research apply, beside those of the engine.
// Each takes its values from the Content or from the Args, which are [SteerArgs].
const (
	AddQuestion  Order = "add_question"  // Content; Priority, 8 if it is 0
	DropQuestion Order = "drop_question" // Question
	RankQuestion Order = "rank_question" // Question, Priority
	Correct      Order = "correct"       // Content: the fact as it is
	PinSource    Order = "pin_source"    // Source
	BanSource    Order = "ban_source"    // Source
	SetPersona   Order = "persona"       // of research. Content: the voice; Name
)

// SteerArgs are the Args of a [Steer], save those of [SetBudget].
type SteerArgs struct {
	Question string `json:"question,omitempty"` // its id, or its text
	Priority int    `json:"priority,omitempty"` // 1 to 10
	Source   string `json:"source,omitempty"`   // a path or URL, or the id of evidence
	Name     string `json:"name,omitempty"`     // of a persona
}
