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
	maxRuleObservations = 400 // newest observations that rules look at
	noteworthyLevel     = 5   // minimum level of a finding
	escalationLevel     = 8   // minimum level of an escalation
	promiseImportance   = 5   // importance of the user's unkept promise
	strangerImportance  = 4   // importance of another person's
	staleImportance     = 4
)

// FindByRules reports the findings of rules in place of a role's model. Rules cover high levels, due dates
// within three days, unkept promises, quiet threads and recurring rare words. A rule runs for roles
// that give its type. Findings use the observations' words, and Find is deterministic.
func FindByRules(role Role, s State, seen []SeenObservation, now time.Time) Report {
	list := make([]SeenObservation, 0, len(seen))
	for _, o := range lastN(seen, maxRuleObservations) {
		if role.Sees(o.Observation) && !isLookUp(o.Sensor) {
			o.Content, o.Subject, o.State = textkit.VisibleLine(o.Content, 2*maxLine), textkit.VisibleLine(o.Subject, maxSign), textkit.VisibleLine(o.State, maxName)
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b SeenObservation) int { return cmp.Compare(a.Seq, b.Seq) })
	f := finder{role: role, state: s.DecayTo(now), seen: list, now: now}
	f.findHighLevels()
	f.findDueDates()
	f.findPromises()
	f.findStale()
	f.findRecurringWords()
	return f.buildReport()
}

type finder struct {
	role  Role
	state State
	seen  []SeenObservation
	now   time.Time
	found []ruleFinding
}

// ruleFinding is a finding with the reason to escalate it, if any.
type ruleFinding struct {
	Finding
	escalateReason string
}

func (f *finder) givesType(kind string) bool {
	_, ok := f.role.Types[kind]
	return ok || len(f.role.Types) == 0 && kind == typeOrder[0]
}

func (f *finder) firstGivenType(kinds ...string) string {
	if i := slices.IndexFunc(kinds, f.givesType); i >= 0 {
		return kinds[i]
	}
	return ""
}

// addFinding records a finding about observations. The first rule to find an observation keeps it, except
// for findings about several observations.
func (f *finder) addFinding(kind, summary, why string, importance int, about ...SeenObservation) {
	out := Finding{Type: kind, Summary: Summary(summary), Importance: clamp(importance, 1, 10)}
	for _, o := range about {
		if len(out.Rests) < maxRests && !slices.Contains(out.Rests, o.ID) {
			out.Rests = append(out.Rests, o.ID)
		}
		if !o.Due.IsZero() && (out.Due.IsZero() || o.Due.Before(out.Due)) {
			out.Due = storableTime(o.Due)
		}
	}
	if !hasContent(out.Summary) {
		return
	}
	for _, r := range f.found {
		if r.Summary == out.Summary || len(out.Rests) == 1 && slices.Equal(r.Rests, out.Rests) {
			return
		}
	}
	f.found = append(f.found, ruleFinding{out, why})
}

// buildReport returns the findings, most important first: all urgent ones up to the limit, and otherwise
// as many as a model may give.
func (f *finder) buildReport() Report {
	r := Report{Role: f.role.Name, Findings: []Finding{}, WithoutModel: true}
	slices.SortStableFunc(f.found, func(a, b ruleFinding) int { return cmp.Compare(b.Importance, a.Importance) })
	var whys []string
	n := 0
	for n < len(f.found) && n < maxFindings && (n < maxModelFindings || f.found[n].Importance >= escalationLevel) {
		n++
	}
	r.Omitted = omittedIDs(f.found[:n], f.found[n:])
	for _, one := range f.found[:n] {
		r.Findings = append(r.Findings, one.Finding)
		if one.escalateReason != "" && len(whys) < 3 {
			whys = append(whys, one.escalateReason)
		}
	}
	r.Escalate = textkit.Line(strings.Join(whys, "; "), maxLine)
	return r
}

