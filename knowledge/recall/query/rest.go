package query

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

// setText sets Text and Words.
func (p *parser) setText() {
	var b strings.Builder
	end := -1
	for i := range p.list {
		t := &p.list[i]
		p.addWord(t, i)
		if t.uses&(operator|timed) != 0 || t.kind == mark && p.isDangling(i) {
			continue
		}
		if end >= 0 && (t.space || end < t.start) && !p.isMark(i, ",.;:!?)") {
			b.WriteByte(' ')
		}
		b.WriteString(p.text[t.start:t.end])
		end = t.end
	}
	p.q.Text = strings.TrimLeft(strings.TrimSpace(b.String()), ",.;:!? ")
}

// isDangling reports whether a sign lost a neighbour, as a comma after an operator.
func (p *parser) isDangling(i int) bool {
	if !p.isMark(i, ",;:-'()") {
		return false
	}
	gone := func(k int) bool {
		return k < 0 || k >= len(p.list) || p.list[k].uses&(operator|timed) != 0
	}
	return gone(i-1) || gone(i+1)
}

func (p *parser) addWord(t *token, i int) {
	if t.kind == mark || t.uses&operator != 0 && t.uses&not == 0 {
		return
	}
	if marked := t.uses &^ timed; marked == 0 || marked == event {
		letter := len(t.text) == 1 && p.isMark(i+1, "'") && p.isTight(i+1) || t.text == "s" && p.isMark(i-1, "'")
		if letter || containsWord(stopWords[p.lang], t.text) && !p.isFindQuestion(i) || t.uses == timed && !p.isDateWord(t.text) || p.isFiller(t.text) {
			return
		}
	}
	p.q.Words = append(p.q.Words, Word{
		Text: p.text[t.start:t.end], Prefix: t.uses&prefix != 0, Must: t.uses&must != 0, Not: t.uses&not != 0, Time: t.uses&timed != 0, Event: t.uses&event != 0,
	})
}

// isFindQuestion matches "what did we find".
func (p *parser) isFindQuestion(i int) bool {
	return p.lang == "en" && containsWord(requestVerbs, p.tokenAt(i).text) && containsWord(subjects, p.tokenAt(i-1).text) && p.tokenAt(i-2).text == "did"
}

var requestVerbs = strings.Fields("tell show find give")

// isFiller matches words for any event at the query's time.
func (p *parser) isFiller(w string) bool {
	return (!p.q.Time.IsZero() || p.q.Anchor != nil) && containsWord(fillerWords[p.lang], w)
}

var fillerWords = map[string][]string{
	"en": strings.Fields("happen happens happened happening occur occurred occurring going went gone doing anything everything something stuff things up"),
	"de": strings.Fields("passiert passierte geschah geschehen los gemacht getan alles etwas war gab"),
	"fr": strings.Fields("passe passait arrive fait faisait tout"),
	"es": strings.Fields("paso pasaba pasado ocurrio hice hizo hicimos todo"),
}

// isDateWord reports whether texts of that time have the word: "March" and "2024", but not
// "last week".
func (p *parser) isDateWord(w string) bool {
	for _, sense := range []string{senseMonth, senseSeason, senseHoliday, senseDecade} {
		if _, ok := p.lex[sense][w]; ok {
			return true
		}
	}
	n, _ := splitNumber(w)
	return n > 31 || len(w) == 2 && (w[0] == 'q' || w[0] == 'h')
}

var stopWords = map[string][]string{
	"en": strings.Fields(`a an the of and or to in on at by for with from about as is are was were be been being am do does did done have has had having
		i me my mine we us our you your he him his she her it its they them their what which who whom whose where when why how that this these those there here
		will would shall should can could may might must not no so if than then too very just any some all tell show find give please know me ever`),
	"de": strings.Fields(`der die das den dem des ein eine einer einem einen eines und oder zu zum zur in im an am auf bei mit von vom fur uber ist sind war waren wird werden
		habe hast hat haben hatte hatten ich mir mich mein meine meinen meinem meiner wir uns unser unsere du dir dich er ihn ihm sie es ihr ihnen was wer wen wem wo wann warum wie
		welche welcher welches welchen nicht auch so dass als wenn da dort bitte zeig gib mal`),
	"fr": strings.Fields(`le la les l un une des du de d et ou a au aux en dans sur sous par pour avec est sont etait etaient ai as avons avez ont j je me m mon ma mes tu te t ton ta tes
		il elle on nous vous ils elles notre nos ce c cet cette ces que qu qui quoi quel quelle quels quelles ou quand comment pourquoi ne n pas plus se s y`),
	"es": strings.Fields(`el la los las un una unos unas de del y o a al en por para con sin es son era eran fue he has ha hemos han yo me mi mis tu te ti su sus se lo le les nos
		nuestro nuestra que quien quienes cual cuales cuanto cuando donde como no si este esta esto`),
}

var filters = map[string]string{
	"kind": "kind", "type": "kind", "source": "source", "in": "source", "tag": "tag", "tags": "tag", "label": "tag",
	"before": "before", "until": "before", "after": "after", "since": "after", "date": "date", "on": "date", "during": "date",
	"author": "person", "by": "person", "from": "person", "person": "person",
}

