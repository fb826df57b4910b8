package query

import (
	"slices"
	"strings"
	"time"
)

func ordinal(suffix string) bool {
	switch suffix {
	case "st", "nd", "rd", "th", "er", "ere", "e", "eme":
		return true
	}
	return false
}

// leading splits off the leading number.
func leading(word string) (value int, rest string) {
	n := 0
	for n < len(word) && n < 5 && word[n] >= '0' && word[n] <= '9' {
		n++
	}
	if n == 0 {
		return -1, word
	}
	return digits(word[:n]), word[n:]
}

// dayAt reads "5", "5th", "5." before a month.
func (p *parser) dayAt(i int) (d, n int) {
	t := p.at(i)
	d, suffix := leading(t.text)
	if t.kind == mark || d < 1 || d > 31 || suffix != "" && !ordinal(suffix) {
		return 0, 0
	}
	if suffix == "" && p.is(i+1, ".") && p.tight(i+1) {
		return d, 2
	}
	return d, 1
}

// dayMonth reads "5 March 2024", "the 5th of March", "5. März", "3-7 March".
func (p *parser) dayMonth(i int, _ bool) (s span, n int) {
	d, at := p.dayAt(i)
	if at == 0 {
		return s, 0
	}
	at += i
	to := d
	if end, m := p.through(at); m > 0 {
		to, at = end, at+m
	}
	at = p.skip(senseOf, at)
	m, k := p.find(senseMonth, at)
	if k == 0 {
		return s, 0
	}
	return p.dated(i, at+k, m, d, to)
}

// monthDay reads "March 5, 2024", "March 3-7", "March 2024", "March".
func (p *parser) monthDay(i int, led bool) (s span, n int) {
	m, at := p.find(senseMonth, i)
	if at == 0 {
		return s, 0
	}
	end := i + at
	if p.is(end, ".") && p.tight(end) && at == 1 && len(p.list[i].text) <= 4 {
		end++ // "Mar. 5"
	}
	if d, k := p.dayAt(end); k > 0 && !p.clock(end) {
		to := d
		if p.at(end+k-1).text == "." {
			k-- // end of the sentence
		}
		if last, l := p.through(end + k); l > 0 {
			to, k = last, k+l
		}
		return p.dated(i, end+k, m, d, to)
	}
	y, behind := p.yearBehind(end)
	if y > 0 {
		return monthOf(y, time.Month(m), p.now.Location()), behind - i
	}
	if !p.sure(i, at, led) {
		return s, 0
	}
	s, _ = last(p.now, func(y int) (span, bool) { return monthOf(y, time.Month(m), p.now.Location()), true })
	return s, end - i
}

// clock matches "10:30".
func (p *parser) clock(i int) bool { return p.is(i+1, ":") && p.tight(i+1) }

// through reads "-7", "to the 7th".
func (p *parser) through(i int) (d, n int) {
	at := i
	if p.is(at, "-") {
		at++
	} else {
		at = p.skip(senseTo, at)
	}
	if at == i {
		return 0, 0
	}
	at = p.skip(senseArticle, at)
	d, n = p.dayAt(at)
	if n == 0 {
		return 0, 0
	}
	return d, at + n - i
}

// dated returns days of a month, in the year that follows or the latest.
func (p *parser) dated(i, at, m, from, to int) (s span, n int) {
	loc := p.now.Location()
	of := func(y int) (span, bool) {
		a, ok := valid(y, m, from, loc)
		b, is := valid(y, m, to, loc)
		return span{from: a.from, to: b.to}, ok && is && to >= from
	}
	return p.latest(i, at, at, of)
}

// quarter reads "Q2 2023", "2023 Q2", "H1".
func (p *parser) quarter(i int, _ bool) (s span, n int) {
	y, at := 0, i
	if t := p.at(i); t.kind == number && len(t.text) == 4 && plausible(t.value) {
		if y, at = t.value, i+1; p.is(at, "-/") {
			at++
		}
	}
	t := p.at(at)
	if len(t.text) != 2 || t.kind != word || t.text[1] < '1' || t.text[1] > '4' {
		return s, 0
	}
	k := int(t.text[1] - '0')
	letter := t.text[0]
	half := letter == 'h' && k <= 2
	if letter != 'q' && !half && (letter != 't' || p.lang != "fr" && p.lang != "es") {
		return s, 0
	}
	if y > 0 {
		return p.quarterOf(y, k, half), at + 1 - i
	}
	if half {
		return p.halfIn(i, at+1, k)
	}
	return p.quarterIn(i, at+1, k)
}

func (p *parser) quarterOf(y, k int, half bool) span {
	if half {
		return yearOf(y, 1, p.now.Location()).part(k + 3)
	}
	return quarterOf(y, k, p.now.Location())
}

