package subconscious

import (
	"encoding/json"
	"time"
)

// State is all that the subconscious knows: the visible Mind and the merge's Aside. It is a value,
// folded from the events of its thread.
type State struct {
	Mind
	Internal Internal `json:"aside"`
}

// Mind is the part of the state that users see.
type Mind struct {
	ActiveThreads     []Entry              `json:"active_threads"`     // at most 5
	Patterns          []Entry              `json:"patterns"`           // at most 5
	Hunches           []Entry              `json:"hunches"`            // at most 5
	Insights          []Entry              `json:"insights"`           // at most 3
	EscalationHistory []EscalationRecord   `json:"escalation_history"` // at most 10, newest last
	ThreadState       map[string]RoleState `json:"thread_state"`       // by role
}

// Entry is one item of the mind. Its strength is 1 to 10; its summary has fewer than 20 words.
type Entry struct {
	ID       string    `json:"id"`
	Summary  string    `json:"summary"`
	Strength int       `json:"strength"`
	Created  time.Time `json:"created"`
	LastSeen time.Time `json:"last_seen"`
}

// EscalationRecord is a raised escalation with its outcome.
type EscalationRecord struct {
	ID      string    `json:"id"`
	Summary string    `json:"summary"`
	Reason  string    `json:"reason"`
	Outcome string    `json:"outcome"` // empty until decided
	Created time.Time `json:"created"`
}

// RoleState is the visible state of a role.
type RoleState struct {
	LastFindings    []string `json:"last_findings"` // summaries of the last three ticks, newest last, at most 24
	NoveltyPressure int      `json:"novelty_pressure"`
	FocusHint       string   `json:"focus_hint"` // a request from another role
}

// Category names a list of entries.
type Category string

const (
	ActiveThreads Category = "active_threads"
	Patterns      Category = "patterns"
	Hunches       Category = "hunches"
	Insights      Category = "insights"
)

const (
	DecayEvery           = 5 * time.Minute // to lose one strength
	PressureEvery        = time.Hour       // without a run, to gain one novelty pressure
	Reinforcement        = 2
	NewStrength          = 3
	MaxStrength          = 10
	MinEntryImportance   = 3 // minimum importance of an entry
	MinInsightImportance = 6 // minimum importance of a hunch that becomes an insight at once
	Confirmed            = 7 // strength at which a hunch becomes an insight
	MaxWords             = 19
	MaxTokens            = 2000 // of a Mind, at four bytes each
	MaxPressure          = 10
)

type Internal struct {
	Tick       int                      `json:"tick"`
	Decayed    time.Time                `json:"decayed_at,omitzero"` // the last decay; the clock of entries without their own
	Read       map[string]int64         `json:"read_to,omitempty"`   // by role: seq of the newest observation shown
	Metadata   map[string]EntryMetadata `json:"about,omitempty"`     // by id of the entry
	Journal    map[string][]string      `json:"journal,omitempty"`   // by role: its notes, newest last, at most 5
	Found      map[string][]int         `json:"found,omitempty"`     // by role: number of findings in each of the last three ticks
	Hints      []Hint                   `json:"hints,omitempty"`     // not yet given
	Settled    []SettledTopic           `json:"settled,omitempty"`   // at most 50 resolved and 500 forgotten
	Topics     []Topic                  `json:"topics,omitempty"`    // earlier findings, for habituation, at most 100
	Alerts     []Alert                  `json:"alerts,omitempty"`    // escalated states, at most 200
	Pending    []PendingEscalation      `json:"pending,omitempty"`   // waiting for the cooldown, at most 50
	LastRaised time.Time                `json:"raised,omitzero"`
	Undecided  []UndecidedReference     `json:"undecided,omitempty"` // raised and undecided
	Next       int                      `json:"next_entry,omitempty"`

	MessageTimes []time.Time `json:"told,omitempty"` // times of messages to the user, newest last, at most 16

	Exposure Exposure `json:"exposure,omitzero"` // untrusted text that roles were shown

	Deadlines []Deadline `json:"deadlines,omitempty"` // at most 50

	LookUpRequests []LookUpRequest `json:"wanted,omitempty"` // in the last hour, newest last, at most 8
	LookUpRecords  []LookUpRecord  `json:"asked,omitempty"`  // in the last day, at most 200

	Pressed map[string]time.Time `json:"pressure_at,omitempty"` // by role: the novelty pressure includes quiet time up to here

	Rollback Rollback `json:"rolled_back,omitzero"` // set by a rollback until the next tick
}

