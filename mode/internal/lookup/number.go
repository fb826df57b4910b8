package lookup

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bracketed marks that are not citations.
var (
	bare   = regexp.MustCompile(`^\[[1-9]\d{0,2}\]$`)                      // [45], a reference number
	note   = regexp.MustCompile(`^\[\^\d{1,3}\]$`)                         // [^3], a Markdown footnote
	dagger = regexp.MustCompile(`^【\d{1,4}(?::\d{1,4})?†[^【】]*】$`)         // 【3†source】, of some models' own tools
	own    = regexp.MustCompile(`^\[[cq]\d{1,6}(?:[,;] ?[cq]\d{1,6})*\]$`) // [q7], a question or correction
	inside = regexp.MustCompile(`[cq^]?\d+`)
)

// Unnumbered removes foreign numbering: numbers placed like footnotes, footnotes, and unknown ids
// of questions and corrections. is reports whether an id such as 45, ^3 or q7 exists. Brackets that
// may mean something else stay, such as links, indexes, lists, intervals, code and quotations.
func Unnumbered(text string, is func(id string) bool) string {
	var in verbatim
	var explained map[string]bool
	gone := -1 // end of the last removed mark
	till, shut := -1, false
	return replaced(text, func(at, end int) (int, string, bool) {
		mark, rest := text[at:end], text[end:]
		before := strings.TrimRight(text[:at], " \t")
		blank := len(before) < at
		var loose bool
		switch {
		case dagger.MatchString(mark):
			return len(before), "", !in.reaches(text, at)
		case bare.MatchString(mark):
			if end > till {
				till, shut = closes(text, end)
			}
			loose = (at == gone || follows(before, blank)) && (shut || besideCitation(before, rest) || !blank && strings.HasPrefix(rest, " "))
		case own.MatchString(mark):
			loose = at == gone || behind(before, blank)
		case note.MatchString(mark):
			loose = behind(before, true)
		}
		if !loose || besideJoin(before, rest) || slices.ContainsFunc(inside.FindAllString(mark, -1), is) || refers(rest) {
			return 0, "", false
		}
		if explained == nil {
			explained = explanations(text)
		}
		if loose = !explained[mark] && !in.reaches(text, at); loose {
			gone = end
		}
		return len(before), "", loose
	})
}

const unspaced = 0x2e80

// behind reports whether a mark may follow text, with or without a blank.
func behind(text string, blank bool) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	switch {
	case strings.ContainsRune(".!?,;", r):
		return blank || ended(text[:len(text)-n])
	case r == ')' && isCall(text):
		return false
	case strings.ContainsRune(")]”’»\"'%*_", r), unicode.IsLetter(r), unicode.IsDigit(r):
		return blank || r >= unspaced || strings.ContainsRune("”’»", r) || marked(text)
	}
	return strings.ContainsRune("。，、！？", r)
}

func marked(text string) bool {
	at := strings.LastIndexByte(text, '[')
	return cited(text) || at > 0 && isMark(text[at:]) && !isWord(text[at-1]) && strings.IndexByte(")]", text[at-1]) < 0
}

func isCall(text string) bool {
	text = text[max(0, len(text)-500):]
	at := strings.LastIndexByte(text, '(')
	return at > 0 && isWord(text[at-1])
}

func ended(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(")]”’»\"'%*_", r)
}

// follows reports whether a number may be a footnote to text. It is not after a word that takes an
// object, as in "it returns [5]".
func follows(text string, blank bool) bool {
	words := strings.TrimSuffix(text, ".")
	word := strings.ToLower(words[len(strings.TrimRightFunc(words, unicode.IsLetter)):])
	return behind(text, blank) && !strings.HasSuffix(text, ",") && !calling[word]
}

var calling = set(`a an and are art article as at be becomes button by case chapter choose contains enter eq equal equals equation fig figure for from gives in index into is item key level
line list no number of nr on or option output outputs p page part per pp press prints ref reference return returned returns rule section see select step table than that theorem
the to type value version was were with yields
abb abbildung abschnitt als am an auf das dem den der die ein eine ergibt gibt im ist kapitel liefert mit oder seite siehe sind tabelle taste und von war zu
au aux avec chapitre dans de des du en est et la le les ou par pour sont sur touche un une voir
capítulo con del el es los o para paso por son un una ver y`)

// joins link two marks; removing one would leave a gap.
var (
	joins      = `(?:and|or|und|oder|et|ou|y|o|&)`
	joinBefore = regexp.MustCompile(`[\]】]\s+` + joins + `$`)
	joinAfter  = regexp.MustCompile(`^\s+` + joins + `\s+[\[【]`)
)

func besideJoin(before, rest string) bool {
	return joinBefore.MatchString(before[max(0, len(before)-16):]) || joinAfter.MatchString(rest)
}

// closes returns the end of adjacent marks after till, and whether a clause ends there.
func closes(text string, till int) (int, bool) {
	for {
		next := strings.TrimLeft(text[till:], " \t")
		at, end := bracketed(next, 0)
		if at != 0 || !bare.MatchString(next[:end]) {
			return till, endsClause(text[till:])
		}
		till = len(text) - len(next) + end
	}
}

func besideCitation(before, rest string) bool {
	next := strings.TrimLeft(rest, " \t")
	at, end := bracketed(next, 0)
	return cited(before) || at == 0 && citation.MatchString(next[:end])
}

func cited(text string) bool {
	text = text[max(0, strings.LastIndexByte(text, '[')):]
	return citation.MatchString(text[max(0, strings.LastIndex(text, "【")):])
}

func refers(rest string) bool {
	if rest == "" {
		return false
	}
	at, end := bracketed(rest, 0)
	return rest[0] == '(' || rest[0] == ':' || isWord(rest[0]) || rest[0] == '[' && !(at == 0 && isMark(rest[:end]))
}

func isMark(text string) bool {
	return bare.MatchString(text) || own.MatchString(text) || note.MatchString(text) || citation.MatchString(text)
}

// explanations returns the brackets at the start of lines, which define them.
func explanations(text string) map[string]bool {
	marks := make(map[string]bool)
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(line, " \t>-*+•|")
		if at, end := bracketed(line, 0); at == 0 {
			marks[line[:end]] = true
		}
	}
	return marks
}

// endsClause reports whether rest begins with the end of a clause or line.
func endsClause(rest string) bool {
	rest = strings.TrimLeft(rest, "*_”’»")
	sign := strings.TrimLeft(rest, " \t")
	r, _ := utf8.DecodeRuneInString(sign)
	if sign == "" || strings.ContainsRune("\n)|。，、！？", r) {
		return true
	}
	if next := strings.TrimLeft(rest[1:], " "); rest[0] == ',' && next != "" && next[0] == '[' {
		return false // of a list
	}
	return len(sign) == len(rest) && strings.ContainsRune(".,;!?", r) && (len(rest) == 1 || strings.IndexByte(" \n)*_", rest[1]) >= 0)
}
