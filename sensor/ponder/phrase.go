package ponder

import (
	_ "embed"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit/lexical"
	"ponder/sensor"
)

//go:embed phrases.txt
var phraseText string

//go:embed done.txt
var doneText string

// Folded phrases with surrounding spaces.
var (
	phrases     = phrasesOf(phraseText)
	donePhrases = phrasesOf(doneText)
)

func phrasesOf(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, " "+line+" ")
		}
	}
	return list
}

// Limits in bytes.
const (
	maxRead     = 4000
	maxReported = 400

	minDoneWords = 3 // words of a sentence that reports something done
)

// hasQuestion reports whether the end of a text has a question.
func hasQuestion(text string) bool {
	text = text[max(0, len(text)-maxRead):]
	return slices.ContainsFunc(splitSentences(text), isQuestion)
}

// isQuestion reports whether a sentence ends in a question mark.
func isQuestion(s string) bool {
	s = strings.TrimRight(s, " \"'\u201d\u2019)*_")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, "؟")
}

// notableSentences returns the sentences of a message with a promise, a request for the future or a date;
// with done, also reports that something is done.
func notableSentences(text string, at time.Time, done bool) (parts []string) {
	for _, s := range splitSentences(readablePart(text)) {
		folded := foldWords(s)
		_, dated := sensor.FindDeadline(s, at)
		if dated || hasPhrase(folded, phrases) || done && strings.Count(folded, " ") > minDoneWords && hasPhrase(folded, donePhrases) && !isQuestion(s) {
			parts = append(parts, sensor.Line(s, maxReported))
		}
	}
	return parts
}

// isDone reports whether a notable sentence only reports something done.
func isDone(s string, at time.Time) bool {
	_, dated := sensor.FindDeadline(s, at)
	folded := foldWords(s)
	return !dated && !hasPhrase(folded, phrases) && hasPhrase(folded, donePhrases)
}

func joinQuestions(text string) string {
	var parts []string
	for _, s := range splitSentences(readablePart(text)) {
		if isQuestion(s) {
			parts = append(parts, s)
		}
	}
	return sensor.Line(strings.Join(parts, " "), maxReported)
}

func readablePart(text string) string {
	if len(text) > maxRead {
		return sensor.Line(text, maxRead)
	}
	return text
}

func foldWords(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	lexical.Tokens(s, func(t lexical.Token) {
		b.WriteString(lexical.Fold(s[t.Start:t.End]))
		b.WriteByte(' ')
	})
	return b.String()
}

func hasPhrase(folded string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.Contains(folded, p) })
}

// splitSentences splits a text at line ends and at end marks before a space.
func splitSentences(text string) (list []string) {
	start := 0
	add := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			list = append(list, s)
		}
		start = end
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			add(i)
		case strings.IndexByte(".!?", c) >= 0 && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n'):
			add(i + 1)
		}
	}
	add(len(text))
	return list
}