// omittedIDs returns the observations that only omitted findings rest on.
func omittedIDs(said, left []ruleFinding) (ids []string) {
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

func (f *finder) findHighLevels() {
	for _, o := range f.seen {
		kind := f.firstGivenType("observation", "anomaly", "risk")
		switch {
		case o.Level >= escalationLevel:
			kind = f.firstGivenType("anomaly", "risk", "observation")
		case isOver(o):
			kind = f.firstGivenType("observation", "anomaly", "upcoming")
		}
		if kind == "" || o.Level < noteworthyLevel || kind == "risk" && f.describeDue(o) != "" {
			continue // the rule for due dates finds it
		}
		f.addFinding(kind, o.Content, f.escalationReason(o, o.Level, ""), o.Level, o)
	}
}

func (f *finder) escalationReason(o SeenObservation, importance int, more string) string {
	if importance < escalationLevel {
		return ""
	}
	if more == "" {
		more = fmt.Sprintf("%d of 10", min(importance, 10))
	}
	return fmt.Sprintf("%s: %s (%s)", textkit.VisibleLine(o.Sensor, maxName), strings.TrimSuffix(textkit.Line(cmp.Or(o.Content, o.Subject), 90), "."), more)
}

// dueSteps are lead times before a due date. The importance applies if the sensor gives no level.
var dueSteps = []struct {
	within     time.Duration
	importance int
	words      string
}{
	{2 * time.Hour, 8, "due within 2 hours"},
	{24 * time.Hour, 6, "due within 24 hours"},
	{72 * time.Hour, 4, "due within 3 days"},
}

var overStates = []string{"cancelled", "canceled", "removed", "deleted", "gone", "done", "completed", "finished", "ended", "past", "resolved", "answered", "closed", "declined"}

func isOver(o SeenObservation) bool { return slices.Contains(overStates, stateWord(o)) }

// stateWord returns the first word of a state; sensors may append a suffix to make it unique.
func stateWord(o SeenObservation) string {
	word := strings.ToLower(strings.TrimSpace(o.State))
	if end := strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }); end >= 0 {
		word = word[:end]
	}
	return word
}

// describeDue describes how soon o is due, or returns "" if it is past, over or far.
func (f *finder) describeDue(o SeenObservation) string {
	left := o.Due.Sub(f.now)
	if o.Due.IsZero() || left < 0 || isOver(o) {
		return ""
	}
	for _, s := range dueSteps {
		if left <= s.within {
			return s.words
		}
	}
	return ""
}

// findDueDates finds due dates within three days, from the newest observation of each subject and
// time.
func (f *finder) findDueDates() {
	kind := f.firstGivenType("upcoming")
	if kind == "" {
		return
	}
	for i, o := range f.seen {
		words := f.describeDue(o)
		if words == "" || slices.ContainsFunc(f.seen[i+1:], func(n SeenObservation) bool {
			return n.Sensor == o.Sensor && n.Subject == o.Subject && o.Subject != ""
		}) {
			continue
		}
		importance := o.Level
		for _, s := range dueSteps {
			if importance == 0 && s.words == words {
				importance = s.importance
			}
		}
		as := kind
		if stateWord(o) == "conflict" {
			as = f.firstGivenType("risk", kind)
		}
		f.addFinding(as, o.Content, f.escalationReason(o, importance, words), importance, o)
	}
}

var staleStates = []string{"stale", "idle", "quiet", "waiting", "unanswered", "abandoned", "forgotten", "failed", "paused"}

func (f *finder) findStale() {
	kind := f.firstGivenType("stale")
	if kind == "" {
		return
	}
	for _, o := range f.seen {
		if isOwnSensor(o.Sensor) && slices.Contains(staleStates, stateWord(o)) {
			f.addFinding(kind, o.Content, f.escalationReason(o, o.Level, ""), cmp.Or(o.Level, staleImportance), o)
		}
	}
}
