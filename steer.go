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

	RestoreQuestion SteerOp = "restore_question" // a dropped one. Content: its text; Question, Priority, Model
	Withdraw        SteerOp = "withdraw"         // a correction, by its id in Question
	ReleaseSource   SteerOp = "release_source"   // neither prefer nor exclude. Source
)

// Interpret records a sentence of a user in plain words and its interpretation. Content is the
// sentence, and Args are an [Interpretation]. It changes nothing: the commands of the same Group follow.
const Interpret SteerOp = "interpret"

// An Interpretation is the meaning of a sentence.
type Interpretation struct {
	By      string `json:"by"`                // "rules", or the name of a model
	Meaning string `json:"meaning,omitempty"` // the commands as text; empty if the sentence was not understood
	Problem string `json:"problem,omitempty"` // why it was not understood
	DryRun  bool   `json:"dry_run,omitempty"` // the user only wanted to see the meaning
}

// SteerArgs are the Args of a [Steer], except for [SetBudget], [SetPlan] and
// [RewriteSection].
type SteerArgs struct {
	Question string `json:"question,omitempty"` // its id, or its text
	Priority int    `json:"priority,omitempty"` // 1 to 10
	Source   string `json:"source,omitempty"`   // a path or URL, or the id of evidence
	Name     string `json:"name,omitempty"`     // of a persona
	Model    bool   `json:"model,omitempty"`    // of a question: models may rank it
}

// CallOf returns the finished call that an event records: that of a run, or that of a client which
// interpreted a sentence.
func CallOf(ev Event) (CallFinished, bool) {
	switch b := ev.Body.(type) {
	case CallFinished:
		return b, true
	case Steer:
		if c := b.Call; c != nil {
			return CallFinished{Model: c.Model, Usage: c.Usage, Spent: c.Spent, Price: c.Price, Took: c.Took, Outcome: Outcome{Error: c.Error}}, true
		}
	}
	return CallFinished{}, false
}

// A SteerSection is the section of an answer to rewrite, between the rest of the answer.
type SteerSection struct {
	Before  string `json:"before,omitempty"`
	Section string `json:"section"`
	After   string `json:"after,omitempty"`
}
