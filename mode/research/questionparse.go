package research

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

const (
	maxReading = 4 << 10 // bytes; the rest is detail
	maxFields  = 400
	maxPhrase  = 80 // bytes of a quoted phrase
)

type parsedQuestion struct {
	text   string
	lang   lexical.Language
	fields []field
	folded string
	padded string // folded words, each between blanks
}

// field is a word or a quoted phrase of a question.
type field struct {
	text   string
	folded string
	plain  bool // a function word
	phrase bool // it was quoted
	time   bool // part of a time expression
	first  bool // first of a sentence
	ends   bool // last of a sentence or list item
}

func parseQuestion(question string) *parsedQuestion {
	a := &parsedQuestion{text: textkit.OneLine(textkit.Prefix(question, maxReading))}
	a.folded = lexical.Fold(a.text)
	a.lang = detectLanguage(a.text)
	first := true
	for _, part := range splitParts(a.text) {
		if len(a.fields) >= maxFields {
			break
		}
		f := field{text: part.text, phrase: part.phrase, first: first, ends: part.ends}
		f.folded = lexical.Fold(strings.ReplaceAll(f.text, "’", "'"))
		f.plain = !f.phrase && a.isPlain(f)
		a.fields = append(a.fields, f)
		first = part.stops
	}
	a.markTimes()
	var b strings.Builder
	b.WriteByte(' ')
	for _, f := range a.fields {
		b.WriteString(f.folded + " ")
	}
	a.padded = b.String()
	return a
}

// detectLanguage defaults to English.
func detectLanguage(s string) lexical.Language {
	if strings.ContainsAny(s, "¿¡") {
		return "es"
	}
	if lang, _ := lexical.Detect(s); lang != "" {
		return lang
	}
	best, bestCount := lexical.Language("en"), 0
	for _, lang := range []lexical.Language{"en", "de", "fr", "es"} {
		n := 0
		lexical.Tokens(s, func(t lexical.Token) {
			if lexical.Stop(s[t.Start:t.End], lang) {
				n++
			}
		})
		if n > bestCount {
			best, bestCount = lang, n
		}
	}
	return best
}

// isPlain reports whether f is a function word of its language. Acronyms are not.
func (a *parsedQuestion) isPlain(f field) bool {
	if isAcronym(f.text) && a.text != strings.ToUpper(a.text) || inLexicon("negation", f.folded) {
		return false
	}
	some, all := false, true
	lexical.Tokens(f.text, func(t lexical.Token) {
		some, all = true, all && lexical.Stop(f.text[t.Start:t.End], a.lang)
	})
	return all || !some
}

func isAcronym(s string) bool {
	n := 0
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			n++
		case unicode.IsLetter(r):
			return false
		}
	}
	return n >= 2
}

type part struct {
	text   string
	phrase bool
	ends   bool
	stops  bool
}

// quotedPhrase matches quoted phrases. It ignores single quotes that may be apostrophes.
var quotedPhrase = regexp.MustCompile(`"([^"]{2,80})"|[“„”]([^“„”]{2,80})[”“]|«\s*([^«»]{2,80}?)\s*»|「([^「」]{1,80})」|『([^『』]{1,80})』|《([^《》]{1,80})》|‘([^‘’]{2,80})’`)

func splitParts(s string) (list []part) {
	last := 0
	for _, at := range quotedPhrase.FindAllStringSubmatchIndex(s, -1) {
		list = append(list, splitWords(s[last:at[0]])...)
		for g := 2; g < len(at); g += 2 {
			if at[g] >= 0 {
				list = append(list, part{text: textkit.TruncateBytes(strings.TrimSpace(s[at[g]:at[g+1]]), maxPhrase), phrase: true})
			}
		}
		last = at[1]
	}
	return append(list, splitWords(s[last:])...)
}

// elidedArticle matches an elided French article or pronoun.
var elidedArticle = regexp.MustCompile(`(?i)^(?:[ldnsmtjc]|qu|jusqu|lorsqu|puisqu)['’]`)

var spacer = strings.NewReplacer("？", "？ ", "！", "！ ", "。", "。 ", "；", "； ", "，", "， ", "、", "、 ")

// minSentenceWord is the minimum length of a sentence's last word, in bytes. A shorter word with a
// dot is an abbreviation such as "Dr.".
const minSentenceWord = 4

