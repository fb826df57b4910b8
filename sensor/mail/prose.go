package mail

import (
	"regexp"
	"slices"
	"strings"

	"ponder/sensor"
)

// ownText returns a text without quotations, their attributions and the signature. If only
// quotations remain, it returns them.
func ownText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var own, quoted []string
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.TrimRight(lines[i], " ") == "--" && len(own) > 0, isForward(lines[i:]) && hasText(own):
			return strings.Join(own, "\n")
		case strings.HasPrefix(line, ">"):
			quoted = append(quoted, strings.TrimLeft(line, "> "))
		case attributionPattern.MatchString(line), sentFrom.MatchString(line):
		case i+1 < len(lines) && attributionPattern.MatchString(line+" "+strings.TrimSpace(lines[i+1])):
			i++
		default:
			own = append(own, lines[i])
		}
	}
	if !hasText(own) {
		own = quoted
	}
	return strings.Join(own, "\n")
}

func hasText(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.TrimSpace(l) != "" })
}

// isForward reports whether the lines start another message without quotation marks.
func isForward(lines []string) bool {
	line := strings.TrimSpace(lines[0])
	if forwardPattern.MatchString(line) {
		return true
	}
	return len(lines) > 2 && fromLine.MatchString(line) && sentLine.MatchString(strings.TrimSpace(lines[1]))
}

var (
	attributionPattern = regexp.MustCompile(`^(?:On|Am|Le|El|Il|Op|Em|Den)\b.{4,250}\b(?:wrote|schrieb|écrit|escribió|scritto|schreef|escreveu|skrev)\b.{0,80}:$`)
	forwardPattern     = regexp.MustCompile(`(?i)^[-_]{3,} ?(?:original message|forwarded message|begin forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d'origine|message transféré|mensaje original) ?[-_]{3,}$`)
	fromLine           = regexp.MustCompile(`^\*?(?:From|Von|De|Da):\*? `)
	sentLine           = regexp.MustCompile(`^\*?(?:Sent|Date|Gesendet|Datum|Envoyé|Enviado|Inviato):\*? `)
	sentFrom           = regexp.MustCompile(`^(?:Sent from my |Get Outlook for |Von meinem .{0,40} gesendet|Envoyé de mon ).{0,40}$`)
)

// firstSentences returns the leading sentences within max bytes, or the start of the first.
func firstSentences(text string, maxBytes int) string {
	line := sensor.Line(text, maxBytes+1)
	if len(line) <= maxBytes && !strings.HasSuffix(line, "…") {
		return line
	}
	if ends := sentenceEnd.FindAllStringIndex(line, -1); len(ends) > 0 {
		if last := ends[len(ends)-1][0] + 1; last > maxBytes/4 {
			return line[:last]
		}
	}
	return sensor.Line(text, maxBytes)
}

var sentenceEnd = regexp.MustCompile(`[.!?] `)
