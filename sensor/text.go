package sensor

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sequences are what colours a terminal and moves its cursor.
var sequences = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-9:;<=>?]{0,64}[ -/]{0,8}[@-~]?` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}\n]{0,999}(?:\x07|\x1b\\|\x{9c})?` +
	`|\x1b[()*+][0-9A-Za-z]|\x1b[=>6-8DEHMNOZc]`)

// Line returns a text that others wrote as one line of at most max bytes: without
// escape sequences, control and invisible characters, its white space folded. What is
// cut off ends in "…". It is valid UTF-8, whatever the text is.
func Line(text string, max int) string {
	if len(text) > 16*max+4096 { // the rest could not show
		text = text[:16*max+4096]
	}
	text = sequences.ReplaceAllLiteralString(strings.ToValidUTF8(text, "\uFFFD"), "")
	var b strings.Builder
	gap := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			gap = b.Len() > 0
			continue
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
		if b.Len() > max {
			return cut(b.String(), max)
		}
	}
	return b.String()
}

// cut returns the beginning of a text that is longer than max bytes.
func cut(text string, max int) string {
	const mark = "…"
	if max < len(mark) {
		return ""
	}
	n := max - len(mark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimRight(text[:n], " ") + mark
}

// Subject returns a name as the Subject of observations: a line of at most
// [MaxSubject] bytes. Two names have two subjects.
func Subject(name string) string {
	line := Line(name, MaxSubject)
	if line == name {
		return line
	}
	return Line(name, MaxSubject-10) + " #" + Hash(name)
}

// Hash returns eight letters that tell a text from others, for the State of an
// observation.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
