// Package subconscious is the way of thinking that never stops: at each tick four roles
// look at what sensors saw, and a merge without a model makes of their findings what is
// on its mind.
//
// There are three modes. A tick ([Name]) is a root run: it has the roles look at what is
// new to them, all at once, and writes what came of it in one transaction: what each
// found, the new state and what is to be escalated. A look ([RoleMode]) is a child of it.
// A decision ([DecideMode]) is a root run for one escalation: a strong model says through
// tools what is to be done about it.
//
// known.go folds what every run of the thread is shown; tick.go says how a tick goes,
// tick_merge.go what it comes to; look.go and decide.go are the other modes. view.go
// folds all events of the thread for those who show it, due.go says when a tick has
// something to do, and pace.go how long to wait for the next.
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

// The modes, by name.
const (
	Name       = "subconscious" // a tick: the roles look, and their findings are merged
	RoleMode   = "mind_role"    // a role's look, a child of the tick
	DecideMode = "escalation"   // what to do about something that was escalated
)

// Options say how the modes work. The zero value is that of the program.
type Options struct {
	Roles     []Role // DefaultRoles if empty
	Rules     Rules
	Actions   []llm.Tool // that a decision may use, beside the ones it always has; the mind must have them, gated
	NoDecider bool       // there is no model for decisions: the user is told what was found
	Redact    func(llm.Message) llm.Message

	// Gate, if set, returns why a decision may not use a tool now, in words for its
	// model, or "" if it may. It is pure.
	Gate func(llm.ToolCall) (reason string)
}

// A TickInput is what a tick may be told: the options of its run.
type TickInput struct {
	All     bool `json:"all,omitempty"`           // every role looks, though nothing is new to it
	Unaided bool `json:"without_model,omitempty"` // no model is asked: rules look

	// Upto is the seq of the last event before the tick: what came later is for the next.
	// If zero, that goes by the time at which observations were made.
	Upto int64 `json:"upto,omitempty"`
}

func (o Options) roles() []Role {
	if len(o.Roles) > 0 {
		return o.Roles
	}
	return DefaultRoles()
}

// rules returns what the merge is told.
func (o Options) rules() Rules {
	if len(o.Rules.Roles) == 0 {
		o.Rules.Roles = o.roles()
	}
	return o.Rules
}

// New returns the three modes.
func New(o Options) []ponder.Mode {
	o.Roles = o.roles()
	return []ponder.Mode{tickMode(o), lookMode(o), decideMode(o)}
}

// threadMode returns the mode of root runs, which carry what is known on their thread.
func threadMode[S interface {
	ponder.State
	known() knowledge
}](o Options, name, doc string, limit time.Duration, start func(ponder.Run, knowledge) S) ponder.Mode {
	return ponder.Mode{
		Name: name, Version: 1, Layout: o.layout(1), History: true, Doc: doc,
		Budget: ponder.Budget{Time: limit},
		Redact: o.Redact,
		Start:  func(r ponder.Run) ponder.State { return start(r, newKnowledge()) },
		Carry:  func(r ponder.Run, last ponder.State) ponder.State { return start(r, last.(S).known()) },
		Load: func(r ponder.Run, js []byte) (ponder.State, error) {
			s := start(r, knowledge{})
			if err := json.Unmarshal(js, s); err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

// layout returns the layout of states that were folded with these roles. What is kept of
// observations depends on who sees them, so others begin anew.
func (o Options) layout(form int) int {
	h := fnv.New32a()
	for _, r := range o.Roles {
		js, _ := json.Marshal([]any{r.Name, r.Reads})
		h.Write(js)
	}
	return form<<32 | int(h.Sum32())
}

// ModelOf returns the role of the model that a role of the subconscious thinks with.
func ModelOf(role string) ponder.Role { return ponder.Role("mind:" + role) }

// ThreadOf returns the id of the thread that an owner's subconscious is on. It is made of
// the name, so that there is never a second.
func ThreadOf(owner string) ponder.ThreadID {
	sum := sha256.Sum256([]byte(Name + "\x00" + owner))
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	text := base32.NewEncoding(crockford).WithPadding(base32.NoPadding).EncodeToString(sum[:])
	return ponder.ThreadID("thr_0" + text[:25])
}