var kinds = map[string]string{
	"memories": "memory", "documents": "document", "doc": "document", "docs": "document", "file": "document", "files": "document",
	"posts": "post", "journals": "journal", "note": "journal", "notes": "journal", "threads": "thread", "session": "thread", "sessions": "thread",
}

func (p *parser) readOperators() {
	for i := 0; i < len(p.list); {
		n := p.readFilter(i)
		if n == 0 {
			n = p.readQuote(i)
		}
		i += max(n, 1)
	}
	for i := range p.list {
		p.readAffix(i)
	}
}

// readFilter reads "tag:x" and returns its number of tokens.
func (p *parser) readFilter(i int) int {
	field := filters[p.tokenAt(i).text]
	if field == "" || !p.isMark(i+1, ":") || !p.isTight(i+1) || !p.isTight(i+2) || i > 0 && !p.list[i].space {
		return 0
	}
	value, n := p.readValue(i + 2)
	if value == "" || !p.applyFilter(field, value) {
		return 0
	}
	p.markUses(i, 2+n, operator)
	return 2 + n
}

// readValue reads up to the next space, or in quotes.
func (p *parser) readValue(i int) (text string, n int) {
	if p.isMark(i, `"`) {
		if end := p.closingQuote(i); end > 0 {
			return strings.TrimSpace(p.sourceText(i+1, end-i-1)), end + 1 - i
		}
	}
	n = 1
	for i+n < len(p.list) && !p.list[i+n].space && n < 64 {
		n++
	}
	for n > 1 && p.isMark(i+n-1, ",.;!?)") {
		n--
	}
	return p.sourceText(i, n), n
}

// closingQuote returns the closing quotation mark, or 0.
func (p *parser) closingQuote(i int) int {
	for k := i + 1; k < len(p.list) && k < i+64; k++ {
		if p.isMark(k, `"`) {
			return k
		}
	}
	return 0
}

func (p *parser) applyFilter(field, value string) bool {
	switch field {
	case "kind":
		k := lexical.Fold(value)
		if other, ok := kinds[k]; ok {
			k = other
		}
		addOnce(&p.q.Kinds, k)
	case "source":
		addOnce(&p.q.Sources, value)
	case "tag":
		addOnce(&p.q.Tags, strings.TrimPrefix(value, "#"))
	case "person":
		addOnce(&p.q.People, value)
	default:
		return p.limitTime(field, value)
	}
	return true
}

func addOnce(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// maxDate limits an operator's date in bytes.
const maxDate = 60

// limitTime narrows the range. A period counts from its start: after:2024 includes 2024.
func (p *parser) limitTime(field, value string) bool {
	if len(value) > maxDate {
		return false
	}
	inner := newParser(value, p.now)
	inner.setLanguage(p.lang)
	s, n := inner.readPeriod(0, true)
	if n == 0 || n < len(inner.list) {
		return false
	}
	r := Range{From: s.from, To: s.to}
	switch field {
	case "before":
		r = Range{To: s.from}
	case "after":
		r = Range{From: s.from}
	}
	q := &p.q.Time
	q.From, q.To, q.Strict = maxTime(q.From, r.From), minTime(q.To, r.To), true
	if q.Text != "" {
		q.Text += ", "
	}
	q.Text += field + ":" + value
	return true
}

func (p *parser) readQuote(i int) int {
	if !p.isMark(i, `"`) || p.list[i].uses != 0 {
		return 0
	}
	end := p.closingQuote(i)
	if end < i+2 {
		return 0
	}
	phrase := strings.Join(strings.Fields(p.sourceText(i+1, end-i-1)), " ")
	p.markUses(i, 1, operator)
	p.markUses(end, 1, operator)
	if p.isMark(i-1, "-") && p.isTight(i) && (i < 2 || p.list[i-1].space) {
		p.markUses(i-1, end+2-i, operator)
		p.q.Words = append(p.q.Words, Word{Text: phrase, Not: true})
		return end + 1 - i
	}
	if p.isMark(i-1, "+") && p.isTight(i) {
		p.markUses(i-1, 1, operator)
	}
	p.markUses(i+1, end-i-1, quoted)
	addOnce(&p.q.Phrases, phrase)
	return end + 1 - i
}

// readAffix reads "-not", "+must" and "prefix*".
func (p *parser) readAffix(i int) {
	t := &p.list[i]
	if t.kind == mark || t.uses != 0 {
		return
	}
	if p.isMark(i+1, "*") && p.isTight(i+1) && len(t.text) > 1 && (i+2 >= len(p.list) || p.list[i+2].space) {
		t.uses |= prefix
		p.markUses(i+1, 1, operator)
	}
	if !p.isMark(i-1, "+-") || !p.isTight(i) || !p.list[i-1].space || t.kind == number {
		return
	}
	p.markUses(i-1, 1, operator)
	if p.list[i-1].text == "+" {
		t.uses |= must
		return
	}
	t.uses |= not | operator
}
