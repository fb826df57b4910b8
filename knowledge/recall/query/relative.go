package query

import "time"

// Limits of "a few".
const (
	few   = 5
	twoOf = 2
)

// An amount is like "three weeks", "half a year".
type amount struct {
	n    int // 0 is a half, -1 a few
	unit int
}

func (p *parser) amount(i int) (a amount, n int) {
	at := i
	if t := p.at(i); t.kind == number && t.value > 0 && t.value <= most {
		a.n, at = t.value, i+1
	} else {
		var k int
		if a.n, k = p.find(senseNumber, i); k == 0 {
			return a, 0
		}
		at += k
	}
	if p.is(at, "-") && p.tight(at) {
		at++
	}
	unit, k := p.find(senseUnit, at)
	if k == 0 {
		return a, 0
	}
	a.unit = unit
	return a, at + k - i
}

// from moves t by the amount, back if sign is -1.
func (a amount) from(t time.Time, sign int) time.Time {
	switch a.n {
	case -1:
		return move(t, sign*few, a.unit)
	case 0:
		if unit, n := halved(a.unit); unit != 0 {
			return move(t, sign*n, unit)
		}
		return t
	}
	return move(t, sign*a.n, a.unit)
}

func halved(unit int) (of, n int) {
	switch unit {
	case hour:
		return minute, 30
	case month:
		return day, 15
	case year:
		return month, 6
	case decade:
		return year, 5
	case century:
		return year, 50
	}
	return 0, 0
}

// ago reads "three weeks ago", "vor drei Wochen", "il y a un an".
func (p *parser) ago(i int, _ bool) (s span, n int) {
	_, at := p.find(senseBefore, i)
	a, k := p.amount(i + at)
	if k == 0 {
		return s, 0
	}
	end := i + at + k
	if at == 0 {
		_, k = p.find(senseAgo, end)
		if k == 0 {
			return s, 0
		}
		end += k
	}
	if d, k := p.find(senseDay, end); k > 0 && d == 0 { // "a year ago today"
		return days(a.from(p.now, -1), 1), end + k - i
	}
	return a.ago(p.now), end - i
}

// ago returns the time that long before now, with half a unit on both sides.
func (a amount) ago(now time.Time) span {
	t := a.from(now, -1)
	if a.n == -1 {
		return span{from: midnight(t, 0), to: midnight(move(now, -twoOf+1, a.unit), 0)}.ordered(now)
	}
	unit := a.unit
	if a.n == 0 {
		unit, _ = halved(a.unit)
	}
	switch unit {
	case minute:
		return span{from: t.Add(-5 * time.Minute), to: t.Add(5 * time.Minute)}
	case hour:
		return span{from: t.Add(-30 * time.Minute), to: t.Add(30 * time.Minute)}
	case day, 0:
		return days(t, 1)
	case week, fortnight, weekend:
		return days(midnight(t, -3), 7)
	case month:
		return days(midnight(t, -15), 31)
	case quarter:
		return days(midnight(t, -45), 91)
	case year:
		return span{from: midnight(months(t, -6), 0), to: midnight(months(t, 6), 0)}.ordered(now)
	}
	return span{from: midnight(months(t, -60), 0), to: midnight(months(t, 60), 0)}.ordered(now)
}

func (s span) ordered(now time.Time) span {
	if s.to.After(now) && s.from.Before(now) {
		s.to = now
	}
	return s
}

// toDate reads "year to date", "this time last year".
func (p *parser) toDate(i int, _ bool) (s span, n int) {
	if unit, n := p.find(senseToDate, i); n > 0 {
		s, ok := current(p.now, unit)
		if !ok {
			return s, 0
		}
		return span{from: s.from, to: midnight(p.now, 1)}, n
	}
	if _, n := p.find(senseYearAgo, i); n > 0 {
		return amount{n: 12, unit: month}.ago(p.now), n
	}
	return s, 0
}

// day reads "yesterday", "yesterday evening", "the day before yesterday".
func (p *parser) day(i int, _ bool) (s span, n int) {
	d, n := p.find(senseDay, i)
	if n == 0 {
		return s, 0
	}
	return p.daypart(days(midnight(p.now, d), 1), i, i+n)
}

func (p *parser) daypart(s span, i, end int) (span, int) {
	part, k := p.find(sensePart, end)
	if k == 0 {
		return s, end - i
	}
	return partOf(s, part), end + k - i
}

// partOf extends the night to the next morning.
func partOf(s span, part int) span {
	y, m, d := s.from.Date()
	at := func(hour int) time.Time { return time.Date(y, m, d, hour, 0, 0, 0, s.from.Location()) }
	hours := [][2]int{1: {5, 12}, 2: {12, 18}, 3: {18, 24}, 4: {18, 30}}[part]
	return span{from: at(hours[0]), to: at(hours[1]), loose: s.loose}
}

