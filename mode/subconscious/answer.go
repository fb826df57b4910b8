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
	reportAnswer struct {
		Findings []findingAnswer `json:"findings"`
		Hints    []hintAnswer    `json:"hints,omitempty"`
		Escalate bool            `json:"escalate,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Journal  string          `json:"journal,omitempty"`
	}
	lookUpAnswer struct {
		Findings []findingAnswer `json:"findings"`
		Hints    []hintAnswer    `json:"hints,omitempty"`
		Escalate bool            `json:"escalate,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Journal  string          `json:"journal,omitempty"`
		LookUp   string          `json:"look_up,omitempty"`
	}
	findingAnswer struct {
		Type       string   `json:"type" labels:"kind,category"`
		Summary    string   `json:"summary" labels:"finding,content,text,description" head:""`
		Importance *int     `json:"importance" labels:"priority,level,severity" scale:"10"`
		RestsOn    []string `json:"rests_on,omitempty" labels:"rests,labels,evidence,sources,based on"`
		Reinforces []string `json:"reinforces,omitempty" labels:"reinforce,entries"`
		Due        string   `json:"due,omitempty" labels:"deadline,date,when"`
	}
	hintAnswer struct {
		Role    string `json:"role" labels:"to,for"`
		LookFor string `json:"look_for" labels:"hint,text,focus"`
	}
)

// lenientAnswer is a leniently parsed answer. Escalate is a boolean or a reason.
type lenientAnswer struct {
	Findings []findingAnswer `json:"findings" labels:"observations,results"`
	Hints    []hintAnswer    `json:"hints,omitempty"`
	Escalate string          `json:"escalate,omitempty" labels:"escalation"`
	Reason   string          `json:"reason,omitempty" labels:"escalation reason"`
	Journal  string          `json:"journal,omitempty" labels:"journal note,note"`
	LookUp   string          `json:"look_up,omitempty"`
}

var reportForm = structured.New[lenientAnswer](lookingSchema)

var (
	answerSchema  = llm.SchemaFor[reportAnswer]("report")
	lookingSchema = llm.SchemaFor[lookUpAnswer]("report")
)

func schemaForRole(r Role) *llm.Schema {
	if r.Looks == LookUpNone {
		return answerSchema
	}
	return lookingSchema
}

const (
	maxModelFindings     = 8
	maxReportHints       = 4
	maxAnswerBytes       = 64 << 10 // bytes
	defaultImportance    = 3
	escalationImportance = 7 // for an escalation without findings
)

var errNoFindings = errors.New(`the answer has no findings: want JSON with a list "findings", which may be empty`)

// ParseReport parses a role's answer to the [Prompt] for the same observations: valid or malformed
// JSON, or labelled lines. It drops unknown labels, entries and roles. A finding rests on the
// relevant observations it cites, and on untrusted ones that it appears to come from.
func ParseReport(role Role, answer string, seen []SeenObservation, s State) (Report, error) {
	if len(answer) > maxAnswerBytes {
		answer = strings.ToValidUTF8(answer[:maxAnswerBytes], "")
	}
	a, ok := reportForm.Read(answer)
	if bare := structured.TrimFence(answer); !ok && (bare == "null" || !strings.ContainsFunc(bare, unicode.IsLetter) || structured.HasContent(bare)) {
		return Report{}, errNoFindings
	}
	shown, _ := labelObservations(seen)
	c := answerChecker{role: role, state: s, shown: shown, types: role.sortedTypes()}
	r := Report{Role: role.Name, Findings: c.checkFindings(a.Findings), Hints: c.checkHints(a.Hints), Journal: textkit.VisibleLine(a.Journal, maxHint)}
	if role.Looks != LookUpNone {
		first, _, _ := strings.Cut(a.LookUp, "\n\n")
		r.LookUp = cleanLookUp(first)
	}
	if yes, reason := parseEscalation(a.Escalate); yes {
		c.markEscalating(&r, cmp.Or(reason, a.Reason))
	}
	return r, nil
}

// An answerChecker validates an answer and builds the report.
type answerChecker struct {
	role         Role
	state        State
	shown        []labelledObservation
	types        []string
	keywordCache [][]string
}

