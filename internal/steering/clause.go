package steering

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
)

// parseClause parses one clause. A clause that may have only known words precedes one with free text.
func (p clauseParser) parseClause(words []word) (c clause, ok bool) {
	bare := trimWords(words, "filler", "sequel")
	c.sequel = slices.ContainsFunc(words[:len(words)-len(bare)], func(w word) bool { return isWord(w.norm, "sequel") })
	if len(bare) == 0 {
		return c, false
	}
	for _, parse := range []func([]word) (clause, bool){
		p.parseUndo, p.parseBudget, p.parseAnswer, p.parseRank, p.parseDrop, p.parseSource, p.parseUrgency, p.parseQuestion, p.parseFact,
	} {
		if got, ok := parse(words); ok {
			got.sequel = c.sequel
			return got, true
		}
	}
	return c, false
}

func bagOf(words []word) bag {
	b := make(bag)
	for _, w := range words {
		b[w.norm] = true
	}
	return b
}

func requestClause(r Request) (clause, bool) { return clause{requests: []Request{r}}, true }

func (p clauseParser) parseUndo(words []word) (clause, bool) {
	b := bagOf(words)
	if !b.hasAny("undo") || !b.isWithin("undo", "undone", "filler") {
		return clause{}, false
	}
	return requestClause(Request{Order: Undo})
}

// parseAnswer parses a request for the answer. "Stop" and "the answer" alone are weak: they may mean many
// things.
func (p clauseParser) parseAnswer(words []word) (c clause, ok bool) {
	b := bagOf(words)
	if b.hasAny("conclude") && !b.hasAny("negation") && b.isWithin("conclude", "ending", "stop", "weakanswer", "soon", "filler", "sequel", "joiner") {
		return requestClause(Request{Order: ponder.AnswerNow})
	}
	if b.hasAny("negation") || !b.isWithin("answer", "result", "obtain", "weakanswer", "soon", "filler", "sequel", "joiner") {
		return c, false
	}
	rest := trimWords(words, "opener")
	isClear := len(rest) > 0 && isWord(rest[0].norm, "answer") || b.hasAny("result") && asksFor(words, rest)
	if !isClear && !b.hasAny("weakanswer", "result") {
		return c, false
	}
	return clause{requests: []Request{{Order: ponder.AnswerNow}}, weak: !isClear}, true
}

// asksFor reports whether words begin with "give me" or "I need": "I will tell you the answer" does not
// request it.
func asksFor(words, rest []word) bool {
	if len(rest) > 0 && isWord(rest[0].norm, "give") {
		return true
	}
	own := trimWords(words, "sequel", "joiner")
	isEnglish := len(own) > 1 && own[0].norm == "i" && own[1].norm == "will"
	return len(own) > 1 && isWord(own[0].norm, "self") && isWord(own[1].norm, "need") && !isEnglish
}

// parseUrgency parses a remark about the clause before it, such as "it is urgent".
func (p clauseParser) parseUrgency(words []word) (clause, bool) {
	b := bagOf(words)
	return clause{urgent: true}, b.hasAny("modifier") && b.isWithin("modifier", "filler", "rankword")
}

// splitRefs takes the names of questions out of words.
func (p clauseParser) splitRefs(words []word) (ids []string, rest []word) {
	for i := 0; i < len(words); i++ {
		if questionID.MatchString(words[i].norm) {
			ids = append(ids, words[i].norm)
			continue
		}
		if n, ok := parseOrdinal(words[i].norm); ok && i+1 < len(words) && isWord(words[i+1].norm, "question") {
			ids, i = append(ids, "q"+strconv.Itoa(n)), i+1
			continue
		}
		if isWord(words[i].norm, "question") {
			at, found := i+1, false
			for at < len(words) {
				n, next, ok := parseNumber(words, at)
				if _, article := map[string]bool{"a": true, "an": true, "another": true}[words[at].norm]; !ok || article || n != float64(int(n)) || n < 1 {
					break
				}
				ids, at, found = append(ids, "q"+strconv.Itoa(int(n))), next, true
				if at+1 < len(words) && isWord(words[at].norm, "joiner") {
					if _, _, ok := parseNumber(words, at+1); ok {
						at++
					}
				}
			}
			if found {
				i = at - 1
				continue
			}
		}
		rest = append(rest, words[i])
	}
	return ids, rest
}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
	"erst": 1, "zweit": 2, "dritt": 3, "viert": 4, "fünft": 5, "sechst": 6, "siebt": 7, "siebent": 7, "acht": 8, "neunt": 9, "zehnt": 10,
}

