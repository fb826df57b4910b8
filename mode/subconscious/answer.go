package subconscious

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/llm/structured"
)

// The schema of answers. It uses lists of pairs because strict schemas lack maps.
type (
	wanted struct {
		Findings []wantedFinding `json:"findings"`
		Hints    []wantedHint    `json:"hints,omitempty"`
		Escalate bool            `json:"escalate,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Journal  string          `json:"journal,omitempty"`
	}
	wantedOfLooking struct {
		Findings []wantedFinding `json:"findings"`
		Hints    []wantedHint    `json:"hints,omitempty"`
		Escalate bool            `json:"escalate,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Journal  string          `json:"journal,omitempty"`
		LookUp   string          `json:"look_up,omitempty"`
	}
	wantedFinding struct {
		Type       string   `json:"type" labels:"kind,category"`
		Summary    string   `json:"summary" labels:"finding,content,text,description" head:""`
		Importance *int     `json:"importance" labels:"priority,level,severity" scale:"10"`
		RestsOn    []string `json:"rests_on,omitempty" labels:"rests,labels,evidence,sources,based on"`
		Reinforces []string `json:"reinforces,omitempty" labels:"reinforce,entries"`
		Due        string   `json:"due,omitempty" labels:"deadline,date,when"`
	}
	wantedHint struct {
		Role    string `json:"role" labels:"to,for"`
		LookFor string `json:"look_for" labels:"hint,text,focus"`
	}
)

// answered is a leniently parsed answer. Escalate is a boolean or a reason.
type answered struct {
	Findings []wantedFinding `json:"findings" labels:"observations,results"`
	Hints    []wantedHint    `json:"hints,omitempty"`
	Escalate string          `json:"escalate,omitempty" labels:"escalation"`
	Reason   string          `json:"reason,omitempty" labels:"escalation reason"`
	Journal  string          `json:"journal,omitempty" labels:"journal note,note"`
	LookUp   string          `json:"look_up,omitempty"`
}

var reportForm = structured.New[answered](lookingSchema)

var (
	answerSchema  = llm.SchemaFor[wanted]("report")
	lookingSchema = llm.SchemaFor[wantedOfLooking]("report")
)

func schemaOf(r Role) *llm.Schema {
	if r.Looks == LooksNone {
		return answerSchema
	}
	return lookingSchema
}

const (
	mostFindings   = 8
	mostHints      = 4
	maxAnswer      = 64 << 10 // bytes
	usualImport    = 3
	escalateImport = 7 // for an escalation without findings
)

var errUnread = errors.New(`the answer has no findings: want JSON with a list "findings", which may be empty`)

// ParseReport parses a role's answer to the [Prompt] for the same observations: valid or malformed
// JSON, or labelled lines. It drops unknown labels, entries and roles. A finding rests on the
// relevant observations it cites, and on untrusted ones that it appears to come from.
func ParseReport(role Role, answer string, seen []Seen, s State) (Report, error) {
	if len(answer) > maxAnswer {
		answer = strings.ToValidUTF8(answer[:maxAnswer], "")
	}
	a, ok := reportForm.Read(answer)
	if bare := structured.Unfenced(answer); !ok && (bare == "null" || !strings.ContainsFunc(bare, unicode.IsLetter) || structured.HasContent(bare)) {
		return Report{}, errUnread
	}
	shown, _ := label(seen)
	c := checker{role: role, state: s, shown: shown, types: role.types()}
	r := Report{Role: role.Name, Findings: c.findings(a.Findings), Hints: c.hints(a.Hints), Journal: textkit.VisibleLine(a.Journal, maxHint)}
	if role.Looks != LooksNone {
		first, _, _ := strings.Cut(a.LookUp, "\n\n")
		r.LookUp = wantedText(first)
	}
	if yes, reason := escalating(a.Escalate); yes {
		c.escalate(&r, cmp.Or(reason, a.Reason))
	}
	return r, nil
}

// A checker validates an answer and builds the report.
type checker struct {
	role  Role
	state State
	shown []labelled
	types []string
	have  [][]string
}

func (c *checker) findings(list []wantedFinding) []Finding {
	kept := []Finding{}
	for _, f := range list {
		if len(kept) == mostFindings {
			break
		}
		summary := Summary(textkit.VisibleLine(f.Summary, 4*maxSummary))
		if !tells(summary) || slices.ContainsFunc(kept, func(o Finding) bool { return strings.EqualFold(o.Summary, summary) }) {
			continue
		}
		importance, rests, reinforces := usualImport, references(f.RestsOn), references(f.Reinforces)
		if f.Importance != nil {
			importance = within(*f.Importance, 1, 10)
		}
		out := Finding{
			Type: c.typeOf(f.Type), Summary: summary, Importance: importance,
			Reinforces: c.entries(reinforces, rests), Rests: c.observations(summary, rests, reinforces),
		}
		out.Due = c.due(out.Rests, f.Due)
		kept = append(kept, out)
	}
	return kept
}

func tells(s string) bool {
	return structured.HasContent(s) && strings.ContainsFunc(s, unicode.IsLetter)
}

func references(list []string) (refs []string) {
	for _, s := range list[:min(len(list), 4*maxRests)] {
		refs = append(refs, strings.FieldsFunc(textkit.Prefix(s, maxLine), func(r rune) bool { return strings.ContainsRune(" ,;[]()\"'", r) })...)
	}
	return refs
}

func escalating(s string) (escalate bool, reason string) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s+" ", " ,;:-–—(\n")
	switch strings.ToLower(strings.Trim(s[:i], ".!*_\"'`")) {
	case "", "no", "false", "none", "null", "n/a", "nothing", "not", "0":
		return false, ""
	case "yes", "true", "1":
		return true, strings.TrimLeft(s[i:], " ,;:-–—(\n")
	}
	return true, s
}

func (c *checker) typeOf(word string) string {
	word = strings.Trim(strings.ToLower(word), " .:*_`'\"[]()")
	for _, t := range c.types {
		if word == t || stemOf(word) == stemOf(t) || len(word) >= 4 && strings.HasPrefix(t, word) {
			return t
		}
	}
	return c.types[0]
}

func (c *checker) entries(lists ...[]string) (ids []string) {
	for _, ref := range slices.Concat(lists...) {
		if e, _ := c.state.find(bare(ref)); e != nil && !slices.Contains(ids, e.ID) && len(ids) < maxRests {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// bare strips the punctuation that models put around references.
func bare(ref string) string { return strings.Trim(ref, " \t.,;:*_`'\"[](){}#<>") }

// due returns the earliest due time of the cited observations, else the time the role gives.
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

// readTime returns the zero time if s has none of the formats that models use.
func readTime(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02 15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return plain(t)
		}
	}
	return time.Time{}
}

func (c *checker) hints(list []wantedHint) map[string]string {
	there, out := others(c.role.Name, c.state), make(map[string]string)
	for _, h := range list {
		if role, text, ok := strings.Cut(h.Role, ":"); ok && h.LookFor == "" {
			h.Role, h.LookFor = role, text
		}
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

// escalate marks r as escalating. A bare reason becomes a finding, because only findings are
// escalated.
func (c *checker) escalate(r *Report, reason string) {
	reason = textkit.VisibleLine(reason, maxLine)
	if importance := escalateImport; len(r.Findings) == 0 && tells(reason) {
		r.Findings = c.findings([]wantedFinding{{Summary: reason, Importance: &importance}})
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
