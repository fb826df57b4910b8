package textkit

import (
	"strconv"
	"strings"
	"time"
)

// dateForms are the forms of days and times in files, pages, mails, exports and answers of
// services that can be read in one way only.
var dateForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST",
	"2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, "2006/01/02 15:04:05", "2006/01/02", "20060102T150405Z", "20060102", "2006-01",
	time.RFC1123Z, time.RFC1123, time.RFC850, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	time.RubyDate, time.UnixDate, time.ANSIC, "January 2, 2006", "Jan 2, 2006", "January 2 2006", "2 January 2006", "2 January, 2006", "2 Jan 2006",
	"January 2006", "Jan 2006", "Jan 2, 2006, 3:04 PM", "3:04 pm on 2 January, 2006", "2.1.2006 15:04", "2.1.2006",
}

// ParseDate returns the time that a text is, in UTC: in one of many forms, or as seconds,
// milliseconds or microseconds since 1970. It is zero for any other text.
func ParseDate(s string) time.Time {
	s = strings.TrimSpace(s)
	if len(s) < 4 || len(s) > 64 {
		return time.Time{}
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			return SaneDate(t)
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}
	}
	const first, last = 100_000_000, 4_102_444_800 // 1973 to 2100: what tells seconds from their parts
	for _, unit := range []float64{1, 1e3, 1e6} {
		if v := n / unit; first <= v && v <= last {
			return time.UnixMicro(int64(v * 1e6)).UTC()
		}
	}
	return time.Time{}
}

// SaneDate returns a time in UTC, or the zero time if nothing can have been written then.
func SaneDate(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1000 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}
