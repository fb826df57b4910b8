package document

import (
	"strconv"
	"strings"
	"time"
)

// dateForms are the ways in which files write a day or a time that can be read
// in one way only.
var dateForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02", "20060102T150405Z", "20060102",
	"2006-01", "2006",
	time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", time.RubyDate, time.UnixDate, time.ANSIC,
	"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "January 2006", "Jan 2006", "2.1.2006",
}

// parseDate returns the time that a text is, in UTC, or the zero time.
func parseDate(s string) time.Time {
	s = strings.TrimSpace(s)
	if len(s) < 4 || len(s) > 64 {
		return time.Time{}
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			return sane(t)
		}
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return unixDate(n)
	}
	return time.Time{}
}

// Seconds since 1970 that can be told from milliseconds, and those from
// microseconds: 1973 to 2100.
const (
	firstUnix = 100_000_000
	lastUnix  = 4_102_444_800
)

// unixDate returns the time that is n seconds, milliseconds or microseconds
// after 1970, or the zero time.
func unixDate(n float64) time.Time {
	for _, unit := range []float64{1, 1e3, 1e6} {
		if v := n / unit; firstUnix <= v && v <= lastUnix {
			return time.UnixMicro(int64(v * 1e6)).UTC()
		}
	}
	return time.Time{}
}

// sane returns a time that can be when something was written, in UTC, or the
// zero time.
func sane(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1000 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}

// pdfDate reads "D:20240131120000+01'00'", all but the year of which can be
// missing.
func pdfDate(s string) time.Time {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", "")
	for _, form := range []string{"20060102150405-0700", "20060102150405Z0000", "20060102150405Z", "20060102150405", "200601021504", "20060102", "200601", "2006"} {
		if t, err := time.Parse(form, s); err == nil {
			return sane(t)
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
