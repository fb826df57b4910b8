package subconscious

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"ponder/llm"
)

// An object is a JSON object whose names are in lower case.
type object map[string]any

// answerInJSON reads the JSON in an answer, in whatever names.
func answerInJSON(text string) (a answered, ok bool) {
	js, err := llm.Repair(text)
	if err != nil {
		return a, false
	}
	var v any
	if json.Unmarshal(js, &v) != nil {
		return a, false
	}
	if inner, isText := v.(string); isText { // JSON in JSON
		if js, err = llm.Repair(inner); err != nil || json.Unmarshal(js, &v) != nil {
			return a, false
		}
		text = inner
	}
	for range 3 { // such as {"report": {"findings": [...]}}
		m, isObject := v.(map[string]any)
		if !isObject {
			break
		}
		low := lower(m)
		if a, ok = low.answer(); ok {
			return a, true
		}
		if v = low.only(); v == nil {
			return a, false
		}
	}
	list, isList := v.([]any)
	if !isList || !begins(text) { // labels in a line, as in "RESTS ON: [o1]"
		return a, false
	}
	a.findings = findingsIn(list)
	return a, len(a.findings) > 0 || len(list) == 0
}

// begins reports whether an answer begins with a list, or with the fence around one.
func begins(answer string) bool {
	answer = strings.TrimSpace(answer)
	return strings.HasPrefix(answer, "[") || strings.HasPrefix(answer, "```")
}

// answer reads an object as an answer, and reports whether it is one.
func (m object) answer() (a answered, ok bool) {
	for _, name := range []string{"findings", "finding", "observations", "results"} {
		switch v := m[name].(type) {
		case []any:
			a.findings, ok = findingsIn(v), true
		case map[string]any:
			a.findings, ok = findingsIn([]any{v}), true
		case string:
			a.findings, ok = findingsIn([]any{v}), true
		case nil:
			_, null := m[name]
			ok = null
		}
		if ok {
			break
		}
	}
	if f, is := m.finding(); !ok && is {
		a.findings, ok = []said{f}, true
	}
	a.hints = hintsIn(m.any("hints", "hint", "focus_hints"))
	a.escalate, a.reason = m.escalation()
	a.journal = m.text("journal", "journal_note", "note")
	a.lookUp = m.lookUp()
	return a, ok || a.escalate && a.reason != "" || a.journal != "" || a.lookUp != "" || len(a.hints) > 0
}

// lookUp reads what is to be looked up: a text, or the first of a list.
func (m object) lookUp() string {
	v := m.any("look_up", "lookup", "look-up")
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	if o, ok := v.(map[string]any); ok {
		return lower(o).text("words", "query", "text", "look_up")
	}
	s, _ := v.(string)
	return s
}

