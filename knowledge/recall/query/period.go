package query

import "time"

// A production reads a period at token i and returns its number of tokens, or 0. led
// means that a preposition precedes it.
type production func(p *parser, i int, led bool) (s span, n int)

// productions are in order of precedence.
func productions() []production {
	return []production{
		(*parser).edge, (*parser).date, (*parser).ago, (*parser).toDate, (*parser).day, (*parser).nth, (*parser).shifted, (*parser).behind,
		(*parser).quarter, (*parser).dayMonth, (*parser).monthDay, (*parser).week,
		(*parser).season, (*parser).holiday, (*parser).decade, (*parser).weekday, (*parser).dayAlone, (*parser).year,
	}
}

const maxNested = 4

func (p *parser) period(i int, led bool) (s span, n int) { return p.nested(i, led, 0) }

func (p *parser) nested(i int, led bool, depth int) (s span, n int) {
	if depth > maxNested || i >= len(p.list) || p.list[i].uses&(operator|timed) != 0 {
		return s, 0
	}
	if _, never := p.find(senseNever, i); never > 0 {
		return s, 0
	}
	for _, read := range productions() {
		if s, n = read(p, i, led); n > 0 {
			return s, n
		}
	}
	if _, article := p.find(senseArticle, i); article > 0 {
		at := i + article
		if p.is(at, "'") && p.tight(at) {
			at++
		}
		if s, n = p.nested(at, led, depth+1); n > 0 {
			return s, at - i + n
		}
	}
	return s, 0
}

func (p *parser) sure(i, n int, led bool) bool {
	if _, doubtful := p.find(senseDoubt, i); doubtful == 0 {
		return true
	}
	t := p.at(i)
	if y, _ := p.yearBehind(i + n); y > 0 {
		return true
	}
	return led || t.upper && !t.first && p.lang != "de" || p.at(i+n).kind == number
}

// edge reads "early March", "the end of last year", "mid-May".
func (p *parser) edge(i int, _ bool) (s span, n int) {
	edge, at := p.find(senseEdge, i)
	if at == 0 {
		return s, 0
	}
	at += i
	if p.is(at, "-") {
		at++
	}
	at = p.skip(senseArticle, p.skip(senseOf, at))
	if s, n = p.inner(at); n == 0 {
		return s, 0
	}
	switch edge {
	case 6:
		return span{from: s.from, to: p.now}, at - i + n
	case 7:
		return span{from: p.now, to: s.to}, at - i + n
	}
	loose := s.loose
	s = s.part(edge)
	s.loose = loose
	return s, at - i + n
}

// inner reads a period that contains no other.
func (p *parser) inner(i int) (s span, n int) {
	for _, read := range []production{
		(*parser).date, (*parser).shifted, (*parser).behind, (*parser).quarter, (*parser).dayMonth, (*parser).monthDay, (*parser).week,
		(*parser).season, (*parser).holiday, (*parser).decade, (*parser).year, (*parser).thisUnit,
	} {
		if s, n = read(p, i, true); n > 0 {
			return s, n
		}
	}
	return s, 0
}

// thisUnit reads "the year" in "the beginning of the year".
func (p *parser) thisUnit(i int, _ bool) (s span, n int) {
	unit, n := p.find(senseUnit, i)
	if n == 0 || unit < week || unit == fortnight {
		return s, 0
	}
	s, ok := current(p.now, unit)
	if !ok {
		return s, 0
	}
	return s, n
}

// nth reads "first week of March", "last day of 2023", "third quarter of 2024".
func (p *parser) nth(i int, _ bool) (s span, n int) {
	k, at := p.find(senseOrdinal, i)
	if at == 0 {
		if num, suffix := leading(p.at(i).text); suffix != "" && ordinal(suffix) && num > 0 {
			k, at = num, 1
		} else if p.at(i).value > 0 && p.is(i+1, ".") && p.tight(i+1) {
			k, at = p.at(i).value, 2
		} else {
			return s, 0
		}
	}
	unit, m := p.find(senseUnit, i+at)
	if m == 0 {
		return s, 0
	}
	at += i + m
	if unit == quarter && k > 0 {
		return p.quarterIn(i, at, k)
	}
	of := p.skip(senseArticle, p.skip(senseOf, at))
	if of == at {
		return s, 0
	}
	whole, m := p.inner(of)
	if m == 0 {
		return s, 0
	}
	if s, ok := whole.unit(k, unit); ok {
		return s, of + m - i
	}
	return s, 0
}

// unit returns the kth day, week or month; k = -1 is the last.
func (s span) unit(k, unit int) (part span, ok bool) {
	size := map[int]int{day: 1, week: 7}[unit]
	switch {
	case unit == month && k != 0:
		part.from = months(s.from, k-1)
		if k < 0 {
			part.from = months(s.to, -1)
		}
		part.to = months(part.from, 1)
	case size == 0 || k == 0:
		return s, false
	case k < 0:
		part = span{from: midnight(s.to, -size), to: s.to}
	default:
		part = days(midnight(s.from, (k-1)*size), size)
	}
	part.loose = s.loose
	return part, k <= 366 && !part.from.Before(s.from) && part.from.Before(s.to)
}

// yearBehind reads the year in "March 2024", "Easter of 2020", "June '98". end is the
// next token.
func (p *parser) yearBehind(i int) (y, end int) {
	at := i
	if p.is(at, ",") {
		at++
	}
	at = p.skip(senseOf, at)
	if p.is(at, "'") && p.at(at+1).kind == number && p.tight(at+1) && len(p.at(at+1).text) == 2 {
		return short(p.at(at+1).value, p.now), at + 2
	}
	if t := p.at(at); t.kind == number && len(t.text) == 4 && plausible(t.value) && !p.counts(at) {
		return t.value, at + 1
	}
	return 0, i
}

// short completes two digits to a year of the last 80 or next 20.
func short(two int, now time.Time) int {
	y := now.Year()/100*100 + two
	if y > now.Year()+20 {
		y -= 100
	}
	return y
}

func plausible(y int) bool { return y >= 1000 && y < 3000 }
