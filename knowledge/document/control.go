package document

import "regexp"

// sequences are what colours a terminal and moves its cursor: it is no part of
// what a text says.
var sequences = regexp.MustCompile("\x1b(?:\\[[0-9:;<=>?]{0,64}[ -/]{0,8}[@-~]|\\][^\x07\x1b\n]{0,999}(?:\x07|\x1b\\\\)|[()*+][0-9A-Za-z]|[=>78DEHMNOZc])")

// withoutSequences returns a text without them. What is left of the mark stands
// for nothing.
func withoutSequences(text string) string { return sequences.ReplaceAllString(text, "") }