var ordinalDigits = regexp.MustCompile(`^#?(\d{1,3})(st|nd|rd|th|\.)?$`)

func parseOrdinal(w string) (int, bool) {
	if n, ok := ordinals[w]; ok {
		return n, w != "acht"
	}
	if m := ordinalDigits.FindStringSubmatch(w); m != nil {
		n, err := strconv.Atoi(m[1])
		return n, err == nil && n > 0 && m[2] != ""
	}
	for _, ending := range []string{"en", "er", "es", "em", "e"} {
		if stem, ok := strings.CutSuffix(w, ending); ok && ordinals[stem] > 0 {
			return ordinals[stem], true
		}
	}
	return 0, false
}

// parseRank parses the priority of questions.
func (p clauseParser) parseRank(words []word) (c clause, ok bool) {
	ids, rest := p.splitRefs(words)
	if len(ids) == 0 {
		return c, false
	}
	priority := 0
	for i := 0; i < len(rest); i++ {
		n, next, ok := parseNumber(rest, i)
		if ok && !isWord(rest[i].norm, "filler") && n == float64(int(n)) && n >= 1 && n <= MaxPriority && priority == 0 {
			priority, rest = int(n), slices.Concat(rest[:i], rest[next:])
		}
	}
	b := bagOf(rest)
	isLow := b.hasAny("low") || b.hasAny("high") && b.hasAny("negation", "less")
	switch {
	case !b.isWithin("priority", "high", "low", "rankword", "filler", "negation", "joiner"):
		return c, false
	case priority > 0 && (!b.hasAny("priority") || b.hasAny("negation")):
		return c, false
	case priority > 0:
	case isLow && !(b.hasAny("low") && b.hasAny("negation")):
		priority = lowPriority
	case b.hasAny("high") && !b.hasAny("negation"):
		priority = MaxPriority
	default:
		return c, false
	}
	for _, id := range ids {
		c.requests = append(c.requests, Request{Order: ponder.RankQuestion, Question: id, Priority: priority})
	}
	return c, true
}

const lowPriority = 2

// parseDrop parses the removal of questions, which it finds by name or by their whole text.
func (p clauseParser) parseDrop(words []word) (c clause, ok bool) {
	ids, rest := p.splitRefs(words)
	if len(ids) == 0 {
		for i := 1; i < len(words); i++ {
			if id, ok := p.findQuestion(p.textOf(words[i:])); ok {
				ids, rest = []string{id}, words[:i]
				break
			}
		}
	}
	b := bagOf(rest)
	negated, drops := b.hasAny("negation"), b.hasAny("drop")
	if len(ids) == 0 || !b.isWithin("drop", "attend", "dropword", "filler", "negation", "joiner", "question") || negated == drops || negated && !b.hasAny("attend") {
		return c, false
	}
	for _, id := range ids {
		c.requests = append(c.requests, Request{Order: ponder.DropQuestion, Question: id})
	}
	return c, true
}

// findQuestion returns the id of the question with a text, without its punctuation.
func (p clauseParser) findQuestion(text string) (string, bool) {
	for _, q := range p.view.Questions {
		if strings.EqualFold(plainText(textkit.OneLine(q.Text)), plainText(text)) {
			return q.ID, true
		}
	}
	return "", false
}

