package mail

import (
	"regexp"
	"slices"
	"strings"
)

// Levels of mail.
const (
	levelNone      = 0
	levelBulk      = 1
	levelRequest   = 5
	levelImportant = 6
)

// An importanceRater estimates the importance of messages.
type importanceRater struct{ own, important []string }

func newImportanceRater(own, important []string) importanceRater {
	return importanceRater{own: lowerAll(own), important: lowerAll(important)}
}

func lowerAll(list []string) (out []string) {
	for _, s := range list {
		out = append(out, strings.ToLower(strings.TrimSpace(s)))
	}
	return out
}

func (j importanceRater) messageLevel(l *parsedMail, flagged bool) int {
	from := strings.ToLower(l.from)
	_, domain, _ := strings.Cut(from, "@")
	switch {
	case flagged, from != "" && (slices.Contains(j.important, from) || slices.Contains(j.important, "@"+domain)):
		return levelImportant
	case l.bulk:
		return levelBulk
	case slices.Contains(j.own, from):
		return levelNone
	case l.urgent, saysUrgent(l.subject), saysUrgent(firstLines(l.text)):
		return levelImportant
	case j.isDirect(l) && (questionPattern.MatchString(l.text+"\n"+l.subject) || deadlinePattern.MatchString(l.text+"\n"+l.subject)):
		return levelRequest
	}
	return levelNone
}

// isDirect reports whether a message is addressed to the user, or to one address if the user's are
// unknown.
func (j importanceRater) isDirect(l *parsedMail) bool {
	if len(j.own) == 0 {
		return len(l.to) == 1
	}
	return slices.ContainsFunc(l.to, func(to string) bool { return slices.Contains(j.own, to) })
}

// urgentLines is the number of lines to search for urgency.
const urgentLines = 3

// firstLines returns the first non-empty lines of a text.
func firstLines(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
		if len(list) == urgentLines {
			break
		}
	}
	return strings.Join(list, "\n")
}

// saysUrgent reports whether a text claims urgency without negation.
func saysUrgent(text string) bool {
	return slices.ContainsFunc(urgentPattern.FindAllStringIndex(text, -1), func(at []int) bool { return !denialPattern.MatchString(text[:at[0]]) })
}

var (
	urgentPattern   = regexp.MustCompile(`(?i)\b(?:urgent(?:ly)?|asap|as soon as possible|dringend(?:e[mnrs]?)?|eilt|eilig)\b`)
	denialPattern   = regexp.MustCompile(`(?i)(?:\b(?:not|nothing|no|non|less|never|nicht|nichts|kein\w*|weniger|nie)|n['’]t)[\s-]+(?:\pL+\s+)?$`)
	questionPattern = regexp.MustCompile(`(?m)\pL["'’)\]]* ?[?？](?:[\s"'’)\]]|$)`)
	deadlinePattern = regexp.MustCompile(`(?i)\b(?:deadline|due (?:by|on|date|today|tomorrow)|overdue|asap|as soon as possible|no later than|at the latest|expires? (?:on|in|today|tomorrow)|` +
		`(?:by|until|before) (?:\w+ )?(?:today|tonight|tomorrow|noon|monday|tuesday|wednesday|thursday|friday|saturday|sunday|end of (?:day|week|month)|eod|the end of|next week|january|february|march|april|may|june|july|august|september|october|november|december|\d{1,2}(?:st|nd|rd|th|[:.]\d\d| ?[ap]m)\b|\d{4}-\d\d-\d\d)|` +
		`bis (?:spätestens |zum )?(?:heute|morgen|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|ende|\d{1,2}\.)|frist|spätestens|avant (?:le|lundi|mardi|mercredi|jeudi|vendredi|demain)|date limite|au plus tard)`)
)
