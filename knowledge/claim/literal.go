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

// From how much on what stands in quotation marks is taken for words of a source, and not
// for a name or a word that is held at a distance.
const (
	leastQuotedWords   = 5
	leastQuotedLetters = 20
	leastUnspaced      = 12 // letters, in scripts without blanks
	leastPart          = 8  // bytes of what stands between two gaps
)

// countable is the number up to which a whole number without a unit is not looked for: who
// sums up counts things himself.
const countable = 12

// A Wording is what quotes have word for word, and figure for figure, by their ids. What is
// of no id may be the source of any sentence.
type Wording map[string]*literal

// A literal is what quotes have word for word.
type literal struct {
	letters string
	text    string
	read    []reading
	parts   []float64 // that there are words for
}

// Add reads a quote, with what stands around it in the source, or more of one.
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

// Unfounded returns what a sentence of a text gives as a source has it, and none of the
// quotes has that it cites: a quotation, or a number or year in digits; "" if there is no
// such, or it cites what is not there. It is much less than Verify: other words for the same
// are never unfounded, nor is a number that is written, grouped, scaled or rounded
// otherwise. Behind the last citation of a sentence nothing is looked at, for that is the
// writer's own.
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

// add adds what other quotes have, if there are any.
func (l *literal) add(o *literal) {
	if o != nil {
		l.letters, l.text = l.letters+o.letters, l.text+o.text
		l.read, l.parts = append(l.read, o.read...), append(l.parts, o.parts...)
	}
}

// unfounded returns the first quotation or figure of what is said that the quotes lack.
func (l *literal) unfounded(said string) string {
	for _, q := range quotations(said) {
		for _, part := range gap.Split(q, -1) { // where it leaves something out
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

// lacks returns the first figure or year of what is said that the quotes lack.
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

// What is written of numbers in ways that are not read.
var (
	blankGroups = regexp.MustCompile(`\b\d{1,3}(?: \d{3})+\b`)
	pointFirst  = regexp.MustCompile(`(^|[^\pL\d.])\.(\d)`)                                                                           // .05
	crossed     = regexp.MustCompile(`(\d)[x×](\d)`)                                                                                  // 1920x1080
	power       = regexp.MustCompile(`(\d+(?:\.\d+)?)(?:\s?[×x·]\s?10(?:\^([-−]?\d{1,2})\b|([⁻⁰¹²³⁴-⁹]{1,3}))|[eE]([+-]?\d{1,2})\b)`) // 3×10⁸
	fractions   = strings.NewReplacer("½", ".5", "¼", ".25", "¾", ".75")
	superior    = strings.NewReplacer("−", "-", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")
)

// regrouped returns a text in which no blanks group digits, and numbers with powers of ten,
// parts or nothing before their point are written out.
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

// own reports whether a figure need be in no source: it is counted or guessed by who writes,
// or is no number.
func (f figure) own(said string) bool {
	return strings.IndexFunc(f.text, unicode.IsDigit) < 0 || within(said, f.span) || f.unit == "place" || numberName.MatchString(said[:f.start]) ||
		f.unit == "" && f.value <= countable && f.value == math.Trunc(f.value) || f.unit == "share" && guess.MatchString(said)
}

// within reports whether digits belong to something longer, such as a version, a time of
// day or an address.
func within(said string, at span) bool {
	const joins = "./:_-"
	before, after := said[:at.start], said[at.end:]
	n := len(before)
	return yearBefore.MatchString(before) || n > 1 && strings.IndexByte(joins, before[n-1]) >= 0 && wordy(rune(before[n-2])) ||
		len(after) > 1 && strings.IndexByte("./:", after[0]) >= 0 && wordy(rune(after[1]))
}

// numberName is what has a number for its name, as a standard or a part of a text.
var numberName = regexp.MustCompile(`(?:^|[^\pL\d])(?:RFC|ISO|IEC|IEEE|ANSI|ECMA|DIN|EN|PEP|(?i:section|chapter|figure|fig\.|table|appendix|article|version|abschnitt|kapitel|abbildung|tabelle|artikel)|§)[\s-]*$`)

// codeSpan is code within a line.
var codeSpan = regexp.MustCompile("`+[^`\n]*`+")

// yearBefore is the first year of two, as in 2018–19.
var yearBefore = regexp.MustCompile(`\b\d{4}[–/-]$`)

// leadIns are words that a citation stands behind which leads a sentence in.
var leadIns = fieldSet("as to in by from per see with nach laut gemäß siehe in aus selon d'après dans según en")

// covered returns what is said in the part of a sentence that its citations stand for: up
// to the last, or all if the first leads it in.
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

// closings are the marks that end quotations, by those that begin them.
var closings = map[rune]string{'“': "”", '„': "“”", '«': "»", '「': "」", '『': "』", '"': `"`}

// quotations returns what stands in quotation marks and is long enough.
func quotations(said string) (list []string) {
	add := func(q string) {
		if quoted(q) {
			list = append(list, strings.TrimSpace(q))
		}
	}
	if i := strings.IndexRune(said, '”'); i >= 0 && !strings.ContainsAny(said, "“„") && strings.Count(said, "”") == 1 {
		add(said[:i]) // of a quotation of several sentences the last
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

// single is a quotation in ‘…’, of which ’ may be an apostrophe as well. It begins with a
// letter, behind none, and not with a word as in "rock ‘n’ roll". It ends at the first ’ that
// has no letter behind it and no blank before it, which may be too early, but what is before
// it is quoted, too. Where that may be behind a plural, as in "the dogs’ bowls", and the ‘
// may be no mark either, its second group is empty.
var single = regexp.MustCompile(`(?:^|[^\pL\pN])‘(?:(?i:em|n|til|tis|twas|cause)\b|(\pL[^‘]*?)(?:[sxzßSXZ]’ [\pL\pN]|(\S)’(?:[^\pL\pN]|$)))`)

// quoted reports whether a text is long enough for words of a source, and no name or title.
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

// gap is where words of a source are left out, or put in.
var gap = regexp.MustCompile(`…|\.\.\.+|[\[(][^\])]*[\])]`)

// asides are what sources have within their words that is not read with them: marks of
// footnotes, and addresses of links.
var asides = regexp.MustCompile(`\[\^?\d{1,3}\]|\]\([^()\s]*\)`)

// bareLetters returns the letters and digits of a text, without case and accents.
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

// guess is how a writer says how sure he is himself.
var guess = regexp.MustCompile(`(?i)confiden|probab|likel|certain|\bsure\b|wahrschein|sicher`)
