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
	minQuotedWords     = 5
	minQuotedLetters   = 20
	minUnspacedLetters = 12 // letters, in scripts without spaces
	minPartBytes       = 8  // bytes between two ellipses
)

// maxUnsourcedCount is the largest unitless integer that needs no source: a writer may count
// items.
const maxUnsourcedCount = 12

// A QuoteIndex is the literal text and figures of quotes, by evidence ID. Text under the
// ID "" supports every sentence.
type QuoteIndex map[string]*verbatim

type verbatim struct {
	letters  string
	text     string
	readings []parsedSentence
	parts    []float64 // counts that the quotes imply
}

// Add appends a quote and its context to id.
func (w QuoteIndex) Add(id, text string) {
	text = textkit.Prefix(text, maxQuote)
	l := &verbatim{letters: bareLetters(text) + "\n"}
	if bare := citationMarks.ReplaceAllString(text, " "); bare != text {
		l.letters += bareLetters(bare) + "\n"
	}
	if joined := normalizeNumbers(text); joined != text {
		text += "\n" + joined
	}
	l.text = text + "\n"
	for _, at := range splitUnits(text) {
		l.readings = append(l.readings, readSentence(text, at, ""))
		if said := text[at.start:at.end]; replaceNumerals(said) != said {
			l.readings = append(l.readings, readSentence(replaceNumerals(said), span{0, len(replaceNumerals(said))}, ""))
		}
	}
	lexical.Tokens(text, func(t lexical.Token) {
		if part, ok := shareWords[lexical.Fold(text[t.Start:t.End])]; ok && !slices.Contains(l.parts, part) {
			l.parts = append(l.parts, part)
		}
	})
	l.merge(w[id])
	w[id] = l
}

// FindUnsupported returns a quotation, number or year in digits that none of the cited
// quotes has. It returns "" if there is none, or if a citation is unknown. Unlike
// Verify it accepts paraphrases, and numbers in another notation, grouping, scale or
// rounding. Text after the last citation is the writer's own and is not checked.
func (w QuoteIndex) FindUnsupported(text string, s *Sentence) string {
	if len(s.Cites) == 0 {
		return ""
	}
	var all verbatim
	all.merge(w[""])
	for _, id := range s.Cites {
		if w[id] == nil {
			return ""
		}
		all.merge(w[id])
	}
	return all.findUnsupported(citedText(text[s.Start:s.End]))
}

func (l *verbatim) merge(o *verbatim) {
	if o != nil {
		l.letters, l.text = l.letters+o.letters, l.text+o.text
		l.readings, l.parts = append(l.readings, o.readings...), append(l.parts, o.parts...)
	}
}

func (l *verbatim) findUnsupported(said string) string {
	for _, q := range findQuotations(said) {
		for _, part := range omission.Split(q, -1) { // at omissions
			if letters := bareLetters(part); len(letters) >= minPartBytes && !strings.Contains(l.letters, letters) {
				return "“" + q + "”"
			}
		}
	}
	if l.findMissing(said) == "" {
		return ""
	}
	return l.findMissing(normalizeNumbers(said))
}

func (l *verbatim) findMissing(said string) string {
	r := readSentence(said, span{0, len(said)}, "")
	for _, f := range r.figures {
		if !f.needsNoSource(said) && !l.hasFigure(f) {
			return f.text
		}
	}
	for _, d := range r.days {
		if d.year > 0 && !l.hasDate(d) && !numberName.MatchString(said[:d.start]) {
			return d.text
		}
	}
	return ""
}

