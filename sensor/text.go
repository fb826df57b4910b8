package sensor

import (
	"crypto/sha256"
	"encoding/hex"
	"ponder/internal/textkit"
)

// Line returns an untrusted text as one line of at most max bytes of valid UTF-8. It removes
// escape sequences, control characters and invisible characters, and folds white space. A
// truncated line ends in "…".
func Line(text string, max int) string { return textkit.VisibleLine(text, max) }

// Subject returns a name as a line of at most [MaxSubject] bytes. Different names have different
// subjects.
func Subject(name string) string {
	line := Line(name, MaxSubject)
	if line == name {
		return line
	}
	return Line(name, MaxSubject-10) + " #" + Hash(name)
}

// Hash returns eight letters that identify a text, for the State of an observation.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