// splitWords splits s at blanks, and unspaced scripts at function words.
func splitWords(s string) (list []part) {
	for f := range strings.FieldsFuncSeq(spacer.Replace(s), isBlank) {
		bare := strings.TrimFunc(f, isSign)
		if bare == "" {
			if n := len(list); n > 0 && strings.ContainsAny(f, "?!;:,？！；：，、.…。-–—|/") {
				list[n-1].ends = true
			}
			continue
		}
		after := f[strings.LastIndex(f, bare)+len(bare):]
		n := len(list)
		for _, w := range splitWord(bare) {
			list = append(list, part{text: w})
		}
		if len(list) > n {
			last := &list[len(list)-1]
			last.ends = strings.ContainsAny(after, "?!;:,？！；：，、。.)]")
			last.stops = strings.ContainsAny(after, "?!;？！；。") || strings.Contains(after, ".") && len(bare) >= minSentenceWord
		}
	}
	return list
}

func splitWord(s string) []string {
	if isUnspaced(s) {
		return splitUnspaced(s)
	}
	low := lexical.Fold(strings.ReplaceAll(s, "’", "'"))
	if inLexicon("filler", low) || inLexicon("now", low) {
		return []string{s}
	}
	if bare, ok := strings.CutSuffix(low, "'s"); ok && !inLexicon("question", bare) && bare != "it" && bare != "let" {
		s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	}
	if rest := elidedArticle.ReplaceAllString(s, ""); rest != "" {
		return []string{rest}
	}
	return []string{s}
}

const maxSegment = 16

// splitUnspaced splits text of an unspaced script into likely words: for Japanese, runs of Kanji or
// Katakana; otherwise the text between function words.
func splitUnspaced(s string) (list []string) {
	kana := strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.Hiragana) })
	if !kana {
		for _, w := range lexicon["between"] {
			s = strings.ReplaceAll(s, w, " ")
		}
	}
	var b strings.Builder
	kind, n := 0, 0
	for _, r := range s {
		k := runeKind(r)
		if k != kind && (kana || k == kindOther || kind == kindOther || k == kindSign) || n >= maxSegment && k != kindOther {
			b.WriteByte(' ')
			n = 0
		}
		if kind, n = k, n+1; k != kindSign && (!kana || k != kindHiragana) {
			b.WriteRune(r)
		}
	}
	list = strings.Fields(b.String())
	if kana { // a single Kanji is usually the stem of a Hiragana word
		list = slices.DeleteFunc(list, func(w string) bool { return utf8.RuneCountInString(w) == 1 })
	}
	return list
}

const (
	kindSign = iota + 1
	kindOther
	kindHan
	kindHiragana
	kindKatakana
)

func runeKind(r rune) int {
	switch {
	case unicode.Is(unicode.Hiragana, r):
		return kindHiragana
	case unicode.Is(unicode.Katakana, r) || r == 'ー':
		return kindKatakana
	case unicode.Is(unicode.Han, r):
		return kindHan
	case lexical.Unspaced(r):
		return kindHan
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), strings.ContainsRune("+#-.%", r):
		return kindOther
	}
	return kindSign
}

func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\u3000' }

// isSign reports whether r is punctuation at the edge of a word.
func isSign(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("+#%°$€£¥", r)
}

// markTimes marks the fields of time expressions.
func (a *parsedQuestion) markTimes() {
	for i := 0; i < len(a.fields); {
		n := a.timeAt(i)
		for k := i; k < i+n; k++ {
			a.fields[k].time = true
		}
		i += max(1, n)
	}
}

// timeForms are patterns of time expressions, longest first. Each word names a lexicon entry,
// "year" or "number".
var timeForms = parseForms(
	"before last number unit", "before last unit", "before month year", "before number month year", "before year", "before unit ago", "before number unit",
	"last number unit", "last unit", "number last unit", "unit ago", "number unit ago", "month number year", "number month year", "month year", "before month", "year", "month", "now",
)

func parseForms(list ...string) (all [][]string) {
	for _, f := range list {
		all = append(all, strings.Fields(f))
	}
	return all
}

func (a *parsedQuestion) timeAt(i int) int {
	for _, form := range timeForms {
		if i+len(form) > len(a.fields) {
			continue
		}
		ok := true
		for k, name := range form {
			ok = ok && a.fields[i+k].matchesForm(name)
		}
		if ok && (len(form) > 1 || !inLexicon("doubtful", a.fields[i].folded)) {
			return len(form)
		}
	}
	return 0
}

var (
	yearForm   = regexp.MustCompile(`^(?:1[0-9]|20|21)\d\ds?$|^(?:1[0-9]|20|21)\d\d年(?:\d{1,2}月)?`)
	numberForm = regexp.MustCompile(`^\d{1,3}(?:st|nd|rd|th|\.)?$`)
)

func (f field) matchesForm(name string) bool {
	switch name {
	case "year":
		return yearForm.MatchString(f.text)
	case "number":
		return numberForm.MatchString(f.folded)
	case "now":
		if isUnspaced(f.folded) {
			return slices.ContainsFunc(lexicon["now"], func(w string) bool { return isUnspaced(w) && strings.Contains(f.folded, w) })
		}
	}
	return inLexicon(name, f.folded)
}
