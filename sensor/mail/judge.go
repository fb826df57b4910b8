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

// A judge estimates the importance of messages.
type judge struct{ own, important []string }

func newJudge(own, important []string) judge {
	return judge{own: lower(own), important: lower(important)}
}

func lower(list []string) (out []string) {
	for _, s := range list {
		out = append(out, strings.ToLower(strings.TrimSpace(s)))
	}
	return out
}

func (j judge) level(l *letter, flagged bool) int {
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
	case j.isDirect(l) && (question.MatchString(l.text+"\n"+l.subject) || deadline.MatchString(l.text+"\n"+l.subject)):
		return levelRequest
	}
	return levelNone
}

// isDirect reports whether a message is addressed to the user, or to one address if the user's are
// unknown.
func (j judge) isDirect(l *letter) bool {
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
	return slices.ContainsFunc(urgent.FindAllStringIndex(text, -1), func(at []int) bool { return !denial.MatchString(text[:at[0]]) })
}

var (
	urgent   = regexp.MustCompile(`(?i)\b(?:urgent(?:ly)?|asap|as soon as possible|dringend(?:e[mnrs]?)?|eilt|eilig)\b`)
	denial   = regexp.MustCompile(`(?i)(?:\b(?:not|nothing|no|non|less|never|nicht|nichts|kein\w*|weniger|nie)|n['’]t)[\s-]+(?:\pL+\s+)?$`)
	question = regexp.MustCompile(`(?m)\pL["'’)\]]* ?[?？](?:[\s"'’)\]]|$)`)
	deadline = regexp.MustCompile(`(?i)\b(?:deadline|due (?:by|on|date|today|tomorrow)|overdue|asap|as soon as possible|no later than|at the latest|expires? (?:on|in|today|tomorrow)|` +
		`(?:by|until|before) (?:\w+ )?(?:today|tonight|tomorrow|noon|monday|tuesday|wednesday|thursday|friday|saturday|sunday|end of (?:day|week|month)|eod|the end of|next week|january|february|march|april|may|june|july|august|september|october|november|december|\d{1,2}(?:st|nd|rd|th|[:.]\d\d| ?[ap]m)\b|\d{4}-\d\d-\d\d)|` +
		`bis (?:spätestens |zum )?(?:heute|morgen|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|ende|\d{1,2}\.)|frist|spätestens|avant (?:le|lundi|mardi|mercredi|jeudi|vendredi|demain)|date limite|au plus tard)`)
)
