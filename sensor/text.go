package sensor

import (
	"crypto/sha256"
	"encoding/hex"
	"ponder/internal/textkit"
)

// Line returns a text that others wrote as one line of at most max bytes: without
// escape sequences, control and invisible characters, its white space folded. A cut text
// ends in "…". The result is valid UTF-8, whatever the text is.
func Line(text string, max int) string { return textkit.VisibleLine(text, max) }

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
