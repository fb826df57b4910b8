package mcp

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns a text without what cannot be seen: control characters, and marks that
// hide text or turn it round. Lines stay.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // the last two are needed to write some languages
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs), unicode.In(r, unicode.Zl, unicode.Zp):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// text returns what can be seen of a text, at most so many bytes of it, and says so if
// there was more.
func text(s string, most int) string {
	s = strings.TrimSpace(visible(s))
	if len(s) <= most {
		return s
	}
	at := most
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return fmt.Sprintf("%s… [%d bytes more]", s[:at], len(s)-at)
}

// line returns a text as one line of at most so many bytes.
func line(s string, most int) string {
	s = strings.Join(strings.Fields(visible(s[:min(len(s), 4*most)])), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