func (c *answerChecker) checkFindings(list []findingAnswer) []Finding {
	kept := []Finding{}
	for _, f := range list {
		if len(kept) == maxModelFindings {
			break
		}
		summary := Summary(textkit.VisibleLine(structured.DropRepeats(f.Summary), 4*maxSummary))
		if !hasContent(summary) || findingCheck.Fault(summary, "") != "" || slices.ContainsFunc(kept, func(o Finding) bool { return strings.EqualFold(o.Summary, summary) }) {
			continue
		}
		importance, rests, reinforces := defaultImportance, splitReferences(f.RestsOn), splitReferences(f.Reinforces)
		if f.Importance != nil {
			importance = clamp(*f.Importance, 1, 10)
		}
		out := Finding{
			Type: c.matchType(f.Type), Summary: summary, Importance: importance,
			Reinforces: c.citedEntries(reinforces, rests), Rests: c.supportingIDs(summary, rests, reinforces),
		}
		out.Due = c.findingDue(out.Rests, f.Due)
		kept = append(kept, out)
	}
	return kept
}

// findingCheck rejects findings without words of their own, as small models write them.
var findingCheck = structured.NewValidator(frameText, watcherPrompt, librarianPrompt, oraclePrompt, dreamerPrompt)

func hasContent(s string) bool {
	return structured.HasContent(s) && strings.ContainsFunc(s, unicode.IsLetter)
}

func splitReferences(list []string) (refs []string) {
	for _, s := range list[:min(len(list), 4*maxRests)] {
		refs = append(refs, strings.FieldsFunc(textkit.Prefix(s, maxLine), func(r rune) bool { return strings.ContainsRune(" ,;[]()\"'", r) })...)
	}
	return refs
}

func parseEscalation(s string) (escalate bool, reason string) {
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

func (c *answerChecker) matchType(word string) string {
	word = strings.Trim(strings.ToLower(word), " .:*_`'\"[]()")
	for _, t := range c.types {
		if word == t || stemOf(word) == stemOf(t) || len(word) >= 4 && strings.HasPrefix(t, word) {
			return t
		}
	}
	return c.types[0]
}

func (c *answerChecker) citedEntries(lists ...[]string) (ids []string) {
	for _, ref := range slices.Concat(lists...) {
		if e, _ := c.state.findEntry(trimReference(ref)); e != nil && !slices.Contains(ids, e.ID) && len(ids) < maxRests {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// trimReference strips the punctuation that models put around references.
func trimReference(ref string) string { return strings.Trim(ref, " \t.,;:*_`'\"[](){}#<>") }

// findingDue returns the earliest due time of the cited observations, else the time the role gives.
func (c *answerChecker) findingDue(rests []string, answer string) (due time.Time) {
	for _, l := range c.shown {
		if !l.Due.IsZero() && slices.Contains(rests, l.ID) && (due.IsZero() || l.Due.Before(due)) {
			due = l.Due.UTC()
		}
	}
	if due.IsZero() {
		due = parseTime(answer)
	}
	return due
}

// parseTime returns the zero time if s has none of the formats that models use.
func parseTime(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02 15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return storableTime(t)
		}
	}
	return time.Time{}
}

func (c *answerChecker) checkHints(list []hintAnswer) map[string]string {
	there, out := otherRoles(c.role.Name, c.state), make(map[string]string)
	for _, h := range list {
		if role, text, ok := strings.Cut(h.Role, ":"); ok && h.LookFor == "" {
			h.Role, h.LookFor = role, text
		}
		to, text := strings.ToLower(trimReference(h.Role)), textkit.VisibleLine(h.LookFor, maxHint)
		to = strings.TrimPrefix(strings.TrimPrefix(to, "the "), "the_")
		if slices.Contains(there, to) && out[to] == "" && hasContent(text) && len(out) < maxReportHints {
			out[to] = text
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// markEscalating marks r as escalating. A bare reason becomes a finding, because only findings are
// escalated.
func (c *answerChecker) markEscalating(r *Report, reason string) {
	reason = textkit.VisibleLine(reason, maxLine)
	if importance := escalationImportance; len(r.Findings) == 0 && hasContent(reason) {
		r.Findings = c.checkFindings([]findingAnswer{{Summary: reason, Importance: &importance}})
	}
	if len(r.Findings) == 0 {
		return
	}
	if !hasContent(reason) {
		top := slices.MaxFunc(r.Findings, func(a, b Finding) int { return a.Importance - b.Importance })
		reason = top.Summary
	}
	r.Escalate = reason
}
