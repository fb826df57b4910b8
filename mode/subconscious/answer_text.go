package subconscious

import (
	"ponder/internal/textkit"
	"strings"
	"unicode"
)

// labels of lines, and what models call them.
var labels = map[string]string{
	"finding": "finding", "findings": "finding", "summary": "finding", "observation": "finding",
	"type": "type", "kind": "type",
	"importance": "importance", "priority": "importance",
	"rests on": "rests", "rests": "rests", "labels": "rests", "based on": "rests", "evidence": "rests",
	"reinforces": "reinforces", "reinforce": "reinforces",
	"due": "due", "deadline": "due",
	"hint": "hint", "hints": "hint", "escalate": "escalate", "escalation": "escalate",
	"reason": "reason", "journal": "journal", "note": "journal",
	"look up": "look up", "lookup": "look up",
}

// maxHead bounds how far into a line its label may end, in bytes.
const maxHead = 48

// answerInText reads labelled lines, and reports whether there are any. An answer of
// nothing but the word NOTHING is one, too.
func answerInText(answer string) (a answered, ok bool) {
	for line := range strings.SplitSeq(textkit.CleanTrim(answer), "\n") {
		label, value := labelOf(line)
		if label == "" {
			continue
		}
		if ok = true; label == "finding" {
			if len(a.findings) < 4*mostFindings && value != "" {
				a.findings = append(a.findings, tagged(value))
			}
			continue
		}
		a.set(label, value)
	}
	if !ok {
		ok = nothing(answer)
	}
	return a, ok
}

// set takes a labelled value: of the last finding, or of the answer.
func (a *answered) set(label, value string) {
	switch label {
	case "hint":
		a.hints = append(a.hints, hintsIn(value)...)
	case "escalate":
		a.escalate, a.reason = escalating(value, a.reason)
	case "reason":
		if a.reason == "" {
			a.reason = value
		}
	case "journal":
		a.journal = value
	case "look up":
		a.lookUp = value
	}
	if len(a.findings) == 0 {
		return
	}
	f := &a.findings[len(a.findings)-1]
	switch label {
	case "type":
		f.kind = value
	case "importance":
		f.importance = importanceIn(value)
	case "rests":
		f.rests = references(value)
	case "reinforces":
		f.reinforces = references(value)
	case "due":
		f.due = value
	}
}

// labelOf splits a line that begins with a label: "2. **Finding:** text".
func labelOf(line string) (label, value string) {
	i := strings.IndexAny(line, ":：")
	if i < 0 || i > maxHead || strings.ContainsAny(line[:i], `{}"`) {
		return "", ""
	}
	head := strings.FieldsFunc(strings.ToLower(line[:i]), func(r rune) bool { return !unicode.IsLetter(r) })
	name := strings.Join(head, " ")
	value = strings.Trim(strings.TrimLeft(line[i:], ":："), " \t*_")
	if to, ok := strings.CutPrefix(name, "hint "); ok { // "HINT librarian: text"
		return "hint", strings.TrimPrefix(strings.TrimPrefix(to, "for "), "to ") + ": " + value
	}
	return labels[name], value
}

// tagged reads a finding with what may stand before it in brackets: "[risk 7] text".
func tagged(value string) said {
	f := said{summary: value, importance: usualImport}
	inner, rest, ok := strings.Cut(strings.TrimPrefix(value, "["), "]")
	if !ok || !strings.HasPrefix(value, "[") || len(inner) > maxHead || strings.TrimSpace(rest) == "" {
		return f
	}
	f.summary = strings.TrimSpace(rest)
	for _, word := range strings.FieldsFunc(inner, func(r rune) bool { return strings.ContainsRune(" ,;:|", r) }) {
		if unicode.IsDigit(rune(word[0])) {
			f.importance = importanceIn(word)
		} else if f.kind == "" {
			f.kind = word
		}
	}
	return f
}

// nothing reports whether an answer says that there is nothing to say.
func nothing(answer string) bool {
	switch strings.ToLower(strings.Trim(strings.TrimSpace(answer), ".!*_`\"' ")) {
	case "nothing", "none", "no findings", "no new findings", "nothing new", "nothing to report", "no observations", "[]", "{}":
		return true
	}
	return false
}
