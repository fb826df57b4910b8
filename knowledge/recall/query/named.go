package query

import (
	"slices"
	"strings"
	"time"
)

func isOrdinalSuffix(suffix string) bool {
	switch suffix {
	case "st", "nd", "rd", "th", "er", "ere", "e", "eme":
		return true
	}
	return false
}

// splitNumber splits off the leading number.
func splitNumber(word string) (value int, rest string) {
	n := 0
	for n < len(word) && n < 5 && word[n] >= '0' && word[n] <= '9' {
		n++
	}
	if n == 0 {
		return -1, word
	}
	return parseDigits(word[:n]), word[n:]
}

// readDayNumber reads "5", "5th", "5." before a month.
func (p *parser) readDayNumber(i int) (d, n int) {
	t := p.tokenAt(i)
	d, suffix := splitNumber(t.text)
	if t.kind == mark || d < 1 || d > 31 || suffix != "" && !isOrdinalSuffix(suffix) {
		return 0, 0
	}
	if suffix == "" && p.isMark(i+1, ".") && p.isTight(i+1) {
		return d, 2
	}
	return d, 1
}

// readDayMonth reads "5 March 2024", "the 5th of March", "5. März", "3-7 March".
func (p *parser) readDayMonth(i int, _ bool) (s span, n int) {
	d, at := p.readDayNumber(i)
	if at == 0 {
		return s, 0
	}
	at += i
	to := d
	if end, m := p.readRangeEnd(at); m > 0 {
		to, at = end, at+m
	}
	at = p.skipSense(senseOf, at)
	m, k := p.findSense(senseMonth, at)
	if k == 0 {
		return s, 0
	}
	return p.daysOfMonth(i, at+k, m, d, to)
}

// readMonthDay reads "March 5, 2024", "March 3-7", "March 2024", "March".
func (p *parser) readMonthDay(i int, led bool) (s span, n int) {
	m, at := p.findSense(senseMonth, i)
	if at == 0 {
		return s, 0
	}
	end := i + at
	if p.isMark(end, ".") && p.isTight(end) && at == 1 && len(p.list[i].text) <= 4 {
		end++ // "Mar. 5"
	}
	if d, k := p.readDayNumber(end); k > 0 && !p.isClock(end) {
		to := d
		if p.tokenAt(end+k-1).text == "." {
			k-- // end of the sentence
		}
		if last, l := p.readRangeEnd(end + k); l > 0 {
			to, k = last, k+l
		}
		return p.daysOfMonth(i, end+k, m, d, to)
	}
	y, behind := p.readFollowingYear(end)
	if y > 0 {
		return monthSpan(y, time.Month(m), p.now.Location()), behind - i
	}
	if !p.isCertainTime(i, at, led) {
		return s, 0
	}
	s, _ = latestYearly(p.now, func(y int) (span, bool) { return monthSpan(y, time.Month(m), p.now.Location()), true })
	return s, end - i
}

// isClock matches "10:30".
func (p *parser) isClock(i int) bool { return p.isMark(i+1, ":") && p.isTight(i+1) }

// readRangeEnd reads "-7", "to the 7th".
func (p *parser) readRangeEnd(i int) (d, n int) {
	at := i
	if p.isMark(at, "-") {
		at++
	} else {
		at = p.skipSense(senseTo, at)
	}
	if at == i {
		return 0, 0
	}
	at = p.skipSense(senseArticle, at)
	d, n = p.readDayNumber(at)
	if n == 0 {
		return 0, 0
	}
	return d, at + n - i
}

// daysOfMonth returns days of a month, in the year that follows or the latest.
func (p *parser) daysOfMonth(i, at, m, from, to int) (s span, n int) {
	loc := p.now.Location()
	of := func(y int) (span, bool) {
		a, ok := validDay(y, m, from, loc)
		b, is := validDay(y, m, to, loc)
		return span{from: a.from, to: b.to}, ok && is && to >= from
	}
	return p.readLatest(i, at, at, of)
}