// shifted reads "last week", "this Friday", "the past three days", "last summer", "last
// night".
func (p *parser) shifted(i int, _ bool) (s span, n int) {
	shift := 0
	_, at := p.find(sensePast, i)
	past := at > 0
	if !past {
		if shift, at = p.find(senseShift, i); at == 0 {
			return p.counted(i)
		}
	} else {
		shift = -1
	}
	at += i
	if a, k := p.amount(at); k > 0 && shift != 0 && a.n != 1 {
		return a.rolling(p.now, shift), at + k - i
	}
	if unit, k := p.find(senseUnit, at); k > 0 {
		if past || unit <= hour {
			return amount{1, unit}.rolling(p.now, shift), at + k - i
		}
		s, ok := current(move(firstOf(p.now, unit), shift, unit), unit)
		if !ok {
			return s, 0
		}
		return s, at + k - i
	}
	if part, k := p.find(sensePart, at); k > 0 && shift <= 0 {
		return partOf(days(midnight(p.now, shift), 1), part), at + k - i
	}
	if s, n = p.shiftedName(at, shift); n > 0 {
		return s, at + n - i
	}
	return s, 0
}

func firstOf(now time.Time, unit int) time.Time {
	if s, ok := current(now, unit); ok {
		return s.from
	}
	return now
}

// counted reads "die drei letzten Wochen", "les trois derniers mois".
func (p *parser) counted(i int) (s span, n int) {
	t := p.at(i)
	k, at := t.value, 1
	if t.kind != number {
		if k, at = p.find(senseNumber, i); at == 0 {
			return s, 0
		}
	}
	shift, m := p.find(senseShift, i+at)
	if m == 0 {
		_, m = p.find(sensePast, i+at)
		shift = -1
	}
	unit, u := p.find(senseUnit, i+at+m)
	if m == 0 || u == 0 || shift == 0 || k == 0 || k > most {
		return s, 0
	}
	return amount{k, unit}.rolling(p.now, shift), at + m + u
}

// rolling returns the time before now with today, or after it.
func (a amount) rolling(now time.Time, shift int) span {
	t := a.from(now, shift)
	switch {
	case a.unit <= hour && shift < 0:
		return span{from: t, to: now}
	case a.unit <= hour:
		return span{from: now, to: t}
	case shift < 0:
		return span{from: midnight(t, 0), to: midnight(now, 1)}
	}
	return span{from: midnight(now, 0), to: midnight(t, 1)}
}

func (p *parser) shiftedName(i, shift int) (s span, n int) {
	loc := p.now.Location()
	if w, n := p.find(senseWeekday, i); n > 0 {
		return p.shiftedDay(w, shift, i, n)
	}
	of := func(int) span { return span{} }
	k, n := p.find(senseMonth, i)
	if n > 0 {
		of = func(y int) span { return monthOf(y, time.Month(k), loc) }
	} else if k, n = p.find(senseSeason, i); n > 0 {
		of = func(y int) span { return seasonOf(y, k, loc) }
	} else if k, n = p.find(senseHoliday, i); n > 0 {
		of = func(y int) span { return holidayOf(y, k, loc) }
	}
	if n == 0 {
		return s, 0
	}
	return shiftYear(p.now, shift, of), n
}

func shiftYear(now time.Time, shift int, of func(y int) span) span {
	y := now.Year()
	switch {
	case shift < 0:
		for y = y + 1; y > now.Year()-2 && of(y).to.After(now); {
			y--
		}
	case shift > 0:
		for y = y - 1; y < now.Year()+2 && !of(y).from.After(now); {
			y++
		}
	case of(y - 1).to.After(now): // a winter that began last year
		y--
	}
	return of(y)
}

func (p *parser) shiftedDay(w, shift, i, n int) (span, int) {
	s := span{}
	switch {
	case shift < 0:
		s = p.weekdayNear(w, -1)
	case shift > 0:
		s = p.weekdayNear(w, 7)
	default:
		s = days(midnight(p.now, (w+6)%7-monday(p.now)), 1)
	}
	s.loose = 0
	return p.daypart(s, i, i+n)
}

// behind reads "la semaine dernière", "el lunes pasado".
func (p *parser) behind(i int, _ bool) (s span, n int) {
	if unit, k := p.find(senseUnit, i); k > 0 && unit >= day {
		shift, m := p.find(senseBehind, i+k)
		s, ok := current(move(firstOf(p.now, unit), shift, unit), unit)
		if m == 0 || !ok {
			return s, 0
		}
		return s, k + m
	}
	for _, sense := range []string{senseWeekday, senseMonth, senseSeason, senseHoliday} {
		_, k := p.find(sense, i)
		shift, m := p.find(senseBehind, i+k)
		if k == 0 || m == 0 {
			continue
		}
		if s, n = p.shiftedName(i, shift); n > 0 {
			return s, k + m
		}
	}
	return s, 0
}
