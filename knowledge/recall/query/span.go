package query

import (
	"strings"
	"time"
)

// Relations, numbered as in the lexicons.
const (
	relNone = iota
	relIn
	relSince
	relAfter
	relBefore
	relUntil
	relAround
	relBetween
	relFrom
)

type expression struct {
	at, n      int
	from, to   time.Time
	recurrence int
	until      bool // the second of two periods is the end of the first
	whole      int  // week or year if it is exactly one
}

func (p *parser) readTimes() {
	var list []expression
	for i := 0; i < len(p.list); {
		if _, n := p.findSense(senseNever, i); n > 0 {
			i += n
			continue
		}
		e := p.readExpression(i)
		if e.n == 0 {
			p.detectRecent(i)
			i++
			continue
		}
		e.at = i
		list = append(list, e)
		i += e.n
	}
	list = p.resolveNested(list)
	for _, e := range list {
		p.markUses(e.at, e.n, timed)
		p.mergeTime(e)
	}
}

func (p *parser) detectRecent(i int) {
	if _, n := p.findSense(senseRecent, i); n > 0 {
		p.q.Recent = true
		return
	}
	shift, n := p.findSense(senseShift, i)
	if n == 0 || shift >= 0 || p.lang != "en" {
		return
	}
	switch next := p.tokenAt(i + n); next.text {
	case "name", "names", "resort", "minute", "word", "words", "straw", "one", "of", "page", "line", "chapter", "step", "version", "owner", "job", "time", "ones":
		p.q.Recent = p.q.Recent || next.text == "one" || next.text == "time"
	default:
		p.q.Recent = p.q.Recent || next.kind == word && p.tokenAt(i-1).text != "at"
	}
}

