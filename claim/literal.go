package claim

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/words"
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

// A Wording is what quotes have word for word, and figure for figure, read once. It never
// changes.
type Wording struct {
	byID   map[string]*literal
	always []*literal
}

// NewWording reads quotes. Those without an ID may be the source of any sentence.
func NewWording(quotes []Quote) *Wording {
	w := &Wording{byID: make(map[string]*literal)}
	for _, q := range quotes {
		if l := literalOf(q); q.ID == "" {
			w.always = append(w.always, l)
		} else {
			w.byID[q.ID] = l
		}
	}
	return w
}

// Unfounded returns what a sentence of a text gives as a source has it, and none of the
// quotes has that it cites: a quotation, or a number or year in digits; "" if there is no
// such, or it cites what is not there. It is much less than Verify: other words for the same
// are never unfounded, nor is a number that is written, grouped, scaled or rounded
// otherwise. Behind the last citation of a sentence nothing is looked at, for that is the
// writer's own.
func (w *Wording) Unfounded(text string, s Sentence) string {
	from := slices.Clip(w.always)
	for _, id := range s.Cites {
		l := w.byID[id]
		if l == nil {
			return ""
		}
		from = append(from, l)
	}
	if len(s.Cites) == 0 {
		return ""
	}
	return wordings(from).unfounded(covered(text[s.Start:s.End]))
}

// wordings are those that a sentence may be from.
type wordings []*literal

// unfounded returns the first quotation or figure of what is said that none has.
func (list wordings) unfounded(said string) string {
	for _, q := range quotations(said) {
		if !list.say(q) {
			return "“" + q + "”"
		}
	}
	if list.lack(said) == "" {
		return ""
	}
	return list.lack(regrouped(said)) // as blanks may group digits
}

// say reports whether they have a quotation, but for what it leaves out.
func (list wordings) say(quotation string) bool {
	for _, part := range gap.Split(quotation, -1) {
		letters := bareLetters(part)
		if len(letters) >= leastPart && !slices.ContainsFunc(list, func(l *literal) bool { return strings.Contains(l.letters, letters) }) {
			return false
		}
	}
	return true
}

// lack returns the first figure or year of what is said that none has.
func (list wordings) lack(said string) string {
	r := readSentence(said, span{0, len(said)}, "")
	for _, f := range r.figures {
		if !f.own(said) && !slices.ContainsFunc(list, func(l *literal) bool { return l.has(f) }) {
			return f.text
		}
	}
	for _, d := range r.days {
		if d.year > 0 && !slices.ContainsFunc(list, func(l *literal) bool { return l.dates(d) }) {
			return d.text
		}
	}
	return ""
}

// blankGroups are digits with blanks between their groups.
var blankGroups = regexp.MustCompile(`\b\d{1,3}(?: \d{3})+\b`)

// regrouped returns a text in which no blanks group digits.
func regrouped(text string) string {
	return blankGroups.ReplaceAllStringFunc(text, func(digits string) string { return strings.ReplaceAll(digits, " ", "") })
}

