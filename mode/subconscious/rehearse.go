package subconscious

import (
	"cmp"
	"time"

	"ponder"
	"ponder/llm"
)

// Ask is the request that a role would get in a tick.
type Ask struct {
	Role    string
	Skipped string
	Why     string
	Unaided bool // rules would replace the model
	Seen    int  // new observations
	Request llm.Request
}

// Rehearsal computes what a tick would ask, without model calls or writes.
type Rehearsal struct {
	o     Options
	known knowledge
}

// NewRehearsal returns the rehearsal of an empty thread.
func NewRehearsal(o Options) *Rehearsal {
	o.Roles = o.roles()
	return &Rehearsal{o: o, known: newKnowledge()}
}

// Apply folds the next event of the thread.
func (r *Rehearsal) Apply(ev ponder.Event) { r.known = r.known.after(ev, r.o.Roles) }

// Asks returns each role's request in a tick that begins at the given time.
func (r *Rehearsal) Asks(at time.Time, in TickInput) []Ask {
	in.Upto = cmp.Or(in.Upto, all)
	steps := plan(r.o, r.known, at, in)
	asks := make([]Ask, 0, len(steps))
	for _, s := range steps {
		a := Ask{Role: s.role.Name, Skipped: s.skip, Why: s.why, Unaided: s.unaided, Seen: len(s.seen)}
		if a.Skipped == "" && !a.Unaided {
			a.Request = Prompt(s.role, r.known.State.shownTo(s.role.Name), s.seen, at)
		}
		asks = append(asks, a)
	}
	return asks
}
