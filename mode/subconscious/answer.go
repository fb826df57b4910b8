package subconscious

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"ponder/internal/textkit"
	"ponder/llm"
)

// What a role is asked for. Lists of pairs stand for maps, which strict schemas lack.
type (
	wanted struct {
		Findings []wantedFinding `json:"findings"`
		Hints    []wantedHint    `json:"hints,omitempty"`
		Escalate bool            `json:"escalate,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Journal  string          `json:"journal,omitempty"`
	}
	wantedOfLooking struct { // of a role that may have something looked up
		Findings []wantedFinding `json:"findings"`
		Hints    []wantedHint    `json:"hints,omitempty"`
		Escalate bool            `json:"escalate,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Journal  string          `json:"journal,omitempty"`
		LookUp   string          `json:"look_up,omitempty"`
	}
	wantedFinding struct {
		Type       string   `json:"type"`
		Summary    string   `json:"summary"`
		Importance int      `json:"importance"`
		RestsOn    []string `json:"rests_on,omitempty"`
		Reinforces []string `json:"reinforces,omitempty"`
		Due        string   `json:"due,omitempty"`
	}
	wantedHint struct {
		Role    string `json:"role"`
		LookFor string `json:"look_for"`
	}
)

var (
	answerSchema  = llm.SchemaFor[wanted]("report")
	lookingSchema = llm.SchemaFor[wantedOfLooking]("report")
)

// schemaOf returns what a role answers.
func schemaOf(r Role) *llm.Schema {
	if r.Looks == LooksNone {
		return answerSchema
	}
	return lookingSchema
}

// Bounds of what is taken of an answer.
const (
	mostFindings   = 8
	mostHints      = 4
	maxAnswer      = 64 << 10 // bytes
	usualImport    = 3        // where a role does not say
	escalateImport = 7        // of an escalation that has no finding
)

// errUnread says what is wrong with an answer that cannot be read.
var errUnread = errors.New(`the answer has no findings: want JSON with a list "findings", which may be empty`)

// A said is a finding as a role put it, before it is checked.
type said struct {
	kind, summary, due string
	importance         int
	rests, reinforces  []string
}

// An answered is an answer as it was put.
type answered struct {
	findings []said
	hints    []wantedHint
	escalate bool
	reason   string
	journal  string
	lookUp   string
}

// ParseReport reads what a role answered to its [Prompt] about the same observations:
// JSON, JSON with slips, or labelled lines. What does not exist, it drops: labels and
// entries that the role was not shown, and roles that are not there. A finding rests on
// what it names that has to do with it, and on what strangers wrote that it comes from,
// whether the role says so or not.
func ParseReport(role Role, answer string, seen []Seen, s State) (Report, error) {
	if len(answer) > maxAnswer {
		answer = strings.ToValidUTF8(answer[:maxAnswer], "")
	}
	a, ok := answerInJSON(answer)
	if !ok {
		a, ok = answerInText(answer)
	}
	if !ok {
		return Report{}, errUnread
	}
	shown, _ := label(seen)
	c := checker{role: role, state: s, shown: shown, types: role.types()}
	r := Report{Role: role.Name, Findings: c.findings(a.findings), Hints: c.hints(a.hints), Journal: textkit.VisibleLine(a.journal, maxHint)}
	if role.Looks != LooksNone {
		r.LookUp = wantedText(a.lookUp)
	}
	if a.escalate {
		c.escalate(&r, a.reason)
	}
	return r, nil
}

// A checker makes a report of what was answered.
type checker struct {
	role  Role
	state State
	shown []labelled
	types []string
	have  [][]string // gists of what was shown
}

// findings returns those findings that say something, each once.
func (c *checker) findings(list []said) []Finding {
	kept := []Finding{}
	for _, f := range list {
		if len(kept) == mostFindings {
			break
		}
		summary := Summary(textkit.VisibleLine(f.summary, 4*maxSummary))
		if !tells(summary) || slices.ContainsFunc(kept, func(o Finding) bool { return strings.EqualFold(o.Summary, summary) }) {
			continue
		}
		out := Finding{
			Type: c.typeOf(f.kind), Summary: summary, Importance: within(f.importance, 1, 10),
			Reinforces: c.entries(f.reinforces, f.rests), Rests: c.observations(summary, f.rests, f.reinforces),
		}
		out.Due = c.due(out.Rests, f.due)
		kept = append(kept, out)
	}
	return kept
}

// tells reports whether a summary says anything. What models write where they have
// nothing to say does not.
func tells(s string) bool {
	s = strings.ToLower(strings.Trim(s, " .-–—*_[]()"))
	switch s {
	case "none", "n/a", "na", "nothing", "null", "nothing new", "no findings", "no new findings", "summary":
		return false
	}
	return strings.ContainsFunc(s, unicode.IsLetter)
}

// typeOf returns the type that a role means by a word.
func (c *checker) typeOf(word string) string {
	word = strings.Trim(strings.ToLower(word), " .:*_`'\"[]()")
	for _, t := range c.types {
		if word == t || stemOf(word) == stemOf(t) || len(word) >= 4 && strings.HasPrefix(t, word) {
			return t
		}
	}
	return c.types[0]
}

// entries returns the ids of entries that there are in lists of references.
func (c *checker) entries(lists ...[]string) (ids []string) {
	for _, ref := range slices.Concat(lists...) {
		if e, _ := c.state.find(bare(ref)); e != nil && !slices.Contains(ids, e.ID) && len(ids) < maxRests {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// bare returns a reference without what models put around it.
func bare(ref string) string { return strings.Trim(ref, " \t.,;:*_`'\"[](){}#<>") }

// due returns when a finding is due: as an observation says that it rests on, else as
// the role says.
func (c *checker) due(rests []string, answer string) (due time.Time) {
	for _, l := range c.shown {
		if !l.Due.IsZero() && slices.Contains(rests, l.ID) && (due.IsZero() || l.Due.Before(due)) {
			due = l.Due.UTC()
		}
	}
	if due.IsZero() {
		due = readTime(answer)
	}
	return due
}

// readTime reads a time as models write them; zero if it is none.
func readTime(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02 15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return plain(t)
		}
	}
	return time.Time{}
}

// hints returns those for other roles that there are.
func (c *checker) hints(list []wantedHint) map[string]string {
	there, out := others(c.role.Name, c.state), make(map[string]string)
	for _, h := range list {
		to, text := strings.ToLower(bare(h.Role)), textkit.VisibleLine(h.LookFor, maxHint)
		to = strings.TrimPrefix(strings.TrimPrefix(to, "the "), "the_")
		if slices.Contains(there, to) && out[to] == "" && tells(text) && len(out) < mostHints {
			out[to] = text
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// escalate makes a report one that escalates. A reason that stands alone is a finding,
// for it is findings that are escalated.
func (c *checker) escalate(r *Report, reason string) {
	reason = textkit.VisibleLine(reason, maxLine)
	if len(r.Findings) == 0 && tells(reason) {
		r.Findings = c.findings([]said{{summary: reason, importance: escalateImport}})
	}
	if len(r.Findings) == 0 {
		return
	}
	if !tells(reason) {
		most := slices.MaxFunc(r.Findings, func(a, b Finding) int { return a.Importance - b.Importance })
		reason = most.Summary
	}
	r.Escalate = reason
}
