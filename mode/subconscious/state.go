package subconscious

import (
	"encoding/json"
	"time"
)

// A State is all that the subconscious knows: what users see of it, and what the merge
// needs beside that. It is a value, a fold over the events of its thread.
type State struct {
	Mind
	Aside Aside `json:"aside"`
}

// A Mind is what is on the subconscious's mind, in the form that users are shown.
type Mind struct {
	ActiveThreads     []Entry              `json:"active_threads"`     // at most 5
	Patterns          []Entry              `json:"patterns"`           // at most 5
	Hunches           []Entry              `json:"hunches"`            // at most 5
	Insights          []Entry              `json:"insights"`           // at most 3
	EscalationHistory []Escalated          `json:"escalation_history"` // at most 10, the newest last
	ThreadState       map[string]RoleState `json:"thread_state"`       // by role
}

// An Entry is something that is on its mind.
type Entry struct {
	ID       string    `json:"id"`
	Summary  string    `json:"summary"`  // fewer than 20 words
	Strength int       `json:"strength"` // 1 to 10
	Created  time.Time `json:"created"`
	LastSeen time.Time `json:"last_seen"`
}

// An Escalated is something that was escalated, and what came of it.
type Escalated struct {
	ID      string    `json:"id"`
	Summary string    `json:"summary"`
	Reason  string    `json:"reason"`
	Outcome string    `json:"outcome"` // empty before it is decided
	Created time.Time `json:"created"`
}

// A RoleState is what is known of a role.
type RoleState struct {
	LastFindings    []string `json:"last_findings"`    // of its last three ticks, the newest last: summaries, at most 24
	NoveltyPressure int      `json:"novelty_pressure"` // 0 to 10
	FocusHint       string   `json:"focus_hint"`       // what another role wants it to look for
}

// A Category is one of the lists that entries are in.
type Category string

// The categories, and how many entries each may have.
const (
	ActiveThreads Category = "active_threads"
	Patterns      Category = "patterns"
	Hunches       Category = "hunches"
	Insights      Category = "insights"
)

// Numbers of the merge, as the seed has them.
const (
	DecayEvery    = 5 * time.Minute // of one strength
	Reinforcement = 2
	NewStrength   = 3
	MaxStrength   = 10
	LeastAdded    = 3    // importance
	LeastInsight  = 6    // importance of what the Dreamer finds, and is an insight at once
	Confirmed     = 7    // strength at which a hunch is an insight
	MaxWords      = 19   // of a summary
	MaxTokens     = 2000 // of a Mind, at four bytes each
	MaxPressure   = 10
)

// An Aside is what the merge needs and users are not shown.
type Aside struct {
	Tick    int                  `json:"tick"`                 // the last one
	Decayed time.Time            `json:"decayed_at,omitzero"`  // up to when strengths have decayed
	Read    map[string]int64     `json:"read_to,omitempty"`    // by role: the seq of the newest observation it was shown
	About   map[string]About     `json:"about,omitempty"`      // by id of an entry
	Journal map[string][]string  `json:"journal,omitempty"`    // by role: its notes to itself, the newest last, at most 5
	Found   map[string][]int     `json:"found,omitempty"`      // by role: how much it found in its last three ticks
	Hints   []Hint               `json:"hints,omitempty"`      // not yet given
	Settled []Settled            `json:"settled,omitempty"`    // what is resolved, at most 50, or forgotten, at most 500
	Topics  []Topic              `json:"topics,omitempty"`     // what roles have had, for habituation, at most 100
	Alerts  []Alert              `json:"alerts,omitempty"`     // distinct states that were escalated, at most 200
	Pending []Pending            `json:"pending,omitempty"`    // gathered, until the cooldown is over, at most 50
	Raised  time.Time            `json:"raised,omitzero"`      // when the last escalation was raised
	Undone  []UndecidedReference `json:"undecided,omitempty"`  // raised and not decided
	Next    int                  `json:"next_entry,omitempty"` // number of the next entry

	Told []time.Time `json:"told,omitempty"` // when it was decided to tell the user something, the newest last, at most 16

	Exposure Exposure `json:"exposure,omitzero"` // what of strangers roles were shown

	Deadlines []Deadline `json:"deadlines,omitempty"` // what is to come up again, at most 50

	Wanted []Want  `json:"wanted,omitempty"` // of the last hour, the newest last, at most 8
	Asked  []Asked `json:"asked,omitempty"`  // of the last day, at most 200

	Back RolledBack `json:"rolled_back,omitzero"` // what was restored, until the next tick
}

