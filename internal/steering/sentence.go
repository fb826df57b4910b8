package steering

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder"
	"ponder/internal/textkit"
)

// Undo is the order that reverts the newest change. [View.Commands] replaces it by the commands that
// revert.
const Undo ponder.SteerOp = "undo"

// Interpret converts a sentence in plain words into requests by rules. It returns false if the rules
// do not understand all of it: then no part of it may be applied.
//
// The rules know classes of words ([lexicon]), numbers with units, names of questions and sources. A
// clause of limits, questions, sources or the answer may have only words that the rules know, so that
// no clause changes more than it says. Only clauses that begin with a verb such as "ask" or "focus on"
// take free text.
func Interpret(sentence string, v View) ([]Request, bool) {
	if len(sentence) > MaxText || !utf8.ValidString(sentence) {
		return nil, false
	}
	text := textkit.OneLine(sentence)
	words := splitWords(text)
	p := clauseParser{view: v, text: text}
	if !strings.HasSuffix(text, "?") {
		return p.parseSentence(words)
	}
	if len(words) > 2 && isWord(words[0].norm, "polite") && isWord(words[1].norm, "you") { // "could you ...?"
		if list, ok := p.parseSentence(words[2:]); ok {
			return list, true
		}
	}
	isOther := func(r Request) bool { return r.Order != ponder.AddQuestion }
	if list, ok := p.parseSentence(words); ok && !slices.ContainsFunc(list, isOther) {
		return list, true
	}
	return []Request{{Order: ponder.AddQuestion, Content: text}}, textkit.HasWords(text)
}

// A word is a word of a sentence with its place.
type word struct {
	bare       string // without punctuation around it
	norm       string // bare in lower case
	start, end int    // of bare
	mark       string // the punctuation after it
}

const (
	opening = "\"'“„«»‚(["
	closing = "\"'”“»«’)],.;:!?…"
)

func splitWords(text string) (list []word) {
	at := 0
	for part := range strings.FieldsSeq(text) {
		at += strings.Index(text[at:], part)
		bare := strings.TrimLeft(part, opening)
		start := at + len(part) - len(bare)
		bare = strings.TrimRightFunc(bare, func(r rune) bool { return strings.ContainsRune(closing, r) })
		mark := part[start-at+len(bare):]
		at += len(part)
		if strings.ContainsFunc(bare, func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '$' || r == '¢' || r == '&'
		}) {
			list = append(list, word{bare: bare, norm: strings.ToLower(strings.ReplaceAll(bare, "’", "'")), start: start, end: start + len(bare), mark: mark})
		} else if len(list) > 0 {
			list[len(list)-1].mark += part // a dash
		}
	}
	return list
}

// A clause is a parsed part of a sentence.
type clause struct {
	requests []Request
	weak     bool // it requests the answer only beside a clause that does so clearly
	sequel   bool // it follows the previous clause in time
	urgent   bool // it says that the previous clause is urgent
}

// A clauseParser parses the clauses of one sentence for a session.
type clauseParser struct {
	view View
	text string
}

// parseSentence parses all words as clauses, or returns false.
func (p clauseParser) parseSentence(words []word) ([]Request, bool) {
	for len(words) > 1 && words[0].mark != "" && isWord(words[0].norm, "interjection") { // "no, revert that"
		words = words[1:]
	}
	clauses, ok := p.parseClauses(words, maxClauses)
	if !ok {
		return nil, false
	}
	return p.combineClauses(clauses)
}

const maxClauses = 12

// parseClauses splits words into clauses, the first as short as possible.
func (p clauseParser) parseClauses(words []word, most int) ([]clause, bool) {
	words = trimWords(words, "joiner")
	if len(words) == 0 || most == 0 {
		return nil, false
	}
	for i := 1; i < len(words); i++ {
		if words[i-1].mark == "" && !isWord(words[i].norm, "joiner", "sequel") {
			continue
		}
		c, ok := p.parseClause(words[:i])
		if !ok {
			continue
		}
		if rest, ok := p.parseClauses(words[i:], most-1); ok {
			return append([]clause{c}, rest...), true
		}
	}
	c, ok := p.parseClause(words)
	return []clause{c}, ok
}

