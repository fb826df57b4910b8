package query

import "time"

// A production reads a period at token i and returns its number of tokens, or 0. led
// means that a preposition precedes it.
type production func(p *parser, i int, led bool) (s span, n int)

// productions are in order of precedence.
func productions() []production {
	return []production{
		(*parser).readEdge, (*parser).readDate, (*parser).readAgo, (*parser).readToDate, (*parser).readDay, (*parser).readNth, (*parser).readShifted, (*parser).readShiftAfter,
		(*parser).readQuarter, (*parser).readDayMonth, (*parser).readMonthDay, (*parser).readWeek,
		(*parser).readSeason, (*parser).readHoliday, (*parser).readDecade, (*parser).readWeekday, (*parser).readDayAlone, (*parser).readYear,
	}
}

const maxNested = 4

func (p *parser) readPeriod(i int, led bool) (s span, n int) { return p.readNested(i, led, 0) }

func (p *parser) readNested(i int, led bool, depth int) (s span, n int) {
	if depth > maxNested || i >= len(p.list) || p.list[i].uses&(operator|timed) != 0 {
		return s, 0
	}
	if _, never := p.findSense(senseNever, i); never > 0 {
		return s, 0
	}
	for _, read := range productions() {
		if s, n = read(p, i, led); n > 0 {
			return s, n
		}
	}
	if _, article := p.findSense(senseArticle, i); article > 0 {
		at := i + article
		if p.isMark(at, "'") && p.isTight(at) {
			at++
		}
		if s, n = p.readNested(at, led, depth+1); n > 0 {
			return s, at - i + n
		}
	}
	return s, 0
}

func (p *parser) isCertainTime(i, n int, led bool) bool {
	if _, doubtful := p.findSense(senseDoubt, i); doubtful == 0 {
		return true
	}
	t := p.tokenAt(i)
	if y, _ := p.readFollowingYear(i + n); y > 0 {
		return true
	}
	return led || t.upper && !t.first && p.lang != "de" || p.tokenAt(i+n).kind == number
}

// readEdge reads "early March", "the end of last year", "mid-May".
func (p *parser) readEdge(i int, _ bool) (s span, n int) {
	edge, at := p.findSense(senseEdge, i)
	if at == 0 {
		return s, 0
	}
	at += i
	if p.isMark(at, "-") {
		at++
	}
	at = p.skipSense(senseArticle, p.skipSense(senseOf, at))
	if s, n = p.readInner(at); n == 0 {
		return s, 0
	}
	switch edge {
	case 6:
		return span{from: s.from, to: p.now}, at - i + n
	case 7:
		return span{from: p.now, to: s.to}, at - i + n
	}
	loose := s.recurrence
	s = s.partAt(edge)
	s.recurrence = loose
	return s, at - i + n
}

// readInner reads a period that contains no other.
func (p *parser) readInner(i int) (s span, n int) {
	for _, read := range []production{
		(*parser).readDate, (*parser).readShifted, (*parser).readShiftAfter, (*parser).readQuarter, (*parser).readDayMonth, (*parser).readMonthDay, (*parser).readWeek,
		(*parser).readSeason, (*parser).readHoliday, (*parser).readDecade, (*parser).readYear, (*parser).readThisUnit,
	} {
		if s, n = read(p, i, true); n > 0 {
			return s, n
		}
	}
	return s, 0
}

// readThisUnit reads "the year" in "the beginning of the year".
func (p *parser) readThisUnit(i int, _ bool) (s span, n int) {
	unit, n := p.findSense(senseUnit, i)
	if n == 0 || unit < week || unit == fortnight {
		return s, 0
	}
	s, ok := currentPeriod(p.now, unit)
	if !ok {
		return s, 0
	}
	return s, n
}

// readNth reads "first week of March", "last day of 2023", "third quarter of 2024".
func (p *parser) readNth(i int, _ bool) (s span, n int) {
	k, at := p.findSense(senseOrdinal, i)
	if at == 0 {
		if num, suffix := splitNumber(p.tokenAt(i).text); suffix != "" && isOrdinalSuffix(suffix) && num > 0 {
			k, at = num, 1
		} else if p.tokenAt(i).value > 0 && p.isMark(i+1, ".") && p.isTight(i+1) {
			k, at = p.tokenAt(i).value, 2
		} else {
			return s, 0
		}
	}
	unit, m := p.findSense(senseUnit, i+at)
	if m == 0 {
		return s, 0
	}
	at += i + m
	if unit == quarter && k > 0 {
		return p.readQuarterYear(i, at, k)
	}
	of := p.skipSense(senseArticle, p.skipSense(senseOf, at))
	if of == at {
		return s, 0
	}
	whole, m := p.readInner(of)
	if m == 0 {
		return s, 0
	}
	if s, ok := whole.nthUnit(k, unit); ok {
		return s, of + m - i
	}
	return s, 0
}

// nthUnit returns the kth day, week or month; k = -1 is the last.
func (s span) nthUnit(k, unit int) (part span, ok bool) {
	size := map[int]int{day: 1, week: 7}[unit]
	switch {
	case unit == month && k != 0:
		part.from = addMonths(s.from, k-1)
		if k < 0 {
			part.from = addMonths(s.to, -1)
		}
		part.to = addMonths(part.from, 1)
	case size == 0 || k == 0:
		return s, false
	case k < 0:
		part = span{from: dayStart(s.to, -size), to: s.to}
	default:
		part = daySpan(dayStart(s.from, (k-1)*size), size)
	}
	part.recurrence = s.recurrence
	return part, k <= 366 && !part.from.Before(s.from) && part.from.Before(s.to)
}

// readFollowingYear reads the year in "March 2024", "Easter of 2020", "June '98". end is the
// next token.
func (p *parser) readFollowingYear(i int) (y, end int) {
	at := i
	if p.isMark(at, ",") {
		at++
	}
	at = p.skipSense(senseOf, at)
	if p.isMark(at, "'") && p.tokenAt(at+1).kind == number && p.isTight(at+1) && len(p.tokenAt(at+1).text) == 2 {
		return expandYear(p.tokenAt(at+1).value, p.now), at + 2
	}
	if t := p.tokenAt(at); t.kind == number && len(t.text) == 4 && isPlausibleYear(t.value) && !p.isAmount(at) {
		return t.value, at + 1
	}
	return 0, i
}

// expandYear completes two digits to a year of the last 80 or next 20.
func expandYear(two int, now time.Time) int {
	y := now.Year()/100*100 + two
	if y > now.Year()+20 {
		y -= 100
	}
	return y
}

func isPlausibleYear(y int) bool { return y >= 1000 && y < 3000 }
