package structured

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/llm"
)

const (
	minLineWords     = 3 // of a line that may be dropped
	minSentenceWords = 4 // of a sentence that may be dropped from a line
	wordsPerNew      = 3 // words of a repetition for each new word that it needs before it
	codeIndent       = 4
)

// DropRepeats returns a text without repetition. A line or sentence is a repetition if the text has it
// already, apart from marks such as "[e3]" and numbers of list items, and hardly a new word and no new
// heading stand between. A single repetition may be meant, and stays. A refrain, code, tables and lists
// of numbers stay, too. A text without repetition stays as it is.
func DropRepeats(text string) string {
	text = llm.TrimLoop(text)
	if strings.Count(text, "\n") == 0 && len(splitSentences(text)) <= maxMeant+1 {
		return text
	}
	lines := splitLines(text)
	r := repeats{seen: make(map[string]bool), keys: make(map[string]occurrences)}
	for i := range lines {
		r.addLine(lines, i)
	}
	return joinKept(lines, r.dropped(lines))
}

// A textLine is a line of an answer.
type textLine struct {
	text      string // with its end
	bare      string
	isFixed   bool // code or a part of a table
	sentences []sentence
}

type sentence struct {
	text      string
	key       string // its words; "" if it has no letters
	isKnown   bool   // the text had it before
	isRepeat  bool
	canBeGone bool // it is long enough to be dropped
}

// splitLines splits a text after line ends, and finds code and tables.
func splitLines(text string) []textLine {
	var lines []textLine
	code, listed := false, false
	for line := range strings.Lines(text) {
		l := textLine{text: line, bare: strings.TrimSpace(line)}
		fence := strings.HasPrefix(l.bare, "```") || strings.HasPrefix(l.bare, "~~~")
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		isItem := bullet.MatchString(line)
		isBlock := !listed && !isItem && l.bare != "" && (indent >= codeIndent || line[0] == '\t')
		l.isFixed = code || fence || isBlock || strings.HasPrefix(l.bare, "|")
		if code = code != fence; l.bare != "" && (isItem || indent == 0) {
			listed = isItem
		}
		lines = append(lines, l)
	}
	return lines
}

// joinKept joins lines without the dropped ones, and without the blank lines that these leave.
func joinKept(lines []textLine, drop []bool) string {
	var b strings.Builder
	gap, gone := true, false // the output ends with a blank line; lines were dropped since
	for i, l := range lines {
		switch {
		case drop[i]:
			gone = true
			continue
		case l.bare == "" && gone && gap:
			continue
		}
		b.WriteString(l.text)
		gap, gone = l.bare == "", gone && l.bare == ""
	}
	if gone {
		return strings.TrimRightFunc(b.String(), unicode.IsSpace)
	}
	return b.String()
}

// repeats finds repetitions in the lines of a text.
type repeats struct {
	seen  map[string]bool // words
	fresh int             // number of new words so far
	heads int             // number of new headings so far
	keys  map[string]occurrences
}

// occurrences are those of one line or sentence.
type occurrences struct {
	fresh, heads int // at the last one
	repeats      int
}

func (r *repeats) addLine(lines []textLine, i int) {
	l := &lines[i]
	if l.isFixed {
		r.addWords(splitWords(l.text))
		return
	}
	parts, heading := splitSentences(l.text), isHeading(lines, i)
	if heading {
		parts = []string{l.text}
	}
	words, lettered := make([][]string, len(parts)), 0
	for j, text := range parts {
		if words[j] = repeatWords(text); hasLetters(words[j]) {
			lettered++
		}
	}
	least := minLineWords
	if lettered > 1 {
		least = minSentenceWords
	}
	for j, text := range parts {
		s := sentence{text: text, canBeGone: len(words[j]) >= least || hasUnspaced(text)}
		if hasLetters(words[j]) {
			s.key = joinWords(words[j])
			r.addSentence(&s, words[j], heading)
		}
		l.sentences = append(l.sentences, s)
	}
}

func (r *repeats) addSentence(s *sentence, words []string, heading bool) {
	o, known := r.keys[s.key]
	r.addWords(words)
	switch {
	case !known && heading && !isOnlyLabels(words):
		r.heads++
	case known:
		s.isKnown = true
		s.isRepeat = s.canBeGone && r.heads == o.heads && r.fresh-o.fresh <= len(words)/wordsPerNew
	}
	if s.isRepeat {
		o.repeats++
	}
	o.fresh, o.heads = r.fresh, r.heads
	r.keys[s.key] = o
}

func (r *repeats) addWords(words []string) {
	for _, w := range words {
		if !r.seen[w] && strings.ContainsFunc(w, unicode.IsLetter) {
			r.seen[w] = true
			r.fresh++
		}
	}
}

// maxMeant is the number of repetitions of a line or sentence that may be meant.
const maxMeant = 1

