package subconscious

import (
	"encoding/json"
	"slices"
	"time"
)

type roleStep struct {
	role      Role
	seen      []SeenObservation // new observations, oldest first; else recalled ones
	given     int64             // read position afterwards
	left      []SeenObservation // new observations postponed
	lostCount int               // observations never shown
	skip      string            // why the role does not look
	why       string            // why it does
	unaided   bool
	failed    string
}

// planTick returns each role's step in a tick. It uses the knowledge at the start of the tick; later
// events wait for the next one.
func planTick(o Options, k knowledge, at time.Time, in TickInput) []roleStep {
	var steps []roleStep
	for _, r := range o.rolesOrDefault() {
		unread, lost := k.unreadObservations(r, at, in.lastSeq(k, at))
		s := roleStep{role: r, given: k.State.Internal.Read[r.Name], lostCount: k.Lost[r.Name] + lost}
		for _, seen := range unread {
			s.given = max(s.given, seen.Seq)
		}
		recalled := k.recalledObservations(r, at)
		s.skip, s.why = lookReason(k, r, countTriggers(unread), len(recalled), at)
		if s.skip != "" && in.All {
			s.skip, s.why = "", "requested by the user"
		}
		s.unaided = r.Unaided || in.WithoutModel
		if !s.unaided && k.Fails[r.Name] >= maxFails {
			s.unaided, s.failed = true, "repeated failures"
		}
		if len(unread) == 0 && !s.unaided {
			unread = recalled
		}
		s.seen, s.left = splitShown(unread, !s.unaided)
		steps = append(steps, s)
	}
	return steps
}

func (in TickInput) lastSeq(k knowledge, at time.Time) (seq int64) {
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

// countTriggers counts the observations that make a role look. Empty look-up results do not.
func countTriggers(seen []SeenObservation) (n int) {
	for _, o := range seen {
		if !isLookUp(o.Sensor) || o.State != LookedNothing {
			n++
		}
	}
	return n
}

// scanEvery is the interval at which a role with a model examines earlier observations again while
// nothing is new.
const scanEvery = 24 * time.Hour

// lookReason returns why a role does not look, or why it does.
func lookReason(k knowledge, r Role, seen, recalled int, at time.Time) (skip, why string) {
	last, ever := k.Looked[r.Name]
	hinted := ""
	for _, h := range k.State.Internal.Hints {
		if h.To == r.Name && h.Hops <= 1 {
			hinted = h.From
		}
	}
	switch {
	case seen > 0:
		return "", formatCount(seen, "new observation")
	case hinted != "" && !r.Unaided:
		return "", hinted + " gave a hint"
	case r.Every > 0 && (!ever || at.Sub(last) >= r.Every):
		return "", "its interval has passed"
	case ever && recalled > 0 && !r.Unaided && at.Sub(last) >= scanEvery:
		return "", "nothing was new for a day, so it looks once more"
	case r.Every > 0:
		return "nothing is new, and it looked " + formatElapsed(at.Sub(last)) + " ago", ""
	}
	return "nothing is new", ""
}

func formatElapsed(d time.Duration) string {
	if d < time.Minute {
		return "less than a minute"
	}
	return d.Truncate(time.Minute).String()[:len(d.Truncate(time.Minute).String())-len("0s")]
}

func hasWork(steps []roleStep) bool {
	return slices.ContainsFunc(steps, func(s roleStep) bool { return s.skip == "" })
}

// canRaise reports whether a pending escalation may be raised that no merge has considered since.
func canRaise(o Options, k knowledge, at time.Time) bool {
	raises, any := o.rulesOrDefault().RaisesAt(k.State)
	if !any || at.Before(raises) {
		return false
	}
	return k.Last.Before(raises) || slices.ContainsFunc(k.State.Internal.Pending, func(p PendingEscalation) bool { return k.Last.Before(p.At) })
}

type lookInput struct {
	Role  string            `json:"role"`
	At    time.Time         `json:"at"`
	Given int64             `json:"given,omitempty"`
	State State             `json:"state"`
	Seen  []SeenObservation `json:"seen,omitempty"`
	Limit time.Duration     `json:"limit_ns,omitempty"` // of the answer; 0: none
}

func (s roleStep) lookOptions(state State, at time.Time, limit time.Duration) json.RawMessage {
	js, err := json.Marshal(lookInput{Role: s.role.Name, At: at, Given: s.given, State: state.visibleState(s.role.Name), Seen: s.seen, Limit: limit})
	if err != nil {
		return nil // the look then fails
	}
	return js
}

func (s State) visibleState(role string) State {
	a := s.Internal
	out := Internal{Tick: a.Tick, Decayed: a.Decayed, Settled: a.Settled, Exposure: a.Exposure, Pressed: a.Pressed, Journal: make(map[string][]string), Metadata: make(map[string]EntryMetadata)}
	if notes := a.Journal[role]; len(notes) > 0 {
		out.Journal[role] = notes
	}
	for id, about := range a.Metadata {
		out.Metadata[id] = EntryMetadata{By: about.By, Due: about.Due, Rests: about.Rests, Untrusted: about.Untrusted, Decayed: about.Decayed}
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
	s.Internal = out
	return s
}
