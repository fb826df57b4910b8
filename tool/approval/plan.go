package approval

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
)

// PlanMark at the start of a message enables plan mode for the conversation. With the word
// off after it, it disables the mode.
const PlanMark = "/plan"

//go:embed prompts/plan.md
var planRules string

// PlanRules returns the rules of plan mode for a system prompt.
func PlanRules() string { return strings.TrimSpace(planRules) }

// inPlanMode reports whether plan mode is on.
func (g Gate) inPlanMode(turns []Turn) bool {
	on := g.Plan
	for _, t := range turns {
		if rest, ok := cutPlanMark(t.User); ok {
			on = g.Plan || rest != "off"
		}
	}
	return on
}

// cutPlanMark reports whether a message starts with PlanMark, and returns its rest.
func cutPlanMark(text string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimSpace(text), PlanMark)
	if !ok || rest != "" && strings.IndexByte(" \t\r\n", rest[0]) < 0 {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// isWithdrawal reports whether a message withdraws the approval of a plan: it asks for another
// plan, or stops the work.
func isWithdrawal(text string) bool {
	if _, ok := cutPlanMark(text); ok {
		return true
	}
	words := splitWords(text)
	return len(words) > 0 && slices.Contains([]string{
		"no", "stop", "cancel", "halt", "wait", "don't", "abort", "undo", "nein", "stopp", "warte", "non", "arrête", "não",
	}, words[0])
}

// approvedPlan returns the last plan, and whether it is approved: the next message was a
// plain yes, and no later one withdrew it.
func approvedPlan(turns []Turn) (plan string, approved bool) {
	shown := false // in the last turn
	for _, t := range turns {
		switch {
		case shown:
			approved = isYes(t.User)
		case approved && isWithdrawal(t.User):
			approved = false
		}
		if p, ok := planIn(t.Answer); ok {
			plan, approved, shown = p, false, true
		} else {
			shown = false
		}
	}
	return plan, approved
}

// planIn returns the plan in the answers of a turn: the text from a isHeading with the word
// plan, if a step follows.
func planIn(answers []string) (plan string, ok bool) {
	lines := strings.Split(strings.Join(answers, "\n"), "\n")
	from := slices.IndexFunc(lines, isHeading)
	if from < 0 || !slices.ContainsFunc(lines[from+1:], isStep) {
		return "", false
	}
	return strings.Join(lines[from:], "\n"), true
}

// isHeading reports whether a line is the isHeading of a plan: "## Plan", "**Plan**", "Plan:".
func isHeading(line string) bool {
	line = strings.TrimSpace(line)
	words := splitWords(line)
	if len(words) == 0 || len(words) > 6 || !slices.Contains(words, "plan") {
		return false
	}
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**") || strings.HasSuffix(line, ":")
}

// isStep reports whether a line is a list item.
func isStep(line string) bool {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") {
		return true
	}
	rest := strings.TrimLeft(line, "0123456789")
	return rest != line && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}

// planMissing is the refusal of a call without an approved plan, for the model.
const planMissing = `Not run: %.64s needs a plan first. Answer with a plan under the heading "## Plan", one numbered step to a line, that names this tool. Ask whether to go on, and wait for the user's yes.`

// isPlanned reports whether there is an approved plan that names the tool. Such a plan alone runs
// nothing: each call still needs its own approval.
func isPlanned(r Request) bool {
	plan, approved := approvedPlan(r.Turns)
	return approved && namesTool(plan, r.Tool)
}

// namesTool reports whether a text contains the name of a tool as words of their own.
func namesTool(text, tool string) bool {
	name := splitWords(strings.ReplaceAll(tool, "_", " "))
	in := splitWords(strings.ReplaceAll(text, "_", " "))
	for i := 0; len(name) > 0 && i+len(name) <= len(in); i++ {
		if slices.Equal(in[i:i+len(name)], name) {
			return true
		}
	}
	return false
}

// plainYes are all messages that count as a plain yes to a plan, in lower case without punctuation.
var plainYes = []string{
	"yes", "y", "yep", "yeah", "yes please", "yes go ahead", "yes do it", "sure", "ok", "okay", "ok go ahead", "go ahead", "do it", "please do", "approved", "approve",
	"confirmed", "confirm", "agreed", "looks good", "sounds good", "ja", "ja bitte", "jawohl", "einverstanden", "mach das", "ok mach das", "oui", "oui merci", "d'accord",
	"sí", "sí por favor", "vale", "sì", "va bene", "sim", "はい", "是", "是的", "好", "好的", "可以", "да", "давай",
}

// isYes reports whether a message is a plain yes, and nothing else.
func isYes(text string) bool {
	text = strings.TrimSpace(text)
	return text == "👍" || text == "✅" || !strings.ContainsAny(text, "?？¿") && slices.Contains(plainYes, strings.Join(splitWords(text), " "))
}

// splitWords returns the words of a text in lower case, without punctuation.
func splitWords(text string) (words []string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !isWordRune(r) && r != '\'' && r != '’' }) {
		words = append(words, strings.ReplaceAll(word, "’", "'"))
	}
	return words
}

// isWordRune reports whether a rune is part of a word or a number.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
