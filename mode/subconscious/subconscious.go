// Package subconscious implements continuous background thinking. At each tick four roles look at
// new observations, and a deterministic merge turns their findings into the mind.
//
// It has three modes. A tick ([Name]) is a root run: it starts all looks at once and writes
// findings, state and escalations in one transaction. A look ([RoleMode]) is its child. A decision
// ([DecideMode]) is a root run in which a strong model handles one escalation through tools.
//
// facts.go folds the events that every run needs. tick.go, tick_plan.go and tick_merge.go implement
// ticks; look.go and decide.go implement the other modes. view.go folds the whole thread for
// display, deadline.go decides when a tick is due, and pace.go sets the interval.
package subconscious

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"hash/fnv"
	"time"

	"ponder"
	"ponder/llm"
)

const (
	Name       = "subconscious"
	RoleMode   = "mind_role"
	DecideMode = "escalation"
)

// Options configure the modes. The zero value has the program's defaults.
type Options struct {
	Roles     []Role // DefaultRoles if empty
	Rules     Rules
	Actions   []llm.Tool // additional tools of decisions, which the engine must have and gate
	NoDecider bool       // no model decides; users get the findings
	Redact    func(llm.Message) llm.Message

	// Gate, if set, returns a reason for the model why a decision may not use a tool now, or "". It
	// must be pure.
	Gate func(llm.ToolCall) (reason string)
}

// TickInput is the options of a tick run.
type TickInput struct {
	All          bool `json:"all,omitempty"`           // every role looks, even without news
	WithoutModel bool `json:"without_model,omitempty"` // rules look instead of models

	// Upto is the seq of the last event before the tick; later events wait for the next tick. If
	// zero, the time of observations decides.
	Upto int64 `json:"upto,omitempty"`
}

func (o Options) rolesOrDefault() []Role {
	if len(o.Roles) > 0 {
		return o.Roles
	}
	return DefaultRoles()
}

func (o Options) rulesOrDefault() Rules {
	if len(o.Rules.Roles) == 0 {
		o.Rules.Roles = o.rolesOrDefault()
	}
	return o.Rules
}

// New returns the tick, role and decision modes.
func New(o Options) []ponder.Mode {
	o.Roles = o.rolesOrDefault()
	modes := []ponder.Mode{tickMode(o), lookMode(o), decideMode(o)}
	for i := range modes {
		modes[i].Waits = o.Rules.Same != nil
	}
	return modes
}

// threadMode returns a mode of root runs that carry knowledge along their thread.
func threadMode[S interface {
	ponder.State
	foldedKnowledge() knowledge
}](o Options, name, doc string, limit time.Duration, start func(ponder.Run, knowledge) S) ponder.Mode {
	return ponder.Mode{
		Name: name, Version: 1, Layout: o.layoutHash(2), History: true, Doc: doc,
		Budget: ponder.Budget{Time: limit},
		Redact: o.Redact,
		Start:  func(r ponder.Run) ponder.State { return start(r, newKnowledge()) },
		Carry:  func(r ponder.Run, last ponder.State) ponder.State { return start(r, last.(S).foldedKnowledge()) },
		Load: func(r ponder.Run, js []byte) (ponder.State, error) {
			s := start(r, knowledge{})
			if err := json.Unmarshal(js, s); err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

// layoutHash hashes the roles, because stored knowledge depends on which role sees what. Other roles
// make the engine fold the thread from the start.
func (o Options) layoutHash(form int) int {
	h := fnv.New32a()
	for _, r := range o.Roles {
		js, _ := json.Marshal([]any{r.Name, r.Reads})
		h.Write(js)
	}
	return form<<32 | int(h.Sum32())
}

// ModelOf returns the model role of a role of the subconscious.
func ModelOf(role string) ponder.Role { return ponder.Role("mind:" + role) }

// ThreadOf returns the id of an owner's thread. It derives from owner, so that each owner has one.
func ThreadOf(owner string) ponder.ThreadID {
	sum := sha256.Sum256([]byte(Name + "\x00" + owner))
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	text := base32.NewEncoding(crockford).WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return ponder.ThreadID("thr_0" + text[:25])
}
