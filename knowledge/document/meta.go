package document

import (
	"strings"
	"time"

	"ponder/internal/textkit"
)

// parseDate returns the time that a text is, in UTC, or the zero time. A year is the
// beginning of it.
func parseDate(s string) time.Time {
	if t, err := time.Parse("2006", strings.TrimSpace(s)); err == nil {
		return textkit.SaneDate(t)
	}
	return textkit.ParseDate(s)
}

// pdfDate reads "D:20240131120000+01'00'", all but the year of which can be
// missing.
func pdfDate(s string) time.Time {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", "")
	for _, form := range []string{"20060102150405-0700", "20060102150405Z0000", "20060102150405Z", "20060102150405", "200601021504", "20060102", "200601", "2006"} {
		if t, err := time.Parse(form, s); err == nil {
			return textkit.SaneDate(t)
		}
	}
	return parseDate(s)
}

// language returns the tag of a language, or "" if s is none.
func language(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "_", "-")
	first, _, _ := strings.Cut(s, "-")
	letters := strings.IndexFunc(first, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }) < 0
	if n := len(first); n < 2 || n > 3 || len(s) > 35 || !letters {
		return ""
	}
	return strings.ToLower(first) + s[len(first):]
}
