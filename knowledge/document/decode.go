package document

import (
	"regexp"

	"ponder/internal/textkit/charset"
)

// sequences are what colours a terminal and moves its cursor: it is no part of
// what a text says.
var sequences = regexp.MustCompile("\x1b(?:\\[[0-9:;<=>?]{0,64}[ -/]{0,8}[@-~]|\\][^\x07\x1b\n]{0,999}(?:\x07|\x1b\\\\)|[()*+][0-9A-Za-z]|[=>78DEHMNOZc])")

// decode returns the text of a file without escape sequences of terminals.
func decode(file []byte) (string, error) {
	text, err := charset.Decode(file)
	return sequences.ReplaceAllString(text, ""), err
}
