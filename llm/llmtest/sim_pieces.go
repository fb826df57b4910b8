package llmtest

import (
	"iter"
	"unicode/utf8"
)

// pieceBytes is the most of a word that is one token.
const pieceBytes = 8

// nextPiece returns the length of the first token of s: a word with the space
// before it, or a part of a long one.
func nextPiece(s string) int {
	n := 0
	for n < len(s) && s[n] <= ' ' {
		n++
	}
	end := n + pieceBytes
	for n < len(s) && s[n] > ' ' && n < end {
		n++
	}
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

// countPieces returns how many tokens s has.
func countPieces(s string) (n int) {
	for s != "" {
		s = s[nextPiece(s):]
		n++
	}
	return n
}

// cutPieces returns the first n tokens of s.
func cutPieces(s string, n int) string {
	rest := s
	for range max(n, 0) {
		if rest == "" {
			return s
		}
		rest = rest[nextPiece(rest):]
	}
	return s[:len(s)-len(rest)]
}

// pieces cuts s into at most chunks pieces of whole tokens, or into tokens if
// chunks is 0. With endless it begins anew at the end.
func pieces(s string, chunks int, endless bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		each := 1
		if n := countPieces(s); chunks > 0 {
			each = (n + chunks - 1) / chunks
		}
		for {
			for rest := s; rest != ""; {
				p := cutPieces(rest, each)
				if !yield(p) {
					return
				}
				rest = rest[len(p):]
			}
			if !endless || !yield("\n") {
				return
			}
		}
	}
}