// own reports whether a figure need be in no source: it is counted or guessed by who writes,
// or is no number.
func (f figure) own(said string) bool {
	return strings.IndexFunc(f.text, unicode.IsDigit) < 0 || within(said, f.span) || f.unit == "place" ||
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

// quoted reports whether a text is long enough for words of a source, and no name or title.
func quoted(text string) bool {
	letters := bareLetters(text)
	n := utf8.RuneCountInString(letters)
	if strings.ContainsFunc(text, words.Unspaced) {
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

// bareLetters returns the letters and digits of a text, without case and accents.
func bareLetters(text string) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(text) {
		for _, r := range words.Fold(w) {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// A literal is what a quote has word for word.
type literal struct {
	letters string
	text    string
	figures []figure
	values  []float64 // as they are written, without scale and unit, or in words
	shares  bool      // there are words for parts and multiples
}

func literalOf(q Quote) *literal {
	all := q.Text[:cut(q.Text, maxQuote)] + "\n" + q.Context[:cut(q.Context, maxContext)]
	if !q.Published.IsZero() {
		all += "\n" + strconv.Itoa(q.Published.Year())
	}
	l := &literal{letters: bareLetters(all)}
	if joined := regrouped(all); joined != all {
		all += "\n" + joined
	}
	l.text = all
	for _, at := range unitsIn(all) {
		r := readSentence(all, at, "")
		l.figures = append(l.figures, r.figures...)
		for _, f := range r.figures {
			l.values = append(l.values, f.value, f.written())
		}
		for _, d := range r.days {
			l.values = append(l.values, float64(d.year), float64(d.month), float64(d.day))
		}
	}
	l.values = append(l.values, spelledIn(all)...)
	words.Tokens(all, func(t words.Token) { l.shares = l.shares || shareWords[words.Fold(all[t.Start:t.End])] })
	return l
}

// has reports whether a quote has a figure.
func (l *literal) has(f figure) bool {
	same := func(v float64) bool {
		near := 1e-9 * math.Abs(v)
		return math.Abs(f.value-v) <= near || math.Abs(f.written()-v) <= near
	}
	return f.unit == "share" && l.shares || slices.ContainsFunc(l.values, same) || slices.ContainsFunc(l.figures, func(g figure) bool { return f.fits(g) >= roughly })
}

// guess is how a writer says how sure he is himself.
var guess = regexp.MustCompile(`(?i)confiden|probab|likel|certain|\bsure\b|wahrschein|sicher`)

// dates reports whether a quote has the year of a date.
func (l *literal) dates(d day) bool {
	year := strconv.Itoa(d.year)
	if d.decade {
		return strings.Contains(l.text, year[:len(year)-1])
	}
	short := year[max(0, len(year)-2):]
	for _, form := range []string{year, "–" + short, "-" + short, "/" + short, "’" + short, "'" + short} {
		if strings.Contains(l.text, form) {
			return true
		}
	}
	return false
}

// written returns the number of a figure as it is written, without scale and unit.
func (f figure) written() float64 {
	i := strings.IndexFunc(f.text, unicode.IsDigit)
	if i < 0 {
		return f.value
	}
	value, _, _, ok := digitsAt(f.text, i)
	if !ok {
		return f.value
	}
	return value
}

// spelledIn returns the numbers that a text has in several words, as "one hundred and
// twenty thousand".
func spelledIn(text string) (list []float64) {
	sum, part, n, last := 0.0, 0.0, 0, 0
	end := func() {
		if n > 0 {
			list = append(list, sum+part)
		}
		sum, part, n = 0, 0, 0
	}
	words.Tokens(text, func(t words.Token) {
		w := words.Fold(text[t.Start:t.End])
		if strings.ContainsAny(text[min(last, t.Start):t.Start], ".,;:()") {
			end()
		}
		last = max(last, t.End)
		v, is := numerals[w]
		s := scale[w]
		switch {
		case w == "one" || w == "ein" || w == "eine":
			part, n = part+1, n+1
		case is && !isOrdinal(w):
			part, n = part+v, n+1
		case s == 100 && len(w) > 3:
			part, n = max(1, part)*s, n+1
		case s > 100 && len(w) > 3:
			sum, part, n = sum+max(1, part)*s, 0, n+1
		case n > 0 && (w == "and" || w == "und"):
		default:
			end()
		}
	})
	end()
	return list
}

// shareWords are words for parts and multiples, which others write as shares.
var shareWords = fieldSet(`half halves halved third thirds quarter quarters fifth fifths sixth seventh eighth ninth tenth tenths double doubled doubles doubling twice triple tripled thrice all none most every
halfte halb halbe halben drittel viertel funftel zehntel doppelt verdoppelt verdoppelte alle keine
moitie demi tiers quart cinquieme dixieme double doublé tous toutes aucun
mitad tercio cuarto quinto decimo doble todos todas ninguno`)