// Number notations that the figure reader does not know.
var (
	blankGroups    = regexp.MustCompile(`\b\d{1,3}(?: \d{3})+\b`)
	pointFirst     = regexp.MustCompile(`(^|[^\pL\d.])\.(\d)`)                                                                           // .05
	crossedNumbers = regexp.MustCompile(`(\d)[x×](\d)`)                                                                                  // 1920x1080
	powerOfTen     = regexp.MustCompile(`(\d+(?:\.\d+)?)(?:\s?[×x·]\s?10(?:\^([-−]?\d{1,2})\b|([⁻⁰¹²³⁴-⁹]{1,3}))|[eE]([+-]?\d{1,2})\b)`) // 3×10⁸
	fractions      = strings.NewReplacer("½", ".5", "¼", ".25", "¾", ".75")
	superscripts   = strings.NewReplacer("−", "-", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")
)

// normalizeNumbers joins digit groups, and writes out powers of ten, fractions and leading
// points.
func normalizeNumbers(text string) string {
	text = blankGroups.ReplaceAllStringFunc(text, func(digits string) string { return strings.ReplaceAll(digits, " ", "") })
	text = powerOfTen.ReplaceAllStringFunc(text, func(number string) string {
		m := powerOfTen.FindStringSubmatch(number)
		if x, err := strconv.ParseFloat(m[1]+"e"+superscripts.Replace(m[2]+m[3]+m[4]), 64); err == nil && 1e-9 < x && x < 1e15 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return number
	})
	return crossedNumbers.ReplaceAllString(pointFirst.ReplaceAllString(fractions.Replace(text), "${1}0.$2"), "$1 × $2")
}

// needsNoSource reports whether a figure needs no source: a count or guess of the writer, or no
// number.
func (f figure) needsNoSource(said string) bool {
	return strings.IndexFunc(f.text, unicode.IsDigit) < 0 || isTokenPart(said, f.span) || f.unit == "place" || numberName.MatchString(said[:f.start]) ||
		f.unit == "" && f.value <= maxUnsourcedCount && f.value == math.Trunc(f.value) || f.unit == "share" && guessWords.MatchString(said)
}

// isTokenPart reports whether digits are part of a longer token, such as a version, clock
// time or address.
func isTokenPart(said string, at span) bool {
	const joins = "./:_-"
	before, after := said[:at.start], said[at.end:]
	n := len(before)
	return yearBefore.MatchString(before) || n > 1 && strings.IndexByte(joins, before[n-1]) >= 0 && isWordRune(rune(before[n-2])) ||
		len(after) > 1 && strings.IndexByte("./:", after[0]) >= 0 && isWordRune(rune(after[1]))
}

// numberName matches a name that a number completes, such as a standard or chapter.
var numberName = regexp.MustCompile(`(?:^|[^\pL\d])(?:RFC|ISO|IEC|IEEE|ANSI|ECMA|DIN|EN|PEP|(?i:section|chapter|figure|fig\.|table|appendix|article|version|abschnitt|kapitel|abbildung|tabelle|artikel)|§)[\s-]*$`)

var codeSpan = regexp.MustCompile("`+[^`\n]*`+")

var yearBefore = regexp.MustCompile(`\b\d{4}[–/-]$`)

var leadIns = fieldSet("as to in by from per see with nach laut gemäß siehe in aus selon d'après dans según en")

// citedText returns the text that the citations of a sentence cover: up to the last one,
// or all after an opening citation.
func citedText(raw string) string {
	raw = codeSpan.ReplaceAllString(raw, " ")
	first, last := -1, 0
	for i := 0; i < len(raw); i++ {
		if n := citationLength(raw[i:]); n > 0 {
			if first < 0 {
				first = i
			}
			last = i + n
		}
	}
	if first >= 0 && hasLetter(raw[last:]) {
		if lead := strings.Fields(raw[:first]); len(lead) > 0 && !leadIns[strings.ToLower(lead[len(lead)-1])] {
			raw = raw[:last]
		}
	}
	said, _ := stripMarkdown(raw)
	return said
}

var closingQuotes = map[rune]string{'“': "”", '„': "“”", '«': "»", '「': "」", '『': "』", '"': `"`}

func findQuotations(said string) (list []string) {
	add := func(q string) {
		if isQuotation(q) {
			list = append(list, strings.TrimSpace(q))
		}
	}
	if i := strings.IndexRune(said, '”'); i >= 0 && !strings.ContainsAny(said, "“„") && strings.Count(said, "”") == 1 {
		add(said[:i]) // the last sentence of a long quotation
	}
	for _, m := range singleQuotation.FindAllStringSubmatch(said, -1) {
		if m[2] != "" {
			add(m[1] + m[2])
		}
	}
	for i := 0; i < len(said); {
		r, n := utf8.DecodeRuneInString(said[i:])
		i += n
		shut := closingQuotes[r]
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

// singleQuotation matches a quotation in ‘…’, where ’ may also be an apostrophe. It starts with
// a letter, after none, and not as in "rock ‘n’ roll". It ends at the first ’ with no
// letter after and no blank before. That may be early, but the shorter text is quoted
// as well. The second group is empty where ’ may follow a plural ("the dogs’ bowls")
// and ‘ may be no quotation mark.
var singleQuotation = regexp.MustCompile(`(?:^|[^\pL\pN])‘(?:(?i:em|n|til|tis|twas|cause)\b|(\pL[^‘]*?)(?:[sxzßSXZ]’ [\pL\pN]|(\S)’(?:[^\pL\pN]|$)))`)

// isQuotation reports whether a text is long enough for a quotation and is no name or
// title.
func isQuotation(text string) bool {
	letters := bareLetters(text)
	n := utf8.RuneCountInString(letters)
	if strings.ContainsFunc(text, lexical.Unspaced) {
		return n >= minUnspacedLetters
	}
	all, capital := strings.Fields(text), 0
	for _, w := range all {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(r) {
			capital++
		}
	}
	return n >= minQuotedLetters && len(all) >= minQuotedWords && 2*capital <= len(all)
}

var omission = regexp.MustCompile(`…|\.\.\.+|[\[(][^\])]*[\])]`)

var citationMarks = regexp.MustCompile(`\[\^?\d{1,3}\]|\]\([^()\s]*\)`)

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

var guessWords = regexp.MustCompile(`(?i)confiden|probab|likel|certain|\bsure\b|wahrschein|sicher`)