// quarterIn returns a quarter that started at token i; a year may follow at at.
func (p *parser) quarterIn(i, at, k int) (s span, n int) {
	if k > 4 {
		return s, 0
	}
	return p.yearly(i, at, func(y int) (span, bool) { return p.quarterOf(y, k, false), true })
}

func (p *parser) halfIn(i, at, k int) (s span, n int) {
	return p.yearly(i, at, func(y int) (span, bool) { return p.quarterOf(y, k, true), true })
}

// yearly returns a period of the year that follows, or the latest.
func (p *parser) yearly(i, at int, of func(y int) (span, bool)) (s span, n int) {
	sep := at
	if p.is(sep, "-/") && p.tight(sep) && len(p.at(sep+1).text) == 4 {
		sep++
	}
	return p.latest(i, at, sep, of)
}

// latest is yearly with the year at sep and the end at at.
func (p *parser) latest(i, at, sep int, of func(y int) (span, bool)) (s span, n int) {
	if y, end := p.yearBehind(sep); y > 0 {
		if s, ok := of(y); ok {
			return s, end - i
		}
		return s, 0
	}
	s, ok := last(p.now, of)
	if !ok {
		return s, 0
	}
	return s, at - i
}

// season reads "summer 2019", "winter 2023/24", "the summer".
func (p *parser) season(i int, led bool) (s span, n int) {
	k, at := p.find(senseSeason, i)
	if at == 0 || !p.sure(i, at, led) {
		return s, 0
	}
	y, _ := p.yearBehind(i + at)
	if y == 0 && !led && p.lang == "en" {
		return s, 0
	}
	s, n = p.yearly(i, i+at, func(y int) (span, bool) { return seasonOf(y, k, p.now.Location()), true })
	if n > 0 && y > 0 && p.is(i+n, "/") && p.at(i+n+1).kind == number && p.tight(i+n+1) {
		n += 2
	}
	return s, n
}

// holiday reads "Christmas", "Easter 2021".
func (p *parser) holiday(i int, led bool) (s span, n int) {
	k, at := p.find(senseHoliday, i)
	if at == 0 || !p.sure(i, at, led) {
		return s, 0
	}
	return p.yearly(i, i+at, func(y int) (span, bool) { return holidayOf(y, k, p.now.Location()), true })
}

// week reads "week 12 of 2024", "KW 12", "CW12".
func (p *parser) week(i int, _ bool) (s span, n int) {
	_, at := p.find(senseWeek, i)
	k := p.at(i + at).value
	if at == 0 {
		digit, cut := strings.CutPrefix(p.at(i).text, "kw")
		if k, at = digits(digit), 1; !cut || digit == "" || len(digit) > 2 {
			return s, 0
		}
	} else {
		at++
	}
	if k < 1 || k > 53 {
		return s, 0
	}
	return p.yearly(i, i+at, func(y int) (span, bool) { return isoWeek(y, k, p.now.Location()) })
}

// weekday reads "Monday", "Monday, 4 March 2024".
func (p *parser) weekday(i int, led bool) (s span, n int) {
	w, at := p.find(senseWeekday, i)
	if at == 0 {
		return s, 0
	}
	next := i + at
	if p.is(next, ".") && p.tight(next) && len(p.list[i].text) <= 4 {
		next++
	}
	if p.is(next, ",") {
		next++
	}
	next = p.skip(senseArticle, next)
	for _, read := range []production{(*parser).date, (*parser).dayMonth, (*parser).monthDay} {
		if s, n := read(p, next, false); n > 0 {
			return s, next + n - i
		}
	}
	if !p.sure(i, at, led) {
		return s, 0
	}
	return p.daypart(p.weekdayNear(w, 0), i, i+at)
}

// weekdayNear returns the last such day up to shift days from today.
func (p *parser) weekdayNear(w, shift int) span {
	back := (int(p.now.Weekday()) + shift - w + 700) % 7
	s := days(midnight(p.now, shift-back), 1)
	s.loose = week
	return s
}

// dayAlone reads "the 5th".
func (p *parser) dayAlone(i int, led bool) (s span, n int) {
	d, suffix := leading(p.at(i).text)
	if !led && p.at(i-2).text != "on" || d < 1 || d > 31 || !ordinal(suffix) || p.at(i-1).text != "the" && p.lang == "en" {
		return s, 0
	}
	if next := p.at(i + 1); next.kind == word && !p.lex.knows(next.text) {
		return s, 0 // "on the 5th floor"
	}
	t := p.now
	for range 12 {
		if s, ok := valid(t.Year(), int(t.Month()), d, t.Location()); ok && !s.from.After(p.now) {
			s.loose = month
			return s, 1
		}
		t = midnight(monthOf(t.Year(), t.Month(), t.Location()).from, -1)
	}
	return s, 0
}