// EntryMetadata is the hidden metadata of an entry.
type EntryMetadata struct {
	By         []string  `json:"by"` // roles that saw it, in order
	Due        time.Time `json:"due,omitzero"`
	Rests      []string  `json:"rests_on,omitempty"`
	Signature  []string  `json:"signatures,omitempty"`
	Untrusted  bool      `json:"untrusted,omitempty"`
	Importance int       `json:"importance,omitempty"` // maximum of its findings, 1 to 10; 0 if unknown
	Wordings   []string  `json:"said,omitempty"`       // merged wordings, at most 3
	Decayed    time.Time `json:"decayed_at,omitzero"`  // the strength includes decay up to here
}

// Hint is one role's suggestion to another.
type Hint struct {
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"`
	Tick int    `json:"tick"`
	Hops int    `json:"hops,omitempty"` // chained hints that led to it without news
}

// SettledTopic is a topic that the user resolved or forgot.
type SettledTopic struct {
	Text      string    `json:"text"`
	Signature []string  `json:"signatures,omitempty"` // states known then; others revive it
	Forgotten bool      `json:"forgotten,omitempty"`  // never revived
	At        time.Time `json:"at"`
}

// Topic is a role's earlier finding.
type Topic struct {
	Role  string    `json:"role"`
	Text  string    `json:"text"`
	Times int       `json:"times"`
	Last  time.Time `json:"last"`
}

// Alert is a state of the world that was escalated.
type Alert struct {
	Signature  string    `json:"signature,omitempty"` // "sensor|subject|state"; empty without observations
	Text       string    `json:"text,omitempty"`      // of the finding; empty if a sibling alert has it
	Importance int       `json:"importance"`
	At         time.Time `json:"at"`
	Dismissed  int       `json:"dismissed,omitempty"` // number of dismissals; each raises the bar by one
	Escalation string    `json:"escalation,omitempty"`
}

// PendingEscalation is an escalation that waits for the cooldown.
type PendingEscalation struct {
	Role         string    `json:"role"`
	Reason       string    `json:"reason"`
	Summary      string    `json:"summary"`
	Importance   int       `json:"importance"`
	Entry        string    `json:"entry,omitempty"`
	Rests        []string  `json:"rests_on,omitempty"`
	Signature    []string  `json:"signatures,omitempty"`
	Sources      []string  `json:"sources,omitempty"`
	Quotes       []string  `json:"quotes,omitempty"` // of observations with sources, at most 3
	Untrusted    bool      `json:"untrusted,omitempty"`
	WithoutModel bool      `json:"without_model,omitempty"`
	At           time.Time `json:"at"`
}

// UndecidedReference is an escalation without a decision.
type UndecidedReference struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
}

// Change is the effect of a tick on an entry, with the reason.
type Change struct {
	Entry    string   `json:"entry"`
	Category Category `json:"category,omitempty"`
	Effect   string   `json:"did"` // added, reinforced, decayed, removed, pruned, moved, merged, resolved, forgotten
	By       string   `json:"by,omitempty"`
	Why      string   `json:"why,omitempty"`
	Strength int      `json:"strength"`
	Summary  string   `json:"summary,omitempty"`
	Rests    []string `json:"rests_on,omitempty"`
}

// Tick is the record of a tick in [ponder.Subconscious].
type Tick struct {
	Number  int           `json:"tick"`
	At      time.Time     `json:"at"`
	Roles   []RoleOutcome `json:"roles"`
	Changes []Change      `json:"changes,omitempty"`
}

// RoleOutcome is the outcome of a role in a tick.
type RoleOutcome struct {
	Role         string  `json:"role"`
	Skipped      string  `json:"skipped,omitempty"`
	Failed       string  `json:"failed,omitempty"`
	WithoutModel bool    `json:"without_model,omitempty"`
	New          int     `json:"new,omitempty"`     // observations shown
	Again        int     `json:"again,omitempty"`   // observations shown once more
	Left         []int64 `json:"left,omitempty"`    // seqs postponed to later ticks
	Lost         int     `json:"lost,omitempty"`    // observations never shown: too many or older than two days
	Exposed      bool    `json:"exposed,omitempty"` // a model was shown untrusted text
	Findings     int     `json:"findings,omitempty"`
	Calls        int     `json:"calls,omitempty"`
	Tokens       int     `json:"tokens,omitempty"`
	Money        int64   `json:"micro_usd,omitempty"`
}

// MarshalMind encodes the visible mind with empty lists instead of nulls.
func (s State) MarshalMind() ([]byte, error) { return json.Marshal(s.Mind) }
