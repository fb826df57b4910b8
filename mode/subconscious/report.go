package subconscious

import (
	"time"

	"ponder"
)

// A Report is what a role comes to in a tick.
type Report struct {
	Role     string            `json:"role"`
	Findings []Finding         `json:"findings"`
	Hints    map[string]string `json:"hints,omitempty"`    // by role
	Escalate string            `json:"escalate,omitempty"` // why its findings deserve the user's attention now, or ""
	Journal  string            `json:"journal,omitempty"`  // a note to itself
	LookUp   string            `json:"look_up,omitempty"`  // a few words that it wants looked up
	Unaided  bool              `json:"without_model,omitempty"`

	// Unsaid has the ids of observations of which nothing is said, for that would be too
	// much at once: the role is shown them again.
	Unsaid []string `json:"unsaid,omitempty"`

	// Untrusted says that whoever found this had been shown what strangers wrote, so
	// that all of it may be theirs. Exposed has the ids of the observations of theirs.
	Untrusted bool     `json:"untrusted,omitempty"`
	Exposed   []string `json:"exposed,omitempty"`
}

// A Finding is one thing that a role found.
type Finding struct {
	Type       string    `json:"type"`       // observation, anomaly, pattern, forgotten, connection, stale, upcoming, preparation, risk, idea, question, challenge
	Summary    string    `json:"summary"`    // fewer than 20 words
	Importance int       `json:"importance"` // 1 to 10
	Reinforces []string  `json:"reinforces,omitempty"`
	Rests      []string  `json:"rests_on,omitempty"` // ids of the observations ([Seen.ID]) that it comes from
	Due        time.Time `json:"due,omitzero"`
}

// A Seen is an observation with its place, as roles are shown it.
type Seen struct {
	ID  string    `json:"id"`  // of the event
	Seq int64     `json:"seq"` // of the event
	At  time.Time `json:"at"`
	ponder.Observation
}

// An Input is what a tick merges into a state.
type Input struct {
	Tick    int
	Run     string           // names the tick among those of all threads: ids of escalations are made of it
	Reports []Report         // of the roles that ran and were in time, in any order
	Seen    map[string]Seen  // by id: what the findings may rest on
	Read    map[string]Seen  // by id: what strangers wrote that roles may have been led by, beside what was seen
	Given   map[string]int64 // by role that ran: the seq of the newest observation that it was shown
}

// Rules are what the merge may be told. The zero value is that of the program.
type Rules struct {
	Roles    []Role                 // DefaultRoles if empty
	Cooldown time.Duration          // between escalations; 15 minutes if zero, none if negative
	Rearm    time.Duration          // for how long a state that comes back is the same; 6 hours if zero
	Same     func(a, b string) bool // says the same, where a model for embeddings is configured; nil: by words
}

// A Raised is an escalation that a merge raises.
type Raised struct {
	ponder.Escalation
}