const maxEvent = 12

// anchors finds an event: "before the launch".
func (p *parser) anchors() {
	for i := range p.list {
		relation, n := p.anchorWord(i)
		if n == 0 || p.idiom(i) {
			continue
		}
		from, to := p.bounds(i+n, p.event(i+n))
		if from >= to {
			continue
		}
		p.q.Anchor = &Anchor{Relation: relation, Event: p.source(from, to-from), Text: p.source(i, to-i)}
		p.take(i, to-i, timed)
		p.take(from, to-from, event)
		return
	}
}

var anchorWords = map[string]map[string]string{
	"en": {
		"before": "before", "after": "after", "since": "after", "until": "before", "till": "before", "during": "around", "prior to": "before",
		"leading up to": "before", "following": "after", "around the time of": "around", "around the time": "around", "the day of": "around", "the night of": "around",
		"the week of": "around", "the day before": "before", "the day after": "after", "the week before": "before", "the week after": "after", "shortly before": "before",
		"shortly after": "after", "right after": "after", "right before": "before", "ever since": "after", "at the time of": "around", "while": "around",
	},
	"de": {"vor": "before", "nach": "after", "seit": "after", "wahrend": "around", "bevor": "before", "nachdem": "after", "bis": "before"},
	"fr": {"avant": "before", "apres": "after", "depuis": "after", "pendant": "around", "durant": "around", "lors de": "around", "lors du": "around"},
	"es": {
		"antes de": "before", "antes del": "before", "despues de": "after", "despues del": "after", "desde": "after", "durante": "around",
		"tras": "after", "desde que": "after", "antes de que": "before",
	},
}

func (p *parser) anchorWord(i int) (relation string, n int) {
	if p.list[i].uses != 0 {
		return "", 0
	}
	words := anchorWords[p.lang]
	for k := maxPhrase - 1; k >= 0; k-- {
		if r, ok := words[p.keys[i][k]]; ok {
			return r, p.ends[i][k] - i
		}
	}
	return "", 0
}

// idiom matches words of the previous verb: "look after".
func (p *parser) idiom(i int) bool {
	switch before := strings.TrimSuffix(strings.TrimSuffix(p.at(i-1).text, "ing"), "s"); before {
	case "look", "looked", "name", "named", "nam", "call", "called", "take", "tak", "took", "ask", "asked", "run", "running", "runn", "go", "went", "day", "morning", "soon",
		"long", "shortly", "ever", "even", "never", "inquire", "sought", "lust", "modelled", "suche", "suchen", "suchst", "such", "frag", "frage", "angst", "schutz", "riecht", "je", "date", "thread":
		return true
	}
	return false
}

// event counts the event's tokens, up to a sign or another clause.
func (p *parser) event(i int) int {
	n := 0
	for i+n < len(p.list) && n < maxEvent {
		t := p.at(i + n)
		if t.uses&(operator|timed) != 0 || t.kind == mark && !p.joins(i+n) {
			break
		}
		if n > 0 && t.kind == word && (endsEvent(t.text) || p.lang == "de" && !t.upper && p.at(i+n-1).upper) {
			break
		}
		n++
	}
	return n
}

func endsEvent(w string) bool {
	switch w {
	case "about", "regarding", "concerning", "what", "who", "which", "how", "when", "where", "why", "did", "do", "does", "were", "are", "is", "was", "and", "or", "but", "that",
		"uber", "wegen", "und", "oder", "sur", "et", "ou", "sobre", "y", "o", "according":
		return true
	}
	return false
}

var articles = strings.Fields(`the my our your his her their its this that a an der die das dem den des meine meiner meinem meinen unser unserer unserem
	le la les l mon ma mes notre el los las mi mis nuestro nuestra lo`)

var subjects = strings.Fields("i we he she they you it ich wir er sie es je j nous il elle on yo")

// bounds drops the article; only clauses, names and ends of queries need none.
func (p *parser) bounds(i, n int) (from, to int) {
	from, to = i, i+n
	led := false
	for from < to && contains(articles, p.list[from].text) {
		from, led = from+1, true
		if p.is(from, "'") {
			from++
		}
	}
	if from >= to || p.list[from].kind != word {
		return 0, 0
	}
	first := p.list[from]
	ends := to == len(p.list) || p.list[to].kind == mark
	if !led && !contains(subjects, first.text) && !first.upper && !(ends && n <= 3) {
		return 0, 0
	}
	return from, to
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}
