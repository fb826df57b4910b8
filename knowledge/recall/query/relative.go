package query

import "time"

// Limits of "a few".
const (
	maxFew = 5
	minFew = 2
)

// An amount is like "three weeks", "half a year".
type amount struct {
	n    int // 0 is a half, -1 a few
	unit int
}

func (p *parser) readAmount(i int) (a amount, n int) {
	at := i
	if t := p.tokenAt(i); t.kind == number && t.value > 0 && t.value <= maxAmount {
		a.n, at = t.value, i+1
	} else {
		var k int
		if a.n, k = p.findSense(senseNumber, i); k == 0 {
			return a, 0
		}
		at += k
	}
	if p.isMark(at, "-") && p.isTight(at) {
		at++
	}
	unit, k := p.findSense(senseUnit, at)
	if k == 0 {
		return a, 0
	}
	a.unit = unit
	return a, at + k - i
}

// addTo moves t by the amount, back if sign is -1.
func (a amount) addTo(t time.Time, sign int) time.Time {
	switch a.n {
	case -1:
		return addUnits(t, sign*maxFew, a.unit)
	case 0:
		if unit, n := halfUnit(a.unit); unit != 0 {
			return addUnits(t, sign*n, unit)
		}
		return t
	}
	return addUnits(t, sign*a.n, a.unit)
}