// resolveNested reads "March last year" and "last year in March" again: the neighbour
// determines the period.
func (p *parser) resolveNested(list []expression) (out []expression) {
	for _, e := range list {
		if k := len(out) - 1; k >= 0 && out[k].at+out[k].n+2 > e.at {
			inner, outer := out[k], e
			if inner.whole != 0 {
				inner, outer = e, out[k]
			}
			if again, ok := p.resolveInside(inner, outer); ok {
				again.n = e.at + e.n - out[k].at
				again.at = out[k].at
				out[k] = again
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

func (p *parser) resolveInside(inner, outer expression) (again expression, ok bool) {
	if inner.recurrence == 0 || inner.recurrence != outer.whole || outer.to.IsZero() {
		return again, false
	}
	again = p.readAsOf(outer.to.Add(-time.Nanosecond), func() expression { return p.readExpression(inner.at) })
	return again, again.n == inner.n
}

// readAsOf reads as if now were t.
func (p *parser) readAsOf(t time.Time, read func() expression) expression {
	now := p.now
	p.now = t
	e := read()
	p.now = now
	return e
}

// mergeTime intersects open ranges and joins closed ones.
func (p *parser) mergeTime(e expression) {
	text := strings.TrimSpace(p.sourceText(e.at, e.n))
	r := &p.q.Time
	switch open := r.From.IsZero() || r.To.IsZero() || e.from.IsZero() || e.to.IsZero(); {
	case r.Text == "":
		*r = Range{From: e.from, To: e.to, Text: text}
		return
	case r.Strict:
	case open:
		both := Range{From: maxTime(r.From, e.from), To: minTime(r.To, e.to)}
		if both.From.IsZero() || both.To.IsZero() || both.From.Before(both.To) {
			r.From, r.To = both.From, both.To
		}
	default:
		if e.from.Before(r.From) {
			r.From = e.from
		}
		if e.to.After(r.To) {
			r.To = e.to
		}
	}
	r.Text += ", " + text
}

// maxTime treats zero as the earliest time.
func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// minTime treats zero as the latest time.
func minTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// readExpression sets n to 0 if there is none.
func (p *parser) readExpression(i int) expression {
	rel, n := p.findSense(senseRelation, i)
	if n > 0 {
		if e := p.readRelated(rel, i, n); e.n > 0 {
			return e
		}
	}
	return p.readPlain(i, 0, relNone, false)
}

func (p *parser) readRelated(rel, i, n int) expression {
	_, weak := p.findSense(senseWeak, i)
	at := i + n
	if p.isMark(at, "'") && p.isTight(at) { // "d'avril"
		at++
	}
	switch rel {
	case relSince:
		if a, k := p.readAmount(at); k > 0 && a.unit != 0 {
			if _, ago := p.findSense(senseAgo, at+k); ago == 0 {
				return expression{n: at + k - i, from: a.rollingSpan(p.now, -1).from}
			}
		}
		if e := p.readPair(at, false); e.n > 0 && e.until {
			e.n += at - i
			return e
		}
	case relBetween, relFrom:
		if e := p.readPair(at, rel == relBetween); e.n > 0 {
			e.n += at - i
			return e
		}
	}
	e := p.readPlain(at, at-i, rel, weak == 0 || rel == relFrom && p.lang == "en" && p.tokenAt(at).kind == number)
	return e
}

// readPlain reads one or two periods after a relation of skip tokens.
func (p *parser) readPlain(i, skip, rel int, led bool) expression {
	if rel != relSince && rel != relAfter && rel != relBefore {
		if e := p.readPair(i, false); e.n > 0 {
			e.n += skip
			return e
		}
	}
	s, n := p.readPeriod(i, led)
	if n == 0 {
		return expression{}
	}
	n = p.skipPossessive(i, n)
	if _, k := p.findSense(senseOnward, i+n); k > 0 && (rel == relFrom || rel == relIn) {
		rel, n = relSince, n+k
	}
	if rel == relUntil && s.recurrence == week {
		s = p.moveToFuture(s)
	}
	e := relateSpan(rel, s)
	e.n, e.recurrence = skip+n, s.recurrence
	return e
}

// skipPossessive adds the "'s" of "last week's meeting".
func (p *parser) skipPossessive(i, n int) int {
	if p.lang == "en" && p.isMark(i+n, "'") && p.isTight(i+n) && p.tokenAt(i+n+1).text == "s" && p.isTight(i+n+1) {
		return n + 2
	}
	return n
}

func (p *parser) moveToFuture(s span) span {
	if s.to.After(p.now) {
		return s
	}
	return span{from: dayStart(s.from, 7), to: dayStart(s.to, 7), recurrence: s.recurrence}
}

func relateSpan(rel int, s span) expression {
	switch rel {
	case relSince:
		return expression{from: s.from}
	case relAfter:
		return expression{from: s.to}
	case relBefore:
		return expression{to: s.from}
	case relUntil:
		return expression{to: s.to}
	case relAround:
		wide := s.to.Sub(s.from)
		return expression{from: s.from.Add(-wide), to: s.to.Add(wide)}
	}
	e := expression{from: s.from, to: s.to}
	for _, unit := range []int{week, year} {
		if c, ok := currentPeriod(s.from, unit); ok && c.from.Equal(s.from) && c.to.Equal(s.to) {
			e.whole = unit
		}
	}
	return e
}

// readPair reads "May and July", "March to May 2024", "2019-2021".
func (p *parser) readPair(i int, between bool) expression {
	a, n := p.readPeriod(i, true)
	var day int
	if n == 0 && between {
		day, n = p.readBareDay(i)
	}
	if n == 0 {
		return expression{}
	}
	at, isTo := p.readConjunction(i + n)
	if at == 0 {
		return expression{}
	}
	b, m := p.readPeriod(at, true)
	if m == 0 {
		return expression{}
	}
	if day > 0 {
		y, month, _ := b.from.Date()
		var ok bool
		if a, ok = validDay(y, int(month), day, p.now.Location()); !ok {
			return expression{}
		}
	}
	a, b = p.settlePair(a, b, i, at)
	if b.to.Before(a.from) || !isTo && !between && b.from.Before(a.from) {
		a, b = b, a
	}
	if !a.from.Before(b.to) {
		return expression{}
	}
	return expression{n: at + m - i, from: a.from, to: b.to, recurrence: equalOrZero(a.recurrence, b.recurrence), until: isTo}
}

func equalOrZero(a, b int) int {
	if a == b {
		return a
	}
	return 0
}

// readBareDay reads "the 3rd" in "between the 3rd and the 7th of March".
func (p *parser) readBareDay(i int) (d, n int) {
	at := p.skipSense(senseArticle, i)
	d, n = p.readDayNumber(at)
	if n == 0 {
		return 0, 0
	}
	return d, at + n - i
}

// readConjunction returns the token after a conjunction, or 0, and whether that means "to".
func (p *parser) readConjunction(i int) (at int, to bool) {
	if p.isMark(i, "-") {
		return i + 1, true
	}
	_, n := p.findSense(senseTo, i)
	if n == 0 {
		return 0, false
	}
	at = i + n
	t := p.list[i].text
	return at, t != "and" && t != "und" && t != "et" && t != "y"
}

// settlePair reads a period without a year relative to the other: the first before the
// second, or the second after the first.
func (p *parser) settlePair(a, b span, i, at int) (span, span) {
	now := p.now
	defer func() { p.now = now }()
	switch {
	case a.recurrence != 0:
		p.now = b.from
		if again, n := p.readPeriod(i, true); n > 0 {
			a = again
		}
	case b.recurrence != 0 && a.to.Sub(a.from) < 32*24*time.Hour:
		p.now = addUnits(a.from, 1, b.recurrence).Add(-time.Nanosecond)
		if again, n := p.readPeriod(at, true); n > 0 {
			b = again
		}
	}
	return a, b
}