// findingsIn reads the findings of a list.
func findingsIn(list []any) (all []said) {
	for _, e := range list[:min(len(list), 4*mostFindings)] {
		switch e := e.(type) {
		case string:
			all = append(all, said{summary: e, importance: usualImport})
		case map[string]any:
			if f, ok := lower(e).finding(); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

// finding reads an object as a finding, and reports whether it is one.
func (m object) finding() (said, bool) {
	f := said{
		kind: m.text("type", "kind", "category"), summary: m.text("summary", "finding", "content", "text", "description"), due: m.text("due", "deadline", "date", "when"),
		importance: importance(m.any("importance", "priority", "level", "severity")),
		rests:      references(m.any("rests_on", "rests", "labels", "observations", "sources", "evidence", "based_on")),
		reinforces: references(m.any("reinforces", "reinforce", "entries")),
	}
	return f, f.summary != ""
}

// escalation reads whether something is to be escalated, and why.
func (m object) escalation() (escalate bool, reason string) {
	reason = m.text("reason", "escalation_reason", "escalate_reason", "why")
	switch v := m.any("escalate", "escalation").(type) {
	case bool:
		return v, reason
	case float64:
		return v != 0, reason
	case string:
		return escalating(v, reason)
	case map[string]any:
		o := lower(v)
		inner := o.text("reason", "why", "text", "content", "message")
		if inner == "" {
			inner = reason
		}
		if yes, is := o.any("escalate", "needed", "value", "required").(bool); is {
			return yes, inner
		}
		return inner != "", inner
	case []any:
		if len(v) > 0 {
			first, _ := v[0].(string)
			return escalating(first, reason)
		}
	}
	return false, reason
}

// escalating reads a text that says whether to escalate, or why.
func escalating(s, reason string) (bool, string) {
	s = strings.TrimSpace(s)
	switch low := strings.ToLower(strings.Trim(s, " .!*_\"'`")); low {
	case "", "no", "false", "none", "null", "n/a", "nothing", "not needed", "0", "-":
		return false, ""
	case "yes", "true", "now", "1":
		return true, reason
	default:
		for _, yes := range []string{"yes", "true"} {
			if rest, ok := strings.CutPrefix(low, yes); ok && strings.IndexAny(rest, " ,;:-–—(") == 0 {
				return true, strings.TrimLeft(s[len(yes):], " ,;:-–—(")
			}
		}
		for _, no := range []string{"no", "false", "not"} {
			if rest, ok := strings.CutPrefix(low, no); ok && strings.IndexAny(rest, " ,;:-–—(") == 0 {
				return false, ""
			}
		}
	}
	return true, s
}

// hintsIn reads hints: a list of pairs, or an object with a text for each role.
func hintsIn(v any) (list []wantedHint) {
	switch v := v.(type) {
	case map[string]any:
		m := lower(v)
		if h, ok := m.hint(); ok {
			return []wantedHint{h}
		}
		for _, role := range slices.Sorted(maps.Keys(m)) {
			if text, ok := m[role].(string); ok && len(list) < 4*mostHints {
				list = append(list, wantedHint{role, text})
			}
		}
	case []any:
		for _, e := range v[:min(len(v), 4*mostHints)] {
			switch e := e.(type) {
			case map[string]any:
				list = append(list, hintsIn(e)...)
			case string:
				if role, text, ok := strings.Cut(e, ":"); ok {
					list = append(list, wantedHint{role, text})
				}
			}
		}
	case string:
		if role, text, ok := strings.Cut(v, ":"); ok {
			list = append(list, wantedHint{role, text})
		}
	}
	return list
}

// hint reads an object as a hint, and reports whether it is one.
func (m object) hint() (wantedHint, bool) {
	h := wantedHint{m.text("role", "to", "for", "thread", "mind"), m.text("look_for", "hint", "text", "focus", "content")}
	return h, h.Role != "" && h.LookFor != ""
}

// only returns the value of an object's only member, if it is no scalar.
func (m object) only() any {
	for _, v := range m {
		switch v.(type) {
		case map[string]any, []any:
			if len(m) == 1 {
				return v
			}
		}
	}
	return nil
}

func lower(m map[string]any) object {
	low := make(object, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		low[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(k)), " ", "_")] = m[k]
	}
	return low
}

// any returns the first member of these names that there is.
func (m object) any(names ...string) any {
	for _, name := range names {
		if v := m[name]; v != nil {
			return v
		}
	}
	return nil
}

// text returns the first member of these names that is a text.
func (m object) text(names ...string) string {
	for _, name := range names {
		if s, ok := m[name].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// references returns the labels and ids in a value: a list of texts or numbers, or a text
// with commas.
func references(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return strings.FieldsFunc(v[:min(len(v), 1000)], func(r rune) bool { return strings.ContainsRune(" ,;[]()\"'", r) })
	case float64:
		return []string{"o" + strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		for _, e := range v[:min(len(v), 4*maxRests)] {
			switch e := e.(type) {
			case string, float64:
				list = append(list, references(e)...)
			case map[string]any:
				list = append(list, lower(e).text("id", "label"))
			}
		}
	}
	return list
}

// importance returns a value as a number from 1 to 10.
func importance(v any) int {
	switch v := v.(type) {
	case float64:
		if v > 0 && v < 1 {
			v *= 10
		}
		return int(math.Round(within(v, 1, 10)))
	case string:
		return importanceIn(v)
	}
	return usualImport
}

// importanceIn reads "8", "8/10", "0.8", "80 %" and words.
func importanceIn(s string) int {
	s = strings.ToLower(strings.Trim(s, " \t*_`'\"[]()."))
	digits := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if digits < 0 {
		digits = len(s)
	}
	if x, err := strconv.ParseFloat(s[:digits], 64); err == nil {
		if strings.HasPrefix(strings.TrimSpace(s[digits:]), "%") {
			x /= 10
		}
		return importance(x)
	}
	for _, w := range []struct {
		word string
		is   int
	}{{"crit", 10}, {"urgent", 9}, {"very high", 9}, {"high", 8}, {"medium", 5}, {"moderate", 5}, {"low", 2}, {"trivial", 1}} {
		if strings.HasPrefix(s, w.word) {
			return w.is
		}
	}
	return usualImport
}
