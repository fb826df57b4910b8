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

const most = 10_000

// A span has from <= t < to.
type span struct {
	from, to time.Time
	loose    int // unit of recurrence, or 0: year for a month without a year
}

func date(y int, m time.Month, d int, loc *time.Location) time.Time {
	switch {
	case y < 1:
		y, m, d = 1, 1, 1
	case y > 9999:
		y, m, d = 9999, 12, 31
	}
	return time.Date(y, m, d, 0, 0, 0, 0, loc)
}

// midnight returns the start of the day n days after t's.
func midnight(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	return date(y, m, d+n, t.Location())
}

func days(from time.Time, n int) span { return span{from: midnight(from, 0), to: midnight(from, n)} }

func valid(y, m, d int, loc *time.Location) (s span, ok bool) {
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > 31 {
		return s, false
	}
	if time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Day() != d {
		return s, false
	}
	return days(date(y, time.Month(m), d, loc), 1), true
}

func monthOf(y int, m time.Month, loc *time.Location) span {
	return span{from: date(y, m, 1, loc), to: date(y, m+1, 1, loc)}
}

func yearOf(y, n int, loc *time.Location) span {
	return span{from: date(y, 1, 1, loc), to: date(y+n, 1, 1, loc)}
}

// isoWeek returns week n of ISO 8601, if the year has one.
func isoWeek(y, n int, loc *time.Location) (s span, ok bool) {
	if n < 1 || n > 53 {
		return s, false
	}
	fourth := date(y, 1, 4, loc) // always in week 1
	s = days(midnight(fourth, -monday(fourth)+7*(n-1)), 7)
	_, is := midnight(s.from, 3).ISOWeek()
	return s, is == n
}

func monday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

func current(t time.Time, unit int) (s span, ok bool) {
	loc := t.Location()
	switch unit {
	case day:
		return days(t, 1), true
	case week:
		return days(midnight(t, -monday(t)), 7), true
	case weekend:
		return days(midnight(t, 5-monday(t)), 2), true
	case month:
		return monthOf(t.Year(), t.Month(), loc), true
	case quarter:
		return quarterOf(t.Year(), (int(t.Month())-1)/3+1, loc), true
	case year:
		return yearOf(t.Year(), 1, loc), true
	case decade:
		return yearOf(t.Year()/10*10, 10, loc), true
	case century:
		return yearOf((t.Year()-1)/100*100+1, 100, loc), true
	}
	return s, false
}

func quarterOf(y, n int, loc *time.Location) span {
	m := time.Month(3*n - 2)
	return span{from: date(y, m, 1, loc), to: date(y, m+3, 1, loc)}
}

// move turns a missing day into the month's last.
func move(t time.Time, n, unit int) time.Time {
	n = max(-most, min(most, n))
	switch unit {
	case minute:
		return t.Add(time.Duration(n) * time.Minute)
	case hour:
		return t.Add(time.Duration(n) * time.Hour)
	case day:
		return midnight(t, n)
	case week, weekend:
		return midnight(t, 7*n)
	case fortnight:
		return midnight(t, 14*n)
	case quarter:
		return months(t, 3*n)
	case year:
		return months(t, 12*n)
	case decade:
		return months(t, 120*n)
	case century:
		return months(t, 1200*n)
	}
	return months(t, n)
}

func months(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	first := date(y, m+time.Month(n), 1, t.Location())
	last := midnight(date(first.Year(), first.Month()+1, 1, t.Location()), -1).Day()
	if y+n/12 < 1 || y+n/12 > 9999 {
		return date(y+n/12, 1, 1, t.Location())
	}
	return midnight(first, min(d, last)-1)
}

// seasonOf returns northern seasons; a winter begins in its year's December.
func seasonOf(y, n int, loc *time.Location) span {
	m := time.Month(3 * n)
	return span{from: date(y, m, 1, loc), to: date(y, m+3, 1, loc)}
}

func easter(y int, loc *time.Location) time.Time {
	a, b, c := y%19, y/100, y%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return date(y, time.Month(n/31), n%31+1, loc)
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

func holidayOf(y, which int, loc *time.Location) span {
	on := func(m time.Month, d, n int) span { return days(date(y, m, d, loc), n) }
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
		return days(midnight(easter(y, loc), -2), 1)
	case easterDays:
		return days(midnight(easter(y, loc), -2), 4)
	}
	nov := date(y, 11, 1, loc)
	fourth := midnight(nov, (int(time.Thursday)-int(nov.Weekday())+7)%7+21)
	if which == blackFriday {
		fourth = midnight(fourth, 1)
	}
	return days(fourth, 1)
}

// last returns the latest yearly span begun at t.
func last(t time.Time, of func(y int) (span, bool)) (s span, ok bool) {
	for y := t.Year() + 1; y > t.Year()-9 && y > 0; y-- { // leap days can be eight years apart
		if s, ok = of(y); ok && !s.from.After(t) {
			s.loose = year
			return s, true
		}
	}
	return s, false
}

func (s span) part(edge int) span {
	if c, ok := current(s.from, year); edge > 3 && ok && c.to.Equal(s.to) {
		s.from, s.to = months(s.from, 6*(edge-4)), months(s.from, 6*(edge-3))
		return s
	}
	whole := s.to.Sub(s.from)
	at := func(n, of time.Duration) time.Time {
		t := s.from.Add(whole / of * n)
		if whole > 3*24*time.Hour {
			t = midnight(t.Add(12*time.Hour), 0)
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
