package approval

import (
	_ "embed"
	"slices"
	"strings"
)

// PlanMark begins a message from which on plan mode is on in a conversation; with
// the word off after it, it is off again.
const PlanMark = "/plan"

//go:embed plan.md
var planRules string

// PlanRules tells a model of plan mode, for a system prompt.
func PlanRules() string { return strings.TrimSpace(planRules) }

// planning reports whether plan mode is on.
func (g Gate) planning(turns []Turn) bool {
	on := g.Plan
	for _, t := range turns {
		if rest, ok := marked(t.User); ok {
			on = g.Plan || rest != "off"
		}
	}
	return on
}

// marked reports whether a message is about plan mode, and what it says beside that.
func marked(text string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimSpace(text), PlanMark)
	if !ok || rest != "" && strings.IndexByte(" \t\r\n", rest[0]) < 0 {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// calledOff reports whether a message ends what a plan allowed: it asks for another,
// or stops what goes on.
func calledOff(text string) bool {
	if _, ok := marked(text); ok {
		return true
	}
	words := split(text)
	return len(words) > 0 && slices.Contains([]string{
		"no", "stop", "cancel", "halt", "wait", "don't", "abort", "undo", "nein", "stopp", "warte", "non", "arrête", "não",
	}, words[0])
}

// approvedPlan returns the plan that was shown last, and whether it is approved: the
// message after it was a plain yes, and none since has called it off or asked for
// another.
func approvedPlan(turns []Turn) (plan string, approved bool) {
	shown := false // in the turn before
	for _, t := range turns {
		switch {
		case shown:
			approved = yes(t.User)
		case approved && calledOff(t.User):
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

// planIn returns the plan of a turn's answers: what stands under a heading with the
// word plan, if it has a step.
func planIn(answers []string) (plan string, ok bool) {
	lines := strings.Split(strings.Join(answers, "\n"), "\n")
	from := slices.IndexFunc(lines, heading)
	if from < 0 || !slices.ContainsFunc(lines[from+1:], step) {
		return "", false
	}
	return strings.Join(lines[from:], "\n"), true
}

// heading reports whether a line is a heading of a plan: "## Plan", "**Plan**",
// "Plan:".
func heading(line string) bool {
	line = strings.TrimSpace(line)
	words := split(line)
	if len(words) == 0 || len(words) > 6 || !slices.Contains(words, "plan") {
		return false
	}
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**") || strings.HasSuffix(line, ":")
}

// step reports whether a line is a step of a list.
func step(line string) bool {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") {
		return true
	}
	rest := strings.TrimLeft(line, "0123456789")
	return rest != line && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}
