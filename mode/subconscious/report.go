package subconscious

import (
	"time"

	"ponder"
)

// Report is the result of a role's look.
type Report struct {
	Role         string            `json:"role"`
	Findings     []Finding         `json:"findings"`
	Hints        map[string]string `json:"hints,omitempty"`    // by receiving role
	Escalate     string            `json:"escalate,omitempty"` // why its findings need attention now, or ""
	Journal      string            `json:"journal,omitempty"`  // a note to itself
	LookUp       string            `json:"look_up,omitempty"`
	WithoutModel bool              `json:"without_model,omitempty"`

	// Omitted lists observations omitted from the report for length. The role is shown them again.
	Omitted []string `json:"unsaid,omitempty"`

	// Untrusted says that the role was shown untrusted text, which may have shaped any finding.
	// Exposed lists the ids of that text.
	Untrusted bool     `json:"untrusted,omitempty"`
	Exposed   []string `json:"exposed,omitempty"`
}

// isNews reports whether o is new to the role and no result of a look-up.
func (o SeenObservation) isNews() bool { return !o.Again && !isLookUp(o.Sensor) }

// Finding is one finding of a role.
type Finding struct {
	Type       string    `json:"type"`       // a type of [Role.Types], such as "observation" or "risk"
	Summary    string    `json:"summary"`    // fewer than 20 words
	Importance int       `json:"importance"` // 1 to 10
	Reinforces []string  `json:"reinforces,omitempty"`
	Rests      []string  `json:"rests_on,omitempty"` // ids of the supporting observations ([SeenObservation.ID])
	Due        time.Time `json:"due,omitzero"`
}

// SeenObservation is an observation with its event, as shown to roles.
type SeenObservation struct {
	ID  string    `json:"id"`
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	ponder.Observation

	Again bool `json:"again,omitempty"` // the role was shown it before
}

// Input is the input of one merge.
type Input struct {
	Tick    int
	Run     string                     // unique across threads; ids of escalations derive from it
	Reports []Report                   // of the roles that finished in time, in any order
	Seen    map[string]SeenObservation // by id: possible support of findings
	Read    map[string]SeenObservation // by id: older untrusted observations that roles were exposed to
	Given   map[string]int64           // by role that ran: the seq of the newest observation shown
}

// Rules configure the merge. The zero value has the program's defaults.
type Rules struct {
	Roles    []Role                 // DefaultRoles if empty
	Cooldown time.Duration          // between escalations; 15 minutes if zero, none if negative
	Rearm    time.Duration          // time in which a returning state is not new; 6 hours if zero
	Same     func(a, b string) bool // additional semantic comparison; nil compares words only
}

// RaisedEscalation is an escalation raised by a merge.
type RaisedEscalation struct {
	ponder.Escalation
}
