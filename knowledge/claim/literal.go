package claim

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

// Minimum length for quoted text to count as a quotation. Shorter text may be a name
// or irony.
const (
	leastQuotedWords   = 5
	leastQuotedLetters = 20
	leastUnspaced      = 12 // letters, in scripts without spaces
	leastPart          = 8  // bytes between two ellipses
)

// countable is the largest unitless integer that needs no source: a writer may count
// items.
const countable = 12

// A Wording is the literal text and figures of quotes, by evidence ID. Text under the
// ID "" supports every sentence.
type Wording map[string]*literal

type literal struct {
	letters string
	text    string
	read    []reading
	parts   []float64 // counts that the quotes imply
}

// Add appends a quote and its context to id.
func (w Wording) Add(id, text string) {
	text = textkit.Prefix(text, maxQuote)
	l := &literal{letters: bareLetters(text) + "\n"}
	if bare := asides.ReplaceAllString(text, " "); bare != text {
		l.letters += bareLetters(bare) + "\n"
	}
	if joined := regrouped(text); joined != text {
		text += "\n" + joined
	}
	l.text = text + "\n"
	for _, at := range unitsIn(text) {
		l.read = append(l.read, readSentence(text, at, ""))
		if said := text[at.start:at.end]; unspelled(said) != said {
			l.read = append(l.read, readSentence(unspelled(said), span{0, len(unspelled(said))}, ""))
		}
	}
	lexical.Tokens(text, func(t lexical.Token) {
		if part, ok := shareWords[lexical.Fold(text[t.Start:t.End])]; ok && !slices.Contains(l.parts, part) {
			l.parts = append(l.parts, part)
		}
	})
	l.add(w[id])
	w[id] = l
}

// Unfounded returns a quotation, number or year in digits that none of the cited
// quotes has. It returns "" if there is none, or if a citation is unknown. Unlike
// Verify it accepts paraphrases, and numbers in another notation, grouping, scale or
// rounding. Text after the last citation is the writer's own and is not checked.
func (w Wording) Unfounded(text string, s *Sentence) string {
	if len(s.Cites) == 0 {
		return ""
	}
	var all literal
	all.add(w[""])
	for _, id := range s.Cites {
		if w[id] == nil {
			return ""
		}
		all.add(w[id])
	}
	return all.unfounded(covered(text[s.Start:s.End]))
}

func (l *literal) add(o *literal) {
	if o != nil {
		l.letters, l.text = l.letters+o.letters, l.text+o.text
		l.read, l.parts = append(l.read, o.read...), append(l.parts, o.parts...)
	}
}

func (l *literal) unfounded(said string) string {
	for _, q := range quotations(said) {
		for _, part := range gap.Split(q, -1) { // at omissions
			if letters := bareLetters(part); len(letters) >= leastPart && !strings.Contains(l.letters, letters) {
				return "“" + q + "”"
			}
		}
	}
	if l.lacks(said) == "" {
		return ""
	}
	return l.lacks(regrouped(said))
}

func (l *literal) lacks(said string) string {
	r := readSentence(said, span{0, len(said)}, "")
	for _, f := range r.figures {
		if !f.own(said) && !l.has(f) {
			return f.text
		}
	}
	for _, d := range r.days {
		if d.year > 0 && !l.dates(d) && !numberName.MatchString(said[:d.start]) {
			return d.text
		}
	}
	return ""
}

