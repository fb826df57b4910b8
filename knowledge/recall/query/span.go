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
	at, n    int
	from, to time.Time
	loose    int
	until    bool // the second of two periods is the end of the first
	whole    int  // week or year if it is exactly one
}

func (p *parser) times() {
	var list []expression
	for i := 0; i < len(p.list); {
		if _, n := p.find(senseNever, i); n > 0 {
			i += n
			continue
		}
		e := p.expression(i)
		if e.n == 0 {
			p.recent(i)
			i++
			continue
		}
		e.at = i
		list = append(list, e)
		i += e.n
	}
	list = p.within(list)
	for _, e := range list {
		p.take(e.at, e.n, timed)
		p.merge(e)
	}
}

func (p *parser) recent(i int) {
	if _, n := p.find(senseRecent, i); n > 0 {
		p.q.Recent = true
		return
	}
	shift, n := p.find(senseShift, i)
	if n == 0 || shift >= 0 || p.lang != "en" {
		return
	}
	switch next := p.at(i + n); next.text {
	case "name", "names", "resort", "minute", "word", "words", "straw", "one", "of", "page", "line", "chapter", "step", "version", "owner", "job", "time", "ones":
		p.q.Recent = p.q.Recent || next.text == "one" || next.text == "time"
	default:
		p.q.Recent = p.q.Recent || next.kind == word && p.at(i-1).text != "at"
	}
}