func halfUnit(unit int) (of, n int) {
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

// readAgo reads "three weeks ago", "vor drei Wochen", "il y a un an".
func (p *parser) readAgo(i int, _ bool) (s span, n int) {
	_, at := p.findSense(senseBefore, i)
	a, k := p.readAmount(i + at)
	if k == 0 {
		return s, 0
	}
	end := i + at + k
	if at == 0 {
		_, k = p.findSense(senseAgo, end)
		if k == 0 {
			return s, 0
		}
		end += k
	}
	if d, k := p.findSense(senseDay, end); k > 0 && d == 0 { // "a year ago today"
		return daySpan(a.addTo(p.now, -1), 1), end + k - i
	}
	return a.spanAgo(p.now), end - i
}

// spanAgo returns the time that long before now, with half a unit on both sides.
func (a amount) spanAgo(now time.Time) span {
	t := a.addTo(now, -1)
	if a.n == -1 {
		return span{from: dayStart(t, 0), to: dayStart(addUnits(now, -minFew+1, a.unit), 0)}.clampToNow(now)
	}
	unit := a.unit
	if a.n == 0 {
		unit, _ = halfUnit(a.unit)
	}
	switch unit {
	case minute:
		return span{from: t.Add(-5 * time.Minute), to: t.Add(5 * time.Minute)}
	case hour:
		return span{from: t.Add(-30 * time.Minute), to: t.Add(30 * time.Minute)}
	case day, 0:
		return daySpan(t, 1)
	case week, fortnight, weekend:
		return daySpan(dayStart(t, -3), 7)
	case month:
		return daySpan(dayStart(t, -15), 31)
	case quarter:
		return daySpan(dayStart(t, -45), 91)
	case year:
		return span{from: dayStart(addMonths(t, -6), 0), to: dayStart(addMonths(t, 6), 0)}.clampToNow(now)
	}
	return span{from: dayStart(addMonths(t, -60), 0), to: dayStart(addMonths(t, 60), 0)}.clampToNow(now)
}

func (s span) clampToNow(now time.Time) span {
	if s.to.After(now) && s.from.Before(now) {
		s.to = now
	}
	return s
}

// readToDate reads "year to date", "this time last year".
func (p *parser) readToDate(i int, _ bool) (s span, n int) {
	if unit, n := p.findSense(senseToDate, i); n > 0 {
		s, ok := currentPeriod(p.now, unit)
		if !ok {
			return s, 0
		}
		return span{from: s.from, to: dayStart(p.now, 1)}, n
	}
	if _, n := p.findSense(senseYearAgo, i); n > 0 {
		return amount{n: 12, unit: month}.spanAgo(p.now), n
	}
	return s, 0
}

// readDay reads "yesterday", "yesterday evening", "the day before yesterday".
func (p *parser) readDay(i int, _ bool) (s span, n int) {
	d, n := p.findSense(senseDay, i)
	if n == 0 {
		return s, 0
	}
	return p.readDaypart(daySpan(dayStart(p.now, d), 1), i, i+n)
}

func (p *parser) readDaypart(s span, i, end int) (span, int) {
	part, k := p.findSense(sensePart, end)
	if k == 0 {
		return s, end - i
	}
	return partOfDay(s, part), end + k - i
}

// partOfDay extends the night to the next morning.
func partOfDay(s span, part int) span {
	y, m, d := s.from.Date()
	at := func(hour int) time.Time { return time.Date(y, m, d, hour, 0, 0, 0, s.from.Location()) }
	hours := [][2]int{1: {5, 12}, 2: {12, 18}, 3: {18, 24}, 4: {18, 30}}[part]
	return span{from: at(hours[0]), to: at(hours[1]), recurrence: s.recurrence}
}

// readShifted reads "last week", "this Friday", "the past three days", "last summer", "last
// night".
func (p *parser) readShifted(i int, _ bool) (s span, n int) {
	shift := 0
	_, at := p.findSense(sensePast, i)
	past := at > 0
	if !past {
		if shift, at = p.findSense(senseShift, i); at == 0 {
			return p.readCountedShift(i)
		}
	} else {
		shift = -1
	}
	at += i
	if a, k := p.readAmount(at); k > 0 && shift != 0 && a.n != 1 {
		return a.rollingSpan(p.now, shift), at + k - i
	}
	if unit, k := p.findSense(senseUnit, at); k > 0 {
		if past || unit <= hour {
			return amount{1, unit}.rollingSpan(p.now, shift), at + k - i
		}
		s, ok := currentPeriod(addUnits(periodStart(p.now, unit), shift, unit), unit)
		if !ok {
			return s, 0
		}
		return s, at + k - i
	}
	if part, k := p.findSense(sensePart, at); k > 0 && shift <= 0 {
		return partOfDay(daySpan(dayStart(p.now, shift), 1), part), at + k - i
	}
	if s, n = p.readShiftedName(at, shift); n > 0 {
		return s, at + n - i
	}
	return s, 0
}

func periodStart(now time.Time, unit int) time.Time {
	if s, ok := currentPeriod(now, unit); ok {
		return s.from
	}
	return now
}

// readCountedShift reads "die drei letzten Wochen", "les trois derniers mois".
func (p *parser) readCountedShift(i int) (s span, n int) {
	t := p.tokenAt(i)
	k, at := t.value, 1
	if t.kind != number {
		if k, at = p.findSense(senseNumber, i); at == 0 {
			return s, 0
		}
	}
	shift, m := p.findSense(senseShift, i+at)
	if m == 0 {
		_, m = p.findSense(sensePast, i+at)
		shift = -1
	}
	unit, u := p.findSense(senseUnit, i+at+m)
	if m == 0 || u == 0 || shift == 0 || k == 0 || k > maxAmount {
		return s, 0
	}
	return amount{k, unit}.rollingSpan(p.now, shift), at + m + u
}

// rollingSpan returns the time before now with today, or after it.
func (a amount) rollingSpan(now time.Time, shift int) span {
	t := a.addTo(now, shift)
	switch {
	case a.unit <= hour && shift < 0:
		return span{from: t, to: now}
	case a.unit <= hour:
		return span{from: now, to: t}
	case shift < 0:
		return span{from: dayStart(t, 0), to: dayStart(now, 1)}
	}
	return span{from: dayStart(now, 0), to: dayStart(t, 1)}
}

func (p *parser) readShiftedName(i, shift int) (s span, n int) {
	loc := p.now.Location()
	if w, n := p.findSense(senseWeekday, i); n > 0 {
		return p.shiftWeekday(w, shift, i, n)
	}
	of := func(int) span { return span{} }
	k, n := p.findSense(senseMonth, i)
	if n > 0 {
		of = func(y int) span { return monthSpan(y, time.Month(k), loc) }
	} else if k, n = p.findSense(senseSeason, i); n > 0 {
		of = func(y int) span { return seasonSpan(y, k, loc) }
	} else if k, n = p.findSense(senseHoliday, i); n > 0 {
		of = func(y int) span { return holidaySpan(y, k, loc) }
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

func (p *parser) shiftWeekday(w, shift, i, n int) (span, int) {
	s := span{}
	switch {
	case shift < 0:
		s = p.lastWeekday(w, -1)
	case shift > 0:
		s = p.lastWeekday(w, 7)
	default:
		s = daySpan(dayStart(p.now, (w+6)%7-daysSinceMonday(p.now)), 1)
	}
	s.recurrence = 0
	return p.readDaypart(s, i, i+n)
}

// readShiftAfter reads "la semaine dernière", "el lunes pasado".
func (p *parser) readShiftAfter(i int, _ bool) (s span, n int) {
	if unit, k := p.findSense(senseUnit, i); k > 0 && unit >= day {
		shift, m := p.findSense(senseBehind, i+k)
		s, ok := currentPeriod(addUnits(periodStart(p.now, unit), shift, unit), unit)
		if m == 0 || !ok {
			return s, 0
		}
		return s, k + m
	}
	for _, sense := range []string{senseWeekday, senseMonth, senseSeason, senseHoliday} {
		_, k := p.findSense(sense, i)
		shift, m := p.findSense(senseBehind, i+k)
		if k == 0 || m == 0 {
			continue
		}
		if s, n = p.readShiftedName(i, shift); n > 0 {
			return s, k + m
		}
	}
	return s, 0
}
