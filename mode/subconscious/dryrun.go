package subconscious

import (
	"cmp"
	"time"

	"ponder"
	"ponder/llm"
)

// RoleRequest is the request that a role would get in a tick.
type RoleRequest struct {
	Role    string
	Skipped string
	Why     string
	Unaided bool // rules would replace the model
	Seen    int  // new observations
	Request llm.Request
}

// DryRun computes what a tick would ask, without model calls or writes.
type DryRun struct {
	o     Options
	known knowledge
}

// NewDryRun returns the rehearsal of an empty thread.
func NewDryRun(o Options) *DryRun {
	o.Roles = o.rolesOrDefault()
	return &DryRun{o: o, known: newKnowledge()}
}

// Apply folds the next event of the thread.
func (r *DryRun) Apply(ev ponder.Event) { r.known = r.known.applyEvent(ev, r.o.Roles) }

// Requests returns each role's request in a tick that begins at the given time.
func (r *DryRun) Requests(at time.Time, in TickInput) []RoleRequest {
	in.Upto = cmp.Or(in.Upto, noSeqLimit)
	steps := planTick(r.o, r.known, at, in)
	asks := make([]RoleRequest, 0, len(steps))
	for _, s := range steps {
		a := RoleRequest{Role: s.role.Name, Skipped: s.skip, Why: s.why, Unaided: s.unaided, Seen: len(s.seen)}
		if a.Skipped == "" && !a.Unaided {
			a.Request = Prompt(s.role, r.known.State.visibleState(s.role.Name), s.seen, at)
		}
		asks = append(asks, a)
	}
	return asks
}
