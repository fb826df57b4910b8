package own

import (
	_ "embed"
	"strings"

	"ponder/sensor"
	"ponder/words"
)

//go:embed phrases.txt
var phraseText string

// phrases has the phrases of promises and dates, as words with spaces around.
var phrases = func() (list []string) {
	for line := range strings.Lines(phraseText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, " "+line+" ")
		}
	}
	return list
}()

// Bounds of what is read of a message, and told of it, in bytes.
const (
	maxRead = 4000
	maxTold = 400
)

// asks reports whether a text ends in a question, or has one in its last lines.
func asks(text string) bool {
	text = text[max(0, len(text)-maxRead):]
	for _, s := range sentences(text) {
		if isQuestion(s) {
			return true
		}
	}
	return false
}

// isQuestion reports whether a sentence is one.
func isQuestion(s string) bool {
	s = strings.TrimRight(s, " \"'\u201d\u2019)*_")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, "؟")
}

// worth returns the sentences of a message that promise or ask something, or "".
func worth(text string) string {
	if len(text) > maxRead {
		text = sensor.Line(text, maxRead)
	}
	var parts []string
	for _, s := range sentences(text) {
		if isQuestion(s) || promises(s) {
			parts = append(parts, s)
		}
	}
	return sensor.Line(strings.Join(parts, " "), maxTold)
}

// promises reports whether a sentence has one of the phrases.
func promises(s string) bool {
	var b strings.Builder
	b.WriteByte(' ')
	words.Tokens(s, func(t words.Token) {
		b.WriteString(words.Fold(s[t.Start:t.End]))
		b.WriteByte(' ')
	})
	folded := b.String()
	for _, p := range phrases {
		if strings.Contains(folded, p) {
			return true
		}
	}
	return false
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