// readQuarter reads "Q2 2023", "2023 Q2", "H1".
func (p *parser) readQuarter(i int, _ bool) (s span, n int) {
	y, at := 0, i
	if t := p.tokenAt(i); t.kind == number && len(t.text) == 4 && isPlausibleYear(t.value) {
		if y, at = t.value, i+1; p.isMark(at, "-/") {
			at++
		}
	}
	t := p.tokenAt(at)
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
		return p.quarterOrHalf(y, k, half), at + 1 - i
	}
	if half {
		return p.readHalfYear(i, at+1, k)
	}
	return p.readQuarterYear(i, at+1, k)
}

func (p *parser) quarterOrHalf(y, k int, half bool) span {
	if half {
		return yearSpan(y, 1, p.now.Location()).partAt(k + 3)
	}
	return quarterSpan(y, k, p.now.Location())
}

// readQuarterYear returns a quarter that started at token i; a year may follow at at.
func (p *parser) readQuarterYear(i, at, k int) (s span, n int) {
	if k > 4 {
		return s, 0
	}
	return p.readYearly(i, at, func(y int) (span, bool) { return p.quarterOrHalf(y, k, false), true })
}

func (p *parser) readHalfYear(i, at, k int) (s span, n int) {
	return p.readYearly(i, at, func(y int) (span, bool) { return p.quarterOrHalf(y, k, true), true })
}

// readYearly returns a period of the year that follows, or the latest.
func (p *parser) readYearly(i, at int, of func(y int) (span, bool)) (s span, n int) {
	sep := at
	if p.isMark(sep, "-/") && p.isTight(sep) && len(p.tokenAt(sep+1).text) == 4 {
		sep++
	}
	return p.readLatest(i, at, sep, of)
}

// readLatest is yearly with the year at sep and the end at at.
func (p *parser) readLatest(i, at, sep int, of func(y int) (span, bool)) (s span, n int) {
	if y, end := p.readFollowingYear(sep); y > 0 {
		if s, ok := of(y); ok {
			return s, end - i
		}
		return s, 0
	}
	s, ok := latestYearly(p.now, of)
	if !ok {
		return s, 0
	}
	return s, at - i
}

// readSeason reads "summer 2019", "winter 2023/24", "the summer".
func (p *parser) readSeason(i int, led bool) (s span, n int) {
	k, at := p.findSense(senseSeason, i)
	if at == 0 || !p.isCertainTime(i, at, led) {
		return s, 0
	}
	y, _ := p.readFollowingYear(i + at)
	if y == 0 && !led && p.lang == "en" {
		return s, 0
	}
	s, n = p.readYearly(i, i+at, func(y int) (span, bool) { return seasonSpan(y, k, p.now.Location()), true })
	if n > 0 && y > 0 && p.isMark(i+n, "/") && p.tokenAt(i+n+1).kind == number && p.isTight(i+n+1) {
		n += 2
	}
	return s, n
}

// readHoliday reads "Christmas", "Easter 2021".
func (p *parser) readHoliday(i int, led bool) (s span, n int) {
	k, at := p.findSense(senseHoliday, i)
	if at == 0 || !p.isCertainTime(i, at, led) {
		return s, 0
	}
	return p.readYearly(i, i+at, func(y int) (span, bool) { return holidaySpan(y, k, p.now.Location()), true })
}

// readWeek reads "week 12 of 2024", "KW 12", "CW12".
func (p *parser) readWeek(i int, _ bool) (s span, n int) {
	_, at := p.findSense(senseWeek, i)
	k := p.tokenAt(i + at).value
	if at == 0 {
		digit, cut := strings.CutPrefix(p.tokenAt(i).text, "kw")
		if k, at = parseDigits(digit), 1; !cut || digit == "" || len(digit) > 2 {
			return s, 0
		}
	} else {
		at++
	}
	if k < 1 || k > 53 {
		return s, 0
	}
	return p.readYearly(i, i+at, func(y int) (span, bool) { return isoWeek(y, k, p.now.Location()) })
}

