package subconscious

import (
	"encoding/json"
	"slices"
	"time"
)

type step struct {
	role    Role
	seen    []Seen // new observations, oldest first
	given   int64  // read position afterwards
	left    []Seen // new observations postponed
	lost    int    // observations never shown
	skip    string // why the role does not look
	why     string // why it does
	unaided bool
	failed  string
}

// plan returns each role's step in a tick. It uses the knowledge at the start of the tick; later
// events wait for the next one.
func plan(o Options, k knowledge, at time.Time, in TickInput) []step {
	var steps []step
	for _, r := range o.roles() {
		unread, lost := k.unread(r, at, in.until(k, at))
		s := step{role: r, given: k.State.Aside.Read[r.Name], lost: k.Lost[r.Name] + lost}
		for _, seen := range unread {
			s.given = max(s.given, seen.Seq)
		}
		s.skip, s.why = turn(k, r, telling(unread), at)
		if s.skip != "" && in.All {
			s.skip, s.why = "", "it was asked for"
		}
		s.unaided = r.Unaided || in.Unaided
		if !s.unaided && k.Fails[r.Name] >= maxFails {
			s.unaided, s.failed = true, "it failed several times in a row"
		}
		s.seen, s.left = shownOf(unread, !s.unaided)
		steps = append(steps, s)
	}
	return steps
}

func (in TickInput) until(k knowledge, at time.Time) (seq int64) {
	if in.Upto > 0 {
		return in.Upto
	}
	for _, s := range k.News {
		if !s.At.After(at) {
			seq = max(seq, s.Seq)
		}
	}
	return seq
}

// telling counts the observations that make a role look. Empty look-up results do not.
func telling(seen []Seen) (n int) {
	for _, o := range seen {
		if !isLookUp(o.Sensor) || o.State != LookedNothing {
			n++
		}
	}
	return n
}

// turn returns why a role does not look, or why it does.
func turn(k knowledge, r Role, seen int, at time.Time) (skip, why string) {
	last, ever := k.Looked[r.Name]
	hinted := ""
	for _, h := range k.State.Aside.Hints {
		if h.To == r.Name && h.Hops <= 1 {
			hinted = h.From
		}
	}
	switch {
	case seen > 0:
		return "", count(seen, "new observation")
	case hinted != "" && !r.Unaided:
		return "", hinted + " gave a hint"
	case r.Every > 0 && (!ever || at.Sub(last) >= r.Every):
		return "", "its time has come"
	case r.Every > 0:
		return "nothing is new, and it looked " + howLong(at.Sub(last)) + " ago", ""
	}
	return "nothing is new", ""
}

func howLong(d time.Duration) string {
	if d < time.Minute {
		return "less than a minute"
	}
	return d.Truncate(time.Minute).String()[:len(d.Truncate(time.Minute).String())-len("0s")]
}

func busy(steps []step) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return s.skip == "" })
}

// gathered reports whether a pending escalation may be raised that no merge has considered since.
func gathered(o Options, k knowledge, at time.Time) bool {
	raises, any := o.rules().RaisesAt(k.State)
	if !any || at.Before(raises) {
		return false
	}
	return k.Last.Before(raises) || slices.ContainsFunc(k.State.Aside.Pending, func(p Pending) bool { return k.Last.Before(p.At) })
}

type lookInput struct {
	Role  string    `json:"role"`
	At    time.Time `json:"at"`
	Given int64     `json:"given,omitempty"`
	State State     `json:"state"`
	Seen  []Seen    `json:"seen,omitempty"`
}

func (s step) options(state State, at time.Time) json.RawMessage {
	js, err := json.Marshal(lookInput{Role: s.role.Name, At: at, Given: s.given, State: state.shownTo(s.role.Name), Seen: s.seen})
	if err != nil {
		return nil // the look then fails
	}
	return js
}

func (s State) shownTo(role string) State {
	a := s.Aside
	out := Aside{Tick: a.Tick, Decayed: a.Decayed, Settled: a.Settled, Exposure: a.Exposure, Journal: make(map[string][]string), About: make(map[string]About)}
	if notes := a.Journal[role]; len(notes) > 0 {
		out.Journal[role] = notes
	}
	for id, about := range a.About {
		out.About[id] = About{By: about.By, Due: about.Due, Rests: about.Rests, Untrusted: about.Untrusted}
	}
	for _, h := range a.Hints {
		if h.To == role {
			out.Hints = append(out.Hints, h)
		}
	}
	for _, t := range a.Topics {
		if t.Role == role {
			out.Topics = append(out.Topics, t)
		}
	}
	s.Aside = out
	return s
}
