package wire

import (
	"bytes"
	"iter"
	"slices"
	"unicode/utf8"
)

// joinRunes yields pieces whose strings have only whole characters. Some servers split a
// character, such as an emoji, between two chunks: its UTF-8 bytes, or the escapes of its
// surrogate pair. joinRunes moves the first half to the piece with the second.
func joinRunes(pieces iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var half []byte
		for piece, err := range pieces {
			if err == nil && (len(half) > 0 || mayHaveHalf(piece)) {
				piece, half = prependHalf(piece, half)
				if at, end := trailingHalf(piece); at < end {
					half = bytes.Clone(piece[at:end])
					piece = slices.Concat(piece[:at], piece[end:])
				}
			}
			if !yield(piece, err) {
				return
			}
		}
	}
}

// mayHaveHalf is fast and reports whether a piece may have a half of a character.
func mayHaveHalf(piece []byte) bool {
	return !utf8.Valid(piece) || bytes.Contains(piece, []byte(`\ud`)) || bytes.Contains(piece, []byte(`\uD`))
}

// prependHalf adds half to the first string that begins with the other half. It returns
// half unused if there is none.
func prependHalf(piece, half []byte) (joined, rest []byte) {
	for at := 0; len(half) > 0 && at < len(piece); {
		n := bytes.IndexByte(piece[at:], '"')
		if n < 0 {
			break
		}
		at += n + 1
		if !isEscaped(piece, at-1) && continuesHalf(half, piece[at:]) {
			return slices.Concat(piece[:at], half, piece[at:]), nil
		}
	}
	return piece, half
}

// continuesHalf reports whether text begins with the rest of a character.
func continuesHalf(half, text []byte) bool {
	if half[0] == '\\' {
		return isSurrogate(text, "cdef")
	}
	return len(text) > 0 && text[0] >= utf8.RuneSelf && !utf8.RuneStart(text[0])
}

// escapeLen is the length of an escape such as \ud83d.
const escapeLen = 6

// trailingHalf returns where the first string that ends within a character has its half.
// The place is empty if there is none.
func trailingHalf(piece []byte) (at, end int) {
	for end := 0; end < len(piece); end++ {
		n := bytes.IndexByte(piece[end:], '"')
		if n < 0 {
			break
		}
		end += n
		if at := end - escapeLen; at >= 0 && isSurrogate(piece[at:end], "89ab") && !isEscaped(piece, at) {
			return at, end
		}
		for at := end - 1; at >= max(0, end-utf8.UTFMax+1) && piece[at] >= utf8.RuneSelf; at-- {
			if utf8.RuneStart(piece[at]) {
				if !utf8.FullRune(piece[at:end]) {
					return at, end
				}
				break
			}
		}
	}
	return 0, 0
}

// isSurrogate reports whether text begins with an escape \udXYY whose X is in digits.
func isSurrogate(text []byte, digits string) bool {
	return len(text) >= escapeLen && text[0] == '\\' && text[1] == 'u' && text[2]|0x20 == 'd' && bytes.IndexByte([]byte(digits), text[3]|0x20) >= 0
}

// isEscaped reports whether an odd number of backslashes precedes a place.
func isEscaped(text []byte, at int) bool {
	n := 0
	for n < at && text[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}
