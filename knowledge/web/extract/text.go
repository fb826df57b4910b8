package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// line returns a text in one line of at most so many bytes, without characters
// that are not seen.
func line(s string, most int) string {
	s = strings.Join(strings.Fields(strings.Map(seen, cut(s, 4*most))), " ")
	return strings.TrimSpace(cut(s, most))
}

// lines returns a text without characters that are not seen, with its lines.
func lines(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return seen(r)
	}, cut(s, maxOut))
	return strings.TrimSpace(s)
}

// seen drops what would move the cursor, turn the text around or hide in it. It
// keeps what joins letters in some scripts.
func seen(r rune) rune {
	switch {
	case r == '\u200c' || r == '\u200d': // joiners
		return r
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r):
		return -1
	}
	return r
}

// cut returns the first bytes of a text, to the end of a letter.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// blank reports whether a text has no letters to read.
func blank(s string) bool {
	return strings.TrimSpace(s) == ""
}