// An About is what is known of an entry beside what is shown.
type About struct {
	By         []string  `json:"by"`                   // the roles that saw it, in order
	Due        time.Time `json:"due,omitzero"`         //
	Rests      []string  `json:"rests_on,omitempty"`   // ids of the newest observations, at most 8
	Signature  []string  `json:"signatures,omitempty"` // of those, at most 8
	Untrusted  bool      `json:"untrusted,omitempty"`
	Importance int       `json:"importance,omitempty"` // the most that a finding of it had, 1 to 10; 0 if it is not known
	Said       []string  `json:"said,omitempty"`       // other wordings that were merged into it, at most 3
}

// A Hint is what a role wants another to look for.
type Hint struct {
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"`
	Tick int    `json:"tick"`
	Hops int    `json:"hops,omitempty"` // hints, one behind the other, that led to it without anything new
}

// A Settled is a topic that needs no more attention.
type Settled struct {
	Text      string    `json:"text"`
	Signature []string  `json:"signatures,omitempty"` // facts that were known then: others bring it back
	Forgotten bool      `json:"forgotten,omitempty"`  // nothing brings it back
	At        time.Time `json:"at"`
}

// A Topic is something that a role has found.
type Topic struct {
	Role  string    `json:"role"`
	Text  string    `json:"text"`
	Times int       `json:"times"`
	Last  time.Time `json:"last"`
}

// An Alert is a distinct state of the world that was escalated.
type Alert struct {
	Signature  string    `json:"signature,omitempty"` // "sensor|subject|state"; empty of what rests on no observation
	Text       string    `json:"text,omitempty"`      // of what was found; empty where another alert of the same finding has it
	Importance int       `json:"importance"`
	At         time.Time `json:"at"`
	Dismissed  int       `json:"dismissed,omitempty"` // how often; its like must be that much more important
	Escalation string    `json:"escalation,omitempty"`
}

// A Pending is a wish to escalate that waits for the cooldown.
type Pending struct {
	Role       string    `json:"role"`
	Reason     string    `json:"reason"`
	Summary    string    `json:"summary"`
	Importance int       `json:"importance"`
	Entry      string    `json:"entry,omitempty"`
	Rests      []string  `json:"rests_on,omitempty"`
	Signature  []string  `json:"signatures,omitempty"`
	Sources    []string  `json:"sources,omitempty"`
	Quotes     []string  `json:"quotes,omitempty"` // of observations, each with its source, at most 3
	Untrusted  bool      `json:"untrusted,omitempty"`
	Unaided    bool      `json:"without_model,omitempty"`
	At         time.Time `json:"at"`
}

// An UndecidedReference is an escalation that waits for its decision.
type UndecidedReference struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
}

// A Change is what a tick did to an entry, and why, for those who ask.
type Change struct {
	Entry    string   `json:"entry"`
	Category Category `json:"category,omitempty"`
	Did      string   `json:"did"` // added, reinforced, decayed, removed, pruned, moved, merged, resolved, forgotten
	By       string   `json:"by,omitempty"`
	Why      string   `json:"why,omitempty"`
	Strength int      `json:"strength"` // afterwards
	Summary  string   `json:"summary,omitempty"`
	Rests    []string `json:"rests_on,omitempty"`
}

// A Tick is what is kept of a tick in the changes of its [ponder.Subconscious].
type Tick struct {
	Number  int       `json:"tick"`
	At      time.Time `json:"at"`
	Roles   []Ran     `json:"roles"`
	Changes []Change  `json:"changes,omitempty"`
}

// A Ran is what became of a role in a tick.
type Ran struct {
	Role     string  `json:"role"`
	Skipped  string  `json:"skipped,omitempty"` // why it was not run
	Failed   string  `json:"failed,omitempty"`
	Unaided  bool    `json:"without_model,omitempty"`
	New      int     `json:"new,omitempty"`     // observations it was shown
	Left     []int64 `json:"left,omitempty"`    // seqs of those that it is shown at the next ticks, for there were too many
	Lost     int     `json:"lost,omitempty"`    // observations it will never be shown: there were far too many, or they waited for two days
	Exposed  bool    `json:"exposed,omitempty"` // a model was shown what strangers wrote
	Findings int     `json:"findings,omitempty"`
	Calls    int     `json:"calls,omitempty"`
	Tokens   int     `json:"tokens,omitempty"`
	Money    int64   `json:"micro_usd,omitempty"`
}

// MarshalMind returns what users are shown of a state, with empty lists and no nulls.
func (s State) MarshalMind() ([]byte, error) { return json.Marshal(s.Mind) }
