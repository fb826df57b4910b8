package session

import "ponder/mode/internal/text"

// clip returns at most n bytes of s, cut between characters.
func clip(s string, n int) string { return text.Clip(s, n) }

// oneLine returns s with each run of white space as one blank, and nothing that a
// terminal would obey.
func oneLine(s string) string { return text.Line(s) }

// clean returns s without what can't be shown: see [text.Clean].
func clean(s string) string { return text.Clean(s) }

// isRefusal reports whether a text says that a model won't do what it was asked.
func isRefusal(s string) bool { return text.Refuses(s) }

// unit returns x in 0..1; 0 if it is no number.
func unit(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}
