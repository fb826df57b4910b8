package textkit

import (
	"fmt"
	"strconv"
	"time"
)

// Number returns n with a comma before each three digits, such as 12,345.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count returns n with its noun, such as "1 thought" or "2 thoughts".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Ago returns the time between t and now in words, or the date of t after two months.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return Count(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 48*time.Hour:
		return Count(int(d/time.Hour), "hour", "hours") + " ago"
	case d < 60*24*time.Hour:
		return Count(int(d/(24*time.Hour)), "day", "days") + " ago"
	}
	return t.Local().Format(time.DateOnly)
}

// Seconds returns s seconds as a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Clock returns a duration as people read it: 0:07, 12:30, 1:02:03.
func Clock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if h := s / 3600; h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Bytes returns a size of n bytes with its unit, such as "1.5 MiB".
func Bytes(n int64) string {
	switch {
	case n < 1<<10:
		return Count(int(n), "byte", "bytes")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
