package query

import (
	"slices"
	"strings"
)

// maxEvent bounds the tokens of an event.
const maxEvent = 12

// anchors finds an event that the time would be known by: "before the launch".
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

// anchorWords has, by language, the words that lead in an event.
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

// anchorWord returns the relation of the longest phrase at i that leads in an event.
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

// idiom reports whether the word at i belongs to the verb before it: "look after".
func (p *parser) idiom(i int) bool {
	switch before := strings.TrimSuffix(strings.TrimSuffix(p.at(i-1).text, "ing"), "s"); before {
	case "look", "looked", "name", "named", "nam", "call", "called", "take", "tak", "took", "ask", "asked", "run", "running", "runn", "go", "went", "day", "morning", "soon",
		"long", "shortly", "ever", "even", "never", "inquire", "sought", "lust", "modelled", "suche", "suchen", "suchst", "such", "frag", "frage", "angst", "schutz", "riecht", "je", "date", "thread":
		return true
	}
	return false
}

// event returns how many tokens behind i speak of the event: up to a sign, or a word
// that begins something else.
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

// endsEvent reports whether a word behind an event does not belong to it.
func endsEvent(w string) bool {
	switch w {
	case "about", "regarding", "concerning", "what", "who", "which", "how", "when", "where", "why", "did", "do", "does", "were", "are", "is", "was", "and", "or", "but", "that",
		"uber", "wegen", "und", "oder", "sur", "et", "ou", "sobre", "y", "o", "according":
		return true
	}
	return false
}

// articles lead in an event of which there is just one.
var articles = strings.Fields(`the my our your his her their its this that a an der die das dem den des meine meiner meinem meinen unser unserer unserem
	le la les l mon ma mes notre el los las mi mis nuestro nuestra lo`)

// subjects begin a clause: "before I moved".
var subjects = strings.Fields("i we he she they you it ich wir er sie es je j nous il elle on yo")

// bounds returns the tokens of an event without its article. Without an article,
// a clause or a name it is taken for one only if the query ends with it.
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