// trimWords returns words without those of the classes at their start.
func trimWords(words []word, classes ...string) []word {
	for len(words) > 0 && isWord(words[0].norm, classes...) {
		words = words[1:]
	}
	return words
}

// combineClauses joins the requests of clauses. An answer after a limit is the sequel of the limit, and
// adds nothing to it.
func (p clauseParser) combineClauses(clauses []clause) (list []Request, ok bool) {
	clear := slices.ContainsFunc(clauses, func(c clause) bool {
		return !c.weak && len(c.requests) == 1 && c.requests[0].Order == ponder.AnswerNow
	})
	for _, c := range clauses {
		switch last := len(list) - 1; {
		case c.urgent:
			if last < 0 || list[last].Order != ponder.AddQuestion {
				return nil, false
			}
			list[last].Priority = MaxPriority
		case c.requests[0].Order == ponder.AnswerNow:
			isBudget := last >= 0 && list[last].Order == ponder.SetBudget
			switch {
			case isBudget && p.limitRest(&list[last]):
			case c.sequel, isBudget, c.weak && !clear:
				return nil, false
			case last >= 0 && list[last].Order == ponder.AnswerNow:
			case slices.ContainsFunc(list, func(r Request) bool { return r.Order == ponder.AddQuestion || r.Order == ponder.RankQuestion }):
				return nil, false
			default:
				list = append(list, c.requests...)
			}
		default:
			if last >= 0 && list[last].Order == ponder.AnswerNow {
				return nil, false
			}
			list = append(list, c.requests...)
		}
	}
	return mergeLimits(list)
}

// limitRest makes more time a limit from now on, because the answer follows it.
func (p clauseParser) limitRest(r *Request) bool {
	more := budgetAmounts(r.More)
	set, used := budgetAmounts(r.Limits), budgetAmounts(p.view.Used)
	for i, n := range more {
		if n > 0 {
			set[i] = used[i] + n
		}
	}
	r.Limits, r.More = budgetOf(set), ponder.Budget{}
	return true
}

// mergeLimits joins the limits of all requests in the first, unless two of them set the same one.
func mergeLimits(list []Request) ([]Request, bool) {
	var out []Request
	first := -1
	for _, r := range list {
		if r.Order != ponder.SetBudget || first < 0 {
			if r.Order == ponder.SetBudget {
				first = len(out)
			}
			out = append(out, r)
			continue
		}
		set, more := budgetAmounts(out[first].Limits), budgetAmounts(out[first].More)
		add, addMore := budgetAmounts(r.Limits), budgetAmounts(r.More)
		for i := range set {
			if (set[i] != 0 || more[i] != 0) && (add[i] != 0 || addMore[i] != 0) {
				return nil, false
			}
			set[i], more[i] = set[i]+add[i], more[i]+addMore[i]
		}
		out[first].Limits, out[first].More = budgetOf(set), budgetOf(more)
	}
	return out, len(out) > 0
}

var (
	questionID = regexp.MustCompile(`^q\d+$`)
	quoteID    = regexp.MustCompile(`^e\d+$`)
	fileName   = regexp.MustCompile(`^[\pL\d_~.-]*\pL[\pL\d_~-]*\.\pL[\pL\d]{0,4}$`)
)

// isSource reports whether a word names a source: a URL, a path, a file name, an id of a quotation or
// a source that the session has.
func (p clauseParser) isSource(w word) bool {
	return quoteID.MatchString(w.norm) || strings.Contains(w.norm, "://") || strings.HasPrefix(w.norm, "www.") ||
		strings.Contains(w.bare, "/") && !strings.HasSuffix(w.bare, "/h") || fileName.MatchString(w.bare) || slices.Contains(p.view.Sources, w.bare)
}
