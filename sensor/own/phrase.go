package own

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

// Phrases as words with spaces around: of promises and dates, and of what was done.
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

// Bounds of what is read of a message, and told of it, in bytes.
const (
	maxRead = 4000
	maxTold = 400

	leastDone = 3 // words of a sentence that says what was done
)

// asks reports whether a text ends in a question, or has one in its last lines.
func asks(text string) bool {
	text = text[max(0, len(text)-maxRead):]
	return slices.ContainsFunc(sentences(text), isQuestion)
}

// isQuestion reports whether a sentence is one.
func isQuestion(s string) bool {
	s = strings.TrimRight(s, " \"'\u201d\u2019)*_")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, "؟")
}

// worth returns the sentences of a message that promise something, ask for something in
// the future or name a date; with done, also those that say what was done.
func worth(text string, at time.Time, done bool) (parts []string) {
	for _, s := range sentences(read(text)) {
		folded := foldedWords(s)
		_, dated := sensor.Due(s, at)
		if dated || has(folded, phrases) || done && strings.Count(folded, " ") > leastDone && has(folded, donePhrases) && !isQuestion(s) {
			parts = append(parts, sensor.Line(s, maxTold))
		}
	}
	return parts
}

// isDone reports whether a sentence that is told says no more than that something was done.
func isDone(s string, at time.Time) bool {
	_, dated := sensor.Due(s, at)
	folded := foldedWords(s)
	return !dated && !has(folded, phrases) && has(folded, donePhrases)
}

// questions returns the sentences of a message that ask something.
func questions(text string) string {
	var parts []string
	for _, s := range sentences(read(text)) {
		if isQuestion(s) {
			parts = append(parts, s)
		}
	}
	return sensor.Line(strings.Join(parts, " "), maxTold)
}

// read returns what is read of a message.
func read(text string) string {
	if len(text) > maxRead {
		return sensor.Line(text, maxRead)
	}
	return text
}

// foldedWords returns the words of a text, folded, with spaces around.
func foldedWords(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	lexical.Tokens(s, func(t lexical.Token) {
		b.WriteString(lexical.Fold(s[t.Start:t.End]))
		b.WriteByte(' ')
	})
	return b.String()
}

// has reports whether folded words have one of some phrases.
func has(folded string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.Contains(folded, p) })
}

// sentences splits a text, where it has signs of their end before a space or lines.
func sentences(text string) (list []string) {
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