// within reads "March last year" and "last year in March" again: the neighbour
// determines the period.
func (p *parser) within(list []expression) (out []expression) {
	for _, e := range list {
		if k := len(out) - 1; k >= 0 && out[k].at+out[k].n+2 > e.at {
			inner, outer := out[k], e
			if inner.whole != 0 {
				inner, outer = e, out[k]
			}
			if again, ok := p.inside(inner, outer); ok {
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

func (p *parser) inside(inner, outer expression) (again expression, ok bool) {
	if inner.loose == 0 || inner.loose != outer.whole || outer.to.IsZero() {
		return again, false
	}
	again = p.asOf(outer.to.Add(-time.Nanosecond), func() expression { return p.expression(inner.at) })
	return again, again.n == inner.n
}

// asOf reads as if now were t.
func (p *parser) asOf(t time.Time, read func() expression) expression {
	now := p.now
	p.now = t
	e := read()
	p.now = now
	return e
}

// merge intersects open ranges and joins closed ones.
func (p *parser) merge(e expression) {
	text := strings.TrimSpace(p.source(e.at, e.n))
	r := &p.q.Time
	switch open := r.From.IsZero() || r.To.IsZero() || e.from.IsZero() || e.to.IsZero(); {
	case r.Text == "":
		*r = Range{From: e.from, To: e.to, Text: text}
		return
	case r.Strict:
	case open:
		both := Range{From: later(r.From, e.from), To: sooner(r.To, e.to)}
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

// later treats zero as the earliest time.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sooner treats zero as the latest time.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// expression sets n to 0 if there is none.
func (p *parser) expression(i int) expression {
	rel, n := p.find(senseRelation, i)
	if n > 0 {
		if e := p.related(rel, i, n); e.n > 0 {
			return e
		}
	}
	return p.plain(i, 0, relNone, false)
}

func (p *parser) related(rel, i, n int) expression {
	_, weak := p.find(senseWeak, i)
	at := i + n
	if p.is(at, "'") && p.tight(at) { // "d'avril"
		at++
	}
	switch rel {
	case relSince:
		if a, k := p.amount(at); k > 0 && a.unit != 0 {
			if _, ago := p.find(senseAgo, at+k); ago == 0 {
				return expression{n: at + k - i, from: a.rolling(p.now, -1).from}
			}
		}
		if e := p.pair(at, false); e.n > 0 && e.until {
			e.n += at - i
			return e
		}
	case relBetween, relFrom:
		if e := p.pair(at, rel == relBetween); e.n > 0 {
			e.n += at - i
			return e
		}
	}
	e := p.plain(at, at-i, rel, weak == 0 || rel == relFrom && p.lang == "en" && p.at(at).kind == number)
	return e
}

// plain reads one or two periods after a relation of skip tokens.
func (p *parser) plain(i, skip, rel int, led bool) expression {
	if rel != relSince && rel != relAfter && rel != relBefore {
		if e := p.pair(i, false); e.n > 0 {
			e.n += skip
			return e
		}
	}
	s, n := p.period(i, led)
	if n == 0 {
		return expression{}
	}
	n = p.possessive(i, n)
	if _, k := p.find(senseOnward, i+n); k > 0 && (rel == relFrom || rel == relIn) {
		rel, n = relSince, n+k
	}
	if rel == relUntil && s.loose == week {
		s = p.ahead(s)
	}
	e := relate(rel, s)
	e.n, e.loose = skip+n, s.loose
	return e
}

// possessive adds the "'s" of "last week's meeting".
func (p *parser) possessive(i, n int) int {
	if p.lang == "en" && p.is(i+n, "'") && p.tight(i+n) && p.at(i+n+1).text == "s" && p.tight(i+n+1) {
		return n + 2
	}
	return n
}

func (p *parser) ahead(s span) span {
	if s.to.After(p.now) {
		return s
	}
	return span{from: midnight(s.from, 7), to: midnight(s.to, 7), loose: s.loose}
}

func relate(rel int, s span) expression {
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
		if c, ok := current(s.from, unit); ok && c.from.Equal(s.from) && c.to.Equal(s.to) {
			e.whole = unit
		}
	}
	return e
}

// pair reads "May and July", "March to May 2024", "2019-2021".
func (p *parser) pair(i int, between bool) expression {
	a, n := p.period(i, true)
	var day int
	if n == 0 && between {
		day, n = p.bareDay(i)
	}
	if n == 0 {
		return expression{}
	}
	at, isTo := p.joint(i + n)
	if at == 0 {
		return expression{}
	}
	b, m := p.period(at, true)
	if m == 0 {
		return expression{}
	}
	if day > 0 {
		y, month, _ := b.from.Date()
		var ok bool
		if a, ok = valid(y, int(month), day, p.now.Location()); !ok {
			return expression{}
		}
	}
	a, b = p.settle(a, b, i, at)
	if b.to.Before(a.from) || !isTo && !between && b.from.Before(a.from) {
		a, b = b, a
	}
	if !a.from.Before(b.to) {
		return expression{}
	}
	return expression{n: at + m - i, from: a.from, to: b.to, loose: both(a.loose, b.loose), until: isTo}
}

func both(a, b int) int {
	if a == b {
		return a
	}
	return 0
}

// bareDay reads "the 3rd" in "between the 3rd and the 7th of March".
func (p *parser) bareDay(i int) (d, n int) {
	at := p.skip(senseArticle, i)
	d, n = p.dayAt(at)
	if n == 0 {
		return 0, 0
	}
	return d, at + n - i
}

// joint returns the token after a conjunction, or 0, and whether that means "to".
func (p *parser) joint(i int) (at int, to bool) {
	if p.is(i, "-") {
		return i + 1, true
	}
	_, n := p.find(senseTo, i)
	if n == 0 {
		return 0, false
	}
	at = i + n
	t := p.list[i].text
	return at, t != "and" && t != "und" && t != "et" && t != "y"
}

// settle reads a period without a year relative to the other: the first before the
// second, or the second after the first.
func (p *parser) settle(a, b span, i, at int) (span, span) {
	now := p.now
	defer func() { p.now = now }()
	switch {
	case a.loose != 0:
		p.now = b.from
		if again, n := p.period(i, true); n > 0 {
			a = again
		}
	case b.loose != 0 && a.to.Sub(a.from) < 32*24*time.Hour:
		p.now = move(a.from, 1, b.loose).Add(-time.Nanosecond)
		if again, n := p.period(at, true); n > 0 {
			b = again
		}
	}
	return a, b
}
