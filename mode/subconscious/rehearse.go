package subconscious

import (
	"cmp"
	"time"

	"ponder"
	"ponder/llm"
)

// An Ask is what a role would be asked in a tick.
type Ask struct {
	Role    string
	Skipped string // why it would not be run
	Why     string // why it would be
	Unaided bool   // rules would look in its place
	Seen    int    // observations that are new to it
	Request llm.Request
}

// A Rehearsal says what a tick would ask. It asks nobody, and writes nothing.
type Rehearsal struct {
	o     Options
	known knowledge
}

// NewRehearsal returns one of a thread without events.
func NewRehearsal(o Options) *Rehearsal {
	o.Roles = o.roles()
	return &Rehearsal{o: o, known: newKnowledge()}
}

// Apply takes in the next event of the thread.
func (r *Rehearsal) Apply(ev ponder.Event) { r.known = r.known.after(ev, r.o.Roles) }

// Asks returns what each role would be asked by a tick that begins at a time.
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