// readWeekday reads "Monday", "Monday, 4 March 2024".
func (p *parser) readWeekday(i int, led bool) (s span, n int) {
	w, at := p.findSense(senseWeekday, i)
	if at == 0 {
		return s, 0
	}
	next := i + at
	if p.isMark(next, ".") && p.isTight(next) && len(p.list[i].text) <= 4 {
		next++
	}
	if p.isMark(next, ",") {
		next++
	}
	next = p.skipSense(senseArticle, next)
	for _, read := range []production{(*parser).readDate, (*parser).readDayMonth, (*parser).readMonthDay} {
		if s, n := read(p, next, false); n > 0 {
			return s, next + n - i
		}
	}
	if !p.isCertainTime(i, at, led) {
		return s, 0
	}
	return p.readDaypart(p.lastWeekday(w, 0), i, i+at)
}

// lastWeekday returns the last such day up to shift days from today.
func (p *parser) lastWeekday(w, shift int) span {
	back := (int(p.now.Weekday()) + shift - w + 700) % 7
	s := daySpan(dayStart(p.now, shift-back), 1)
	s.recurrence = week
	return s
}

// readDayAlone reads "the 5th".
func (p *parser) readDayAlone(i int, led bool) (s span, n int) {
	d, suffix := splitNumber(p.tokenAt(i).text)
	if !led && p.tokenAt(i-2).text != "on" || d < 1 || d > 31 || !isOrdinalSuffix(suffix) || p.tokenAt(i-1).text != "the" && p.lang == "en" {
		return s, 0
	}
	if next := p.tokenAt(i + 1); next.kind == word && !p.lex.hasWord(next.text) {
		return s, 0 // "on the 5th floor"
	}
	t := p.now
	for range 12 {
		if s, ok := validDay(t.Year(), int(t.Month()), d, t.Location()); ok && !s.from.After(p.now) {
			s.recurrence = month
			return s, 1
		}
		t = dayStart(monthSpan(t.Year(), t.Month(), t.Location()).from, -1)
	}
	return s, 0
}

const maxEvent = 12

// findAnchor finds an event: "before the launch".
func (p *parser) findAnchor() {
	for i := range p.list {
		relation, n := p.readAnchorWord(i)
		if n == 0 || p.isIdiom(i) {
			continue
		}
		from, to := p.eventBounds(i+n, p.eventLength(i+n))
		if from >= to {
			continue
		}
		p.q.Anchor = &Anchor{Relation: relation, Event: p.sourceText(from, to-from), Text: p.sourceText(i, to-i)}
		p.markUses(i, to-i, timed)
		p.markUses(from, to-from, event)
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

func (p *parser) readAnchorWord(i int) (relation string, n int) {
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

// isIdiom matches words of the previous verb: "look after".
func (p *parser) isIdiom(i int) bool {
	switch before := strings.TrimSuffix(strings.TrimSuffix(p.tokenAt(i-1).text, "ing"), "s"); before {
	case "look", "looked", "name", "named", "nam", "call", "called", "take", "tak", "took", "ask", "asked", "run", "running", "runn", "go", "went", "day", "morning", "soon",
		"long", "shortly", "ever", "even", "never", "inquire", "sought", "lust", "modelled", "suche", "suchen", "suchst", "such", "frag", "frage", "angst", "schutz", "riecht", "je", "date", "thread":
		return true
	}
	return false
}

// eventLength counts the event's tokens, up to a sign or another clause.
func (p *parser) eventLength(i int) int {
	n := 0
	for i+n < len(p.list) && n < maxEvent {
		t := p.tokenAt(i + n)
		if t.uses&(operator|timed) != 0 || t.kind == mark && !p.isJoiner(i+n) {
			break
		}
		if n > 0 && t.kind == word && (endsEvent(t.text) || p.lang == "de" && !t.upper && p.tokenAt(i+n-1).upper) {
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

// eventBounds drops the article; only clauses, names and ends of queries need none.
func (p *parser) eventBounds(i, n int) (from, to int) {
	from, to = i, i+n
	led := false
	for from < to && containsWord(articles, p.list[from].text) {
		from, led = from+1, true
		if p.isMark(from, "'") {
			from++
		}
	}
	if from >= to || p.list[from].kind != word {
		return 0, 0
	}
	first := p.list[from]
	ends := to == len(p.list) || p.list[to].kind == mark
	if !led && !containsWord(subjects, first.text) && !first.upper && !(ends && n <= 3) {
		return 0, 0
	}
	return from, to
}

func containsWord(list []string, s string) bool {
	return slices.Contains(list, s)
}
