package query

import "time"

// Units, numbered as in the lexicons.
const (
	minute = iota + 1
	hour
	day
	week
	fortnight
	month
	quarter
	year
	decade
	century
	weekend
)

const maxAmount = 10_000

// A span has from <= t < to.
type span struct {
	from, to   time.Time
	recurrence int // unit of recurrence, or 0: year for a month without a year
}

func newDate(y int, m time.Month, d int, loc *time.Location) time.Time {
	switch {
	case y < 1:
		y, m, d = 1, 1, 1
	case y > 9999:
		y, m, d = 9999, 12, 31
	}
	return time.Date(y, m, d, 0, 0, 0, 0, loc)
}

// dayStart returns the start of the day n days after t's.
func dayStart(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	return newDate(y, m, d+n, t.Location())
}

func daySpan(from time.Time, n int) span { return span{from: dayStart(from, 0), to: dayStart(from, n)} }

func validDay(y, m, d int, loc *time.Location) (s span, ok bool) {
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > 31 {
		return s, false
	}
	if time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Day() != d {
		return s, false
	}
	return daySpan(newDate(y, time.Month(m), d, loc), 1), true
}

func monthSpan(y int, m time.Month, loc *time.Location) span {
	return span{from: newDate(y, m, 1, loc), to: newDate(y, m+1, 1, loc)}
}

func yearSpan(y, n int, loc *time.Location) span {
	return span{from: newDate(y, 1, 1, loc), to: newDate(y+n, 1, 1, loc)}
}

// isoWeek returns week n of ISO 8601, if the year has one.
func isoWeek(y, n int, loc *time.Location) (s span, ok bool) {
	if n < 1 || n > 53 {
		return s, false
	}
	fourth := newDate(y, 1, 4, loc) // always in week 1
	s = daySpan(dayStart(fourth, -daysSinceMonday(fourth)+7*(n-1)), 7)
	_, is := dayStart(s.from, 3).ISOWeek()
	return s, is == n
}

func daysSinceMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

func currentPeriod(t time.Time, unit int) (s span, ok bool) {
	loc := t.Location()
	switch unit {
	case day:
		return daySpan(t, 1), true
	case week:
		return daySpan(dayStart(t, -daysSinceMonday(t)), 7), true
	case weekend:
		return daySpan(dayStart(t, 5-daysSinceMonday(t)), 2), true
	case month:
		return monthSpan(t.Year(), t.Month(), loc), true
	case quarter:
		return quarterSpan(t.Year(), (int(t.Month())-1)/3+1, loc), true
	case year:
		return yearSpan(t.Year(), 1, loc), true
	case decade:
		return yearSpan(t.Year()/10*10, 10, loc), true
	case century:
		return yearSpan((t.Year()-1)/100*100+1, 100, loc), true
	}
	return s, false
}

func quarterSpan(y, n int, loc *time.Location) span {
	m := time.Month(3*n - 2)
	return span{from: newDate(y, m, 1, loc), to: newDate(y, m+3, 1, loc)}
}

// addUnits turns a missing day into the month's last.
func addUnits(t time.Time, n, unit int) time.Time {
	n = max(-maxAmount, min(maxAmount, n))
	switch unit {
	case minute:
		return t.Add(time.Duration(n) * time.Minute)
	case hour:
		return t.Add(time.Duration(n) * time.Hour)
	case day:
		return dayStart(t, n)
	case week, weekend:
		return dayStart(t, 7*n)
	case fortnight:
		return dayStart(t, 14*n)
	case quarter:
		return addMonths(t, 3*n)
	case year:
		return addMonths(t, 12*n)
	case decade:
		return addMonths(t, 120*n)
	case century:
		return addMonths(t, 1200*n)
	}
	return addMonths(t, n)
}

func addMonths(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	first := newDate(y, m+time.Month(n), 1, t.Location())
	last := dayStart(newDate(first.Year(), first.Month()+1, 1, t.Location()), -1).Day()
	if y+n/12 < 1 || y+n/12 > 9999 {
		return newDate(y+n/12, 1, 1, t.Location())
	}
	return dayStart(first, min(d, last)-1)
}

// seasonSpan returns northern seasons; a winter begins in its year's December.
func seasonSpan(y, n int, loc *time.Location) span {
	m := time.Month(3 * n)
	return span{from: newDate(y, m, 1, loc), to: newDate(y, m+3, 1, loc)}
}

func easterSunday(y int, loc *time.Location) time.Time {
	a, b, c := y%19, y/100, y%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return newDate(y, time.Month(n/31), n%31+1, loc)
}

// Holidays, numbered as in the lexicons.
const (
	christmas = iota + 1
	christmasEve
	newYearsEve
	newYear
	easterDays
	halloween
	thanksgiving
	valentine
	goodFriday
	blackFriday
)

func holidaySpan(y, which int, loc *time.Location) span {
	on := func(m time.Month, d, n int) span { return daySpan(newDate(y, m, d, loc), n) }
	switch which {
	case christmas:
		return on(12, 24, 3)
	case christmasEve:
		return on(12, 24, 1)
	case newYearsEve:
		return on(12, 31, 1)
	case newYear:
		return on(1, 1, 1)
	case halloween:
		return on(10, 31, 1)
	case valentine:
		return on(2, 14, 1)
	case goodFriday:
		return daySpan(dayStart(easterSunday(y, loc), -2), 1)
	case easterDays:
		return daySpan(dayStart(easterSunday(y, loc), -2), 4)
	}
	nov := newDate(y, 11, 1, loc)
	fourth := dayStart(nov, (int(time.Thursday)-int(nov.Weekday())+7)%7+21)
	if which == blackFriday {
		fourth = dayStart(fourth, 1)
	}
	return daySpan(fourth, 1)
}

// latestYearly returns the latest yearly span begun at t.
func latestYearly(t time.Time, of func(y int) (span, bool)) (s span, ok bool) {
	for y := t.Year() + 1; y > t.Year()-9 && y > 0; y-- { // leap days can be eight years apart
		if s, ok = of(y); ok && !s.from.After(t) {
			s.recurrence = year
			return s, true
		}
	}
	return s, false
}

func (s span) partAt(edge int) span {
	if c, ok := currentPeriod(s.from, year); edge > 3 && ok && c.to.Equal(s.to) {
		s.from, s.to = addMonths(s.from, 6*(edge-4)), addMonths(s.from, 6*(edge-3))
		return s
	}
	whole := s.to.Sub(s.from)
	at := func(n, of time.Duration) time.Time {
		t := s.from.Add(whole / of * n)
		if whole > 3*24*time.Hour {
			t = dayStart(t.Add(12*time.Hour), 0)
		}
		return t
	}
	switch edge {
	case 1:
		return span{from: s.from, to: at(1, 3)}
	case 2:
		return span{from: at(1, 3), to: at(2, 3)}
	case 3:
		return span{from: at(2, 3), to: s.to}
	case 4:
		return span{from: s.from, to: at(1, 2)}
	}
	return span{from: at(1, 2), to: s.to}
}