// textOf returns the text of adjacent words.
func (p clauseParser) textOf(words []word) string {
	if len(words) == 0 {
		return ""
	}
	return p.text[words[0].start:words[len(words)-1].end]
}

// plainText returns text without the punctuation at its end.
func plainText(text string) string { return strings.TrimRight(text, ".,;:!?… ") }

// parseSource parses the preference or exclusion of sources.
func (p clauseParser) parseSource(words []word) (c clause, ok bool) {
	var sources []string
	var rest []word
	for _, w := range words {
		if p.isSource(w) {
			sources = append(sources, w.bare)
		} else {
			rest = append(rest, w)
		}
	}
	b := bagOf(rest)
	negated := b.hasAny("negation")
	if len(sources) == 0 || !b.isWithin("ban", "trust", "pin", "sourceword", "filler", "negation") {
		return c, false
	}
	order := ponder.PinSource
	switch bans := b.hasAny("ban"); {
	case bans && negated, !bans && !b.hasAny("trust", "pin"):
		return c, false
	case bans, negated && b.hasAny("trust"):
		order = ponder.BanSource
	case negated, !b.hasAny("pin"): // "use a.md" may mean many things
		return c, false
	}
	for _, s := range sources {
		c.requests = append(c.requests, Request{Order: order, Source: s})
	}
	return c, true
}

// A lead is the start of a clause with free text.
type lead struct {
	words  string // a regular expression of the start, in lower case
	order  ponder.SteerOp
	whole  bool // the whole clause is the text
	urgent bool
}

// leads are tried in order.
var leads = compileLeads([]lead{
	{words: `(?:focus|concentrate|zero in|put (?:the|your|more) (?:focus|emphasis|weight)) (?:more |mainly |mostly |especially |only |first |further )?(?:up)?on`, order: ponder.AddQuestion, whole: true, urgent: true},
	{words: `(?:pay|give) (?:more |close |special )?attention to|emphasi[sz]e|prioriti[sz]e|look more closely (?:at|into)`, order: ponder.AddQuestion, whole: true, urgent: true},
	{words: `(?:konzentrier|fokussier)e? dich (?:mehr |vor allem |besonders |stärker )?auf|achte (?:mehr |vor allem |besonders |stärker )?auf|leg(?:e)? (?:den|mehr) (?:schwerpunkt|fokus|gewicht|wert) auf|priorisiere`, order: ponder.AddQuestion, whole: true, urgent: true},
	{words: `(?:note|remember|keep in mind|bear in mind|know|assume|mind|be aware|consider it (?:true|given)|take (?:it )?(?:as given|for granted))(?:,? that|:)`, order: ponder.Correct},
	{words: `(?:beachte|bedenke|merke? dir|denk(?:e)? daran|wisse|nimm an|berücksichtige|geh(?:e)? davon aus)(?:,? dass|:)`, order: ponder.Correct},
	{words: `(?:correction|fact|richtigstellung|korrektur|fakt)(?::)`, order: ponder.Correct},
	{words: `(?:actually|in fact|in reality|in truth|by the way|übrigens|tatsächlich|eigentlich|in wahrheit|in wirklichkeit)`, order: ponder.Correct, whole: true},
	{words: `(?:add|pose|raise|include) (?:the |a |another |this |one more )?(?:new |further )?question:?|(?:füge?|nimm|stell(?:e)?) (?:die |eine |diese |noch eine )?(?:neue |weitere )?frage(?: hinzu| auf)?:?`, order: ponder.AddQuestion},
	{words: `(?:ask|find out|figure out|work out|look into|look at|investigate|explore|examine|research|check|explain|describe|compare|tell me|clarify|determine|dig into|study|think about|consider)`, order: ponder.AddQuestion},
	{words: `(?:frag(?:e)?|finde? heraus|find heraus|untersuch(?:e)?|prüf(?:e)?|klär(?:e)?|kläre|erforsch(?:e)?|erklär(?:e)?|beschreib(?:e)?|vergleich(?:e)?|recherchier(?:e)?|ergründe|überprüfe|denk(?:e)? (?:auch |noch )?über)`, order: ponder.AddQuestion},
})

