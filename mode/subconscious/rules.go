package subconscious

import (
	"cmp"
	"fmt"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
)

const (
	maxRuled       = 400 // newest observations that rules look at
	noteworthy     = 5   // minimum level of a finding
	escalated      = 8   // minimum level of an escalation
	promiseImport  = 5   // importance of the user's unkept promise
	strangerImport = 4   // importance of another person's
	staleImport    = 4
)

// Find reports the findings of rules in place of a role's model. Rules cover high levels, due dates
// within three days, unkept promises, quiet threads and recurring rare words. A rule runs for roles
// that give its type. Findings use the observations' words, and Find is deterministic.
func Find(role Role, s State, seen []Seen, now time.Time) Report {
	list := make([]Seen, 0, len(seen))
	for _, o := range last(seen, maxRuled) {
		if role.Sees(o.Observation) && !isLookUp(o.Sensor) {
			o.Content, o.Subject, o.State = textkit.VisibleLine(o.Content, 2*maxLine), textkit.VisibleLine(o.Subject, maxSign), textkit.VisibleLine(o.State, maxName)
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b Seen) int { return cmp.Compare(a.Seq, b.Seq) })
	f := finder{role: role, state: s.At(now), seen: list, now: now}
	f.thresholds()
	f.deadlines()
	f.promises()
	f.stale()
	f.repeated()
	return f.report()
}

type finder struct {
	role  Role
	state State
	seen  []Seen
	now   time.Time
	found []ruled
}

// ruled is a finding with the reason to escalate it, if any.
type ruled struct {
	Finding
	why string
}

func (f *finder) gives(kind string) bool {
	_, ok := f.role.Types[kind]
	return ok || len(f.role.Types) == 0 && kind == typeOrder[0]
}

func (f *finder) first(kinds ...string) string {
	if i := slices.IndexFunc(kinds, f.gives); i >= 0 {
		return kinds[i]
	}
	return ""
}

// add records a finding about observations. The first rule to find an observation keeps it, except
// for findings about several observations.
func (f *finder) add(kind, summary, why string, importance int, about ...Seen) {
	out := Finding{Type: kind, Summary: Summary(summary), Importance: within(importance, 1, 10)}
	for _, o := range about {
		if len(out.Rests) < maxRests && !slices.Contains(out.Rests, o.ID) {
			out.Rests = append(out.Rests, o.ID)
		}
		if !o.Due.IsZero() && (out.Due.IsZero() || o.Due.Before(out.Due)) {
			out.Due = plain(o.Due)
		}
	}
	if !tells(out.Summary) {
		return
	}
	for _, r := range f.found {
		if r.Summary == out.Summary || len(out.Rests) == 1 && slices.Equal(r.Rests, out.Rests) {
			return
		}
	}
	f.found = append(f.found, ruled{out, why})
}

// report returns the findings, most important first: all urgent ones up to the limit, and otherwise
// as many as a model may give.
func (f *finder) report() Report {
	r := Report{Role: f.role.Name, Findings: []Finding{}, Unaided: true}
	slices.SortStableFunc(f.found, func(a, b ruled) int { return cmp.Compare(b.Importance, a.Importance) })
	var whys []string
	n := 0
	for n < len(f.found) && n < maxFindings && (n < mostFindings || f.found[n].Importance >= escalated) {
		n++
	}
	r.Unsaid = unsaid(f.found[:n], f.found[n:])
	for _, one := range f.found[:n] {
		r.Findings = append(r.Findings, one.Finding)
		if one.why != "" && len(whys) < 3 {
			whys = append(whys, one.why)
		}
	}
	r.Escalate = textkit.Line(strings.Join(whys, "; "), maxLine)
	return r
}

// unsaid returns the observations that only omitted findings rest on.
func unsaid(said, left []ruled) (ids []string) {
	told := make(map[string]bool)
	for _, one := range said {
		for _, id := range one.Rests {
			told[id] = true
		}
	}
	for _, one := range left {
		for _, id := range one.Rests {
			if !told[id] {
				told[id], ids = true, append(ids, id)
			}
		}
	}
	return ids
}

func (f *finder) thresholds() {
	for _, o := range f.seen {
		kind := f.first("observation", "anomaly", "risk")
		switch {
		case o.Level >= escalated:
			kind = f.first("anomaly", "risk", "observation")
		case isOver(o):
			kind = f.first("observation", "anomaly", "upcoming")
		}
		if kind == "" || o.Level < noteworthy || kind == "risk" && f.near(o) != "" {
			continue // the rule for due dates finds it
		}
		f.add(kind, o.Content, f.why(o, o.Level, ""), o.Level, o)
	}
}

func (f *finder) why(o Seen, importance int, more string) string {
	if importance < escalated {
		return ""
	}
	if more == "" {
		more = fmt.Sprintf("%d of 10", min(importance, 10))
	}
	return fmt.Sprintf("%s: %s (%s)", textkit.VisibleLine(o.Sensor, maxName), strings.TrimSuffix(textkit.Line(cmp.Or(o.Content, o.Subject), 90), "."), more)
}

// steps are lead times before a due date. The importance applies if the sensor gives no level.
var steps = []struct {
	within     time.Duration
	importance int
	words      string
}{
	{2 * time.Hour, 8, "due within 2 hours"},
	{24 * time.Hour, 6, "due within 24 hours"},
	{72 * time.Hour, 4, "due within 3 days"},
}

var over = []string{"cancelled", "canceled", "removed", "deleted", "gone", "done", "completed", "finished", "ended", "past", "resolved", "answered", "closed", "declined"}

func isOver(o Seen) bool { return slices.Contains(over, stateWord(o)) }

// stateWord returns the first word of a state; sensors may append a suffix to make it unique.
func stateWord(o Seen) string {
	word := strings.ToLower(strings.TrimSpace(o.State))
	if end := strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }); end >= 0 {
		word = word[:end]
	}
	return word
}

// near describes how soon o is due, or returns "" if it is past, over or far.
func (f *finder) near(o Seen) string {
	left := o.Due.Sub(f.now)
	if o.Due.IsZero() || left < 0 || isOver(o) {
		return ""
	}
	for _, s := range steps {
		if left <= s.within {
			return s.words
		}
	}
	return ""
}

// deadlines finds due dates within three days, from the newest observation of each subject and
// time.
func (f *finder) deadlines() {
	kind := f.first("upcoming")
	if kind == "" {
		return
	}
	for i, o := range f.seen {
		words := f.near(o)
		if words == "" || slices.ContainsFunc(f.seen[i+1:], func(n Seen) bool {
			return n.Sensor == o.Sensor && n.Subject == o.Subject && o.Subject != ""
		}) {
			continue
		}
		importance := o.Level
		for _, s := range steps {
			if importance == 0 && s.words == words {
				importance = s.importance
			}
		}
		as := kind
		if stateWord(o) == "conflict" {
			as = f.first("risk", kind)
		}
		f.add(as, o.Content, f.why(o, importance, words), importance, o)
	}
}

var quiet = []string{"stale", "idle", "quiet", "waiting", "unanswered", "abandoned", "forgotten", "failed", "paused"}

func (f *finder) stale() {
	kind := f.first("stale")
	if kind == "" {
		return
	}
	for _, o := range f.seen {
		if isOwn(o.Sensor) && slices.Contains(quiet, stateWord(o)) {
			f.add(kind, o.Content, f.why(o, o.Level, ""), cmp.Or(o.Level, staleImport), o)
		}
	}
}