// Number notations that the figure reader does not know.
var (
	blankGroups = regexp.MustCompile(`\b\d{1,3}(?: \d{3})+\b`)
	pointFirst  = regexp.MustCompile(`(^|[^\pL\d.])\.(\d)`)                                                                           // .05
	crossed     = regexp.MustCompile(`(\d)[x×](\d)`)                                                                                  // 1920x1080
	power       = regexp.MustCompile(`(\d+(?:\.\d+)?)(?:\s?[×x·]\s?10(?:\^([-−]?\d{1,2})\b|([⁻⁰¹²³⁴-⁹]{1,3}))|[eE]([+-]?\d{1,2})\b)`) // 3×10⁸
	fractions   = strings.NewReplacer("½", ".5", "¼", ".25", "¾", ".75")
	superior    = strings.NewReplacer("−", "-", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")
)

// regrouped joins digit groups, and writes out powers of ten, fractions and leading
// points.
func regrouped(text string) string {
	text = blankGroups.ReplaceAllStringFunc(text, func(digits string) string { return strings.ReplaceAll(digits, " ", "") })
	text = power.ReplaceAllStringFunc(text, func(number string) string {
		m := power.FindStringSubmatch(number)
		if x, err := strconv.ParseFloat(m[1]+"e"+superior.Replace(m[2]+m[3]+m[4]), 64); err == nil && 1e-9 < x && x < 1e15 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return number
	})
	return crossed.ReplaceAllString(pointFirst.ReplaceAllString(fractions.Replace(text), "${1}0.$2"), "$1 × $2")
}

// own reports whether a figure needs no source: a count or guess of the writer, or no
// number.
func (f figure) own(said string) bool {
	return strings.IndexFunc(f.text, unicode.IsDigit) < 0 || within(said, f.span) || f.unit == "place" || numberName.MatchString(said[:f.start]) ||
		f.unit == "" && f.value <= countable && f.value == math.Trunc(f.value) || f.unit == "share" && guess.MatchString(said)
}

// within reports whether digits are part of a longer token, such as a version, clock
// time or address.
func within(said string, at span) bool {
	const joins = "./:_-"
	before, after := said[:at.start], said[at.end:]
	n := len(before)
	return yearBefore.MatchString(before) || n > 1 && strings.IndexByte(joins, before[n-1]) >= 0 && wordy(rune(before[n-2])) ||
		len(after) > 1 && strings.IndexByte("./:", after[0]) >= 0 && wordy(rune(after[1]))
}

// numberName matches a name that a number completes, such as a standard or chapter.
var numberName = regexp.MustCompile(`(?:^|[^\pL\d])(?:RFC|ISO|IEC|IEEE|ANSI|ECMA|DIN|EN|PEP|(?i:section|chapter|figure|fig\.|table|appendix|article|version|abschnitt|kapitel|abbildung|tabelle|artikel)|§)[\s-]*$`)

var codeSpan = regexp.MustCompile("`+[^`\n]*`+")

var yearBefore = regexp.MustCompile(`\b\d{4}[–/-]$`)

var leadIns = fieldSet("as to in by from per see with nach laut gemäß siehe in aus selon d'après dans según en")

// covered returns the text that the citations of a sentence cover: up to the last one,
// or all after an opening citation.
func covered(raw string) string {
	raw = codeSpan.ReplaceAllString(raw, " ")
	first, last := -1, 0
	for i := 0; i < len(raw); i++ {
		if n := citation(raw[i:]); n > 0 {
			if first < 0 {
				first = i
			}
			last = i + n
		}
	}
	if first >= 0 && lettered(raw[last:]) {
		if lead := strings.Fields(raw[:first]); len(lead) > 0 && !leadIns[strings.ToLower(lead[len(lead)-1])] {
			raw = raw[:last]
		}
	}
	said, _ := plain(raw)
	return said
}

var closings = map[rune]string{'“': "”", '„': "“”", '«': "»", '「': "」", '『': "』", '"': `"`}

func quotations(said string) (list []string) {
	add := func(q string) {
		if quoted(q) {
			list = append(list, strings.TrimSpace(q))
		}
	}
	if i := strings.IndexRune(said, '”'); i >= 0 && !strings.ContainsAny(said, "“„") && strings.Count(said, "”") == 1 {
		add(said[:i]) // the last sentence of a long quotation
	}
	for _, m := range single.FindAllStringSubmatch(said, -1) {
		if m[2] != "" {
			add(m[1] + m[2])
		}
	}
	for i := 0; i < len(said); {
		r, n := utf8.DecodeRuneInString(said[i:])
		i += n
		shut := closings[r]
		if shut == "" || r == '"' && i > 1 && '0' <= said[i-2] && said[i-2] <= '9' { // 5" is a measure
			continue
		}
		if end := strings.IndexAny(said[i:], shut); end >= 0 {
			add(said[i : i+end])
			_, n = utf8.DecodeRuneInString(said[i+end:])
			i += end + n
		}
	}
	return list
}

// single matches a quotation in ‘…’, where ’ may also be an apostrophe. It starts with
// a letter, after none, and not as in "rock ‘n’ roll". It ends at the first ’ with no
// letter after and no blank before. That may be early, but the shorter text is quoted
// as well. The second group is empty where ’ may follow a plural ("the dogs’ bowls")
// and ‘ may be no quotation mark.
var single = regexp.MustCompile(`(?:^|[^\pL\pN])‘(?:(?i:em|n|til|tis|twas|cause)\b|(\pL[^‘]*?)(?:[sxzßSXZ]’ [\pL\pN]|(\S)’(?:[^\pL\pN]|$)))`)

// quoted reports whether a text is long enough for a quotation and is no name or
// title.
func quoted(text string) bool {
	letters := bareLetters(text)
	n := utf8.RuneCountInString(letters)
	if strings.ContainsFunc(text, lexical.Unspaced) {
		return n >= leastUnspaced
	}
	all, capital := strings.Fields(text), 0
	for _, w := range all {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(r) {
			capital++
		}
	}
	return n >= leastQuotedLetters && len(all) >= leastQuotedWords && 2*capital <= len(all)
}

var gap = regexp.MustCompile(`…|\.\.\.+|[\[(][^\])]*[\])]`)

var asides = regexp.MustCompile(`\[\^?\d{1,3}\]|\]\([^()\s]*\)`)

func bareLetters(text string) string {
	var b strings.Builder
	for _, w := range strings.Fields(text) {
		for _, r := range lexical.Fold(w) {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

var guess = regexp.MustCompile(`(?i)confiden|probab|likel|certain|\bsure\b|wahrschein|sicher`)