// dropped returns which lines go, and removes repeated sentences from the others. With a repeated line go
// the lines around it that say nothing new.
func (r *repeats) dropped(lines []textLine) []bool {
	drop := make([]bool, len(lines))
	for i := range lines {
		l := &lines[i]
		var kept strings.Builder
		left, gone := l.isFixed, false
		for _, s := range l.sentences {
			if s.isRepeat && r.keys[s.key].repeats > maxMeant {
				gone = true
				continue
			}
			left = left || s.key != "" && !s.isKnown
			kept.WriteString(s.text)
		}
		if drop[i] = gone && !left; gone && left {
			l.text = keepEnd(kept.String(), l.text)
		}
	}
	within := false
	for i := range lines {
		within = drop[i] || within && (lines[i].bare == "" || lines[i].isStale() || isOnlyMarks(lines[i].bare))
		drop[i] = within && lines[i].bare != ""
	}
	for i, l := range slices.Backward(lines) {
		within = drop[i] || within && (l.bare == "" || l.isStale())
		drop[i] = within && l.bare != ""
	}
	return drop
}

// isStale reports whether the text had all words of a line before.
func (l *textLine) isStale() bool {
	said := false
	for _, s := range l.sentences {
		if s.key != "" && !s.isKnown {
			return false
		}
		said = said || s.key != ""
	}
	return said
}

// keepEnd returns the rest of a line with the line's own end.
func keepEnd(rest, line string) string {
	rest = strings.TrimRightFunc(rest, unicode.IsSpace)
	return rest + line[len(strings.TrimRightFunc(line, unicode.IsSpace)):]
}

// isHeading reports whether a line heads those below it: it has a mark of a heading, ends with a colon, is
// bold, or is an item with an item below it.
func isHeading(lines []textLine, i int) bool {
	bare := lines[i].bare
	item := TrimBullet(bare)
	switch {
	case bare == "":
		return false
	case bare[0] == '#', strings.HasSuffix(strings.Trim(bare, "*_ "), ":"):
		return true
	case strings.HasPrefix(item, "**") && strings.HasSuffix(item, "**"):
		return true
	}
	if item == bare || i+1 == len(lines) {
		return false
	}
	next := lines[i+1]
	return indentOf(next.text) > indentOf(lines[i].text) && TrimBullet(next.bare) != next.bare
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// textMark matches marks that say nothing: citations, ids, and verdicts of research.
var textMark = regexp.MustCompile(`(?i)[\[【(](?:[eqc]?\d{1,6}(?:\s*[,;–-]\s*[eqc]?\d{1,6})*|unverified|partly supported|contradicted(?: by \d{1,6})?)[\])】]|^\W*[eqc]\d{1,6}\b`)

// startID matches an id at the start of a text.
var startID = regexp.MustCompile(`(?i)^\W{0,3}[eqc]\d{1,6}\b`)

// repeatWords returns the words of a text without marks and without the number of a list item.
func repeatWords(text string) []string {
	text = TrimBullet(strings.TrimSpace(text))
	if strings.ContainsAny(text, "[(【") || startID.MatchString(text) {
		text = textMark.ReplaceAllString(text, " ")
	}
	return splitWords(text)
}

func hasLetters(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.ContainsFunc(w, unicode.IsLetter) })
}

// maxAddition is the number of words from which a longer text adds something.
const maxAddition = 4

// A TextKey is the words of a text without ids, marks and numbers that stand alone.
type TextKey string

// NewTextKey returns the TextKey of a text.
func NewTextKey(text string) TextKey { return TextKey(repeatKey(text)) }

// IsRepetition reports whether a text says hardly more than an earlier one in the same words.
func (k TextKey) IsRepetition(earlier TextKey) bool {
	if strings.HasPrefix(string(earlier), string(k)) {
		return true
	}
	rest, longer := strings.CutPrefix(string(k), string(earlier))
	return longer && strings.TrimSpace(string(earlier)) != "" && len(strings.Fields(rest)) < maxAddition
}

// repeatKey returns the words of a text of several sentences, of those that have letters.
func repeatKey(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		for _, s := range splitSentences(line) {
			if words := repeatWords(s); hasLetters(words) {
				all = append(all, words...)
			}
		}
	}
	if all == nil {
		all = splitWords(text)
	}
	return joinWords(all)
}

// splitSentences splits a line after sentences, each with the white space behind it. The number of a list
// item is a part of its first sentence.
func splitSentences(line string) (list []string) {
	if isSingleSentence(line) {
		return []string{line}
	}
	start, item := 0, len(bullet.FindString(line))
	for _, at := range sentenceEnd.FindAllStringIndex(line, -1) {
		if item < at[1] && at[1] < len(line) {
			list = append(list, line[start:at[1]])
			start = at[1]
		}
	}
	return append(list, line[start:])
}

// isSingleSentence reports whether the only mark that may end a sentence is the last one of a line. It is
// faster than sentenceEnd.
func isSingleSentence(line string) bool {
	for i, r := range line {
		if strings.ContainsRune(".!?…。！？", r) {
			return strings.TrimSpace(line[i+utf8.RuneLen(r):]) == ""
		}
	}
	return true
}

var sentenceEnd = regexp.MustCompile(`[.!?…]["'”’)\]*_]*\s+|[。！？]["'”’)\]]*\s*`)
