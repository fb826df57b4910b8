// Package subconscious is the way of thinking that never stops: at each tick four roles
// look at what sensors saw, and a merge without a model makes of their findings what is
// on its mind.
package subconscious

import (
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
}

// New returns the three modes.
func New(o Options) []ponder.Mode { return nil }

// ModelOf returns the role of the model that a role of the subconscious thinks with.
func ModelOf(role string) ponder.Role { return ponder.Role("mind:" + role) }