type compiledLead struct {
	lead
	start *regexp.Regexp
}

func compileLeads(list []lead) (out []compiledLead) {
	for _, l := range list {
		out = append(out, compiledLead{l, regexp.MustCompile(`^(?:` + l.words + `)(?:[,:]? |[,:]|$)`)})
	}
	return out
}

// separable has the verb and the particle of questions such as "schau dir die Kosten an".
// focusLast has the verb of a focus at the end, as after "kannst du".
var focusLast = regexp.MustCompile(`^dich (?:\S+ ){0,2}auf .+ (?:konzentrieren|fokussieren)$`)

var separable = regexp.MustCompile(`^(?:schau(?:e)?|sieh) dir (?:auch |noch )?(.+?)(?: genauer| näher)? an$`)

// parseQuestion parses a clause that begins like a question or a focus.
func (p clauseParser) parseQuestion(words []word) (clause, bool) {
	return p.parseLead(words, ponder.AddQuestion)
}

func (p clauseParser) parseLead(words []word, order ponder.SteerOp) (c clause, ok bool) {
	if whole := plainText(p.textOf(words)); order == ponder.AddQuestion && focusLast.MatchString(whole) {
		return requestClause(Request{Order: order, Content: whole, Priority: MaxPriority})
	}
	if order != ponder.Correct { // "in fact" begins with a filler
		words = trimWords(words, "filler", "joiner")
	}
	if len(words) == 0 {
		return c, false
	}
	text := plainText(p.textOf(words))
	lower := strings.ToLower(text)
	if len(lower) != len(text) { // some letters change their length
		return c, false
	}
	if m := separable.FindStringSubmatchIndex(lower); m != nil && order == ponder.AddQuestion {
		return requestClause(Request{Order: order, Content: text[m[2]:m[3]]})
	}
	for _, l := range leads {
		m := l.start.FindStringIndex(lower)
		if l.order != order || m == nil {
			continue
		}
		content := trimFiller(strings.TrimLeft(text[m[1]:], " ,:"))
		if !textkit.HasWords(content) || isWord(strings.ToLower(content), "filler") {
			return c, false
		}
		r := Request{Order: order, Content: content}
		if l.whole {
			r.Content = text
		}
		if strings.HasPrefix(p.text[words[len(words)-1].end:], "?") && order == ponder.AddQuestion && !l.whole {
			r.Content += "?"
		}
		if l.urgent {
			r.Priority = MaxPriority
		}
		return requestClause(r)
	}
	return c, false
}

// trimFiller removes words such as "also" from the start of a text.
func trimFiller(text string) string {
	for {
		first, rest, ok := strings.Cut(text, " ")
		if !ok || !isWord(strings.ToLower(plainText(first)), "also") {
			return text
		}
		text = strings.TrimLeft(rest, " ,:")
	}
}

// contrast matches a statement that denies another: "signed in 2021, not in 2019".
var contrast = regexp.MustCompile(`(?i)^\P{Zs}+ \P{Zs}+ .*, (?:and |und )?(?:not|nicht|kein|keine) [^,]+$`)

// parseFact parses a correction: by its lead, or a statement that denies another.
func (p clauseParser) parseFact(words []word) (clause, bool) {
	if c, ok := p.parseLead(words, ponder.Correct); ok {
		return c, true
	}
	text := plainText(p.textOf(words))
	if !contrast.MatchString(text) || isWord(words[0].norm, "negation", "neutral", "answer", "obtain", "stop", "drop", "ban", "pin", "trust", "attend", "grow", "shrink", "bound", "you", "also", "undo") {
		return clause{}, false
	}
	return requestClause(Request{Order: ponder.Correct, Content: text})
}
