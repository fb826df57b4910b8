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
	numberPattern   = regexp.MustCompile(`^\[[1-9]\d{0,2}\]$`)                      // [45], a reference number
	footnotePattern = regexp.MustCompile(`^\[\^\d{1,3}\]$`)                         // [^3], a Markdown footnote
	daggerPattern   = regexp.MustCompile(`^【\d{1,4}(?::\d{1,4})?†[^【】]*】$`)         // 【3†source】, of some models' own tools
	idPattern       = regexp.MustCompile(`^\[[cq]\d{1,6}(?:[,;] ?[cq]\d{1,6})*\]$`) // [q7], a question or correction
	markIDs         = regexp.MustCompile(`[cq^]?\d+`)
)

// StripNumbering removes foreign numbering: numbers placed like footnotes, footnotes, and unknown ids
// of questions and corrections. is reports whether an id such as 45, ^3 or q7 exists. Brackets that
// may mean something else stay, such as links, indexes, lists, intervals, code and quotations.
func StripNumbering(text string, is func(id string) bool) string {
	var in verbatimScanner
	var explained map[string]bool
	gone := -1 // end of the last removed mark
	till, shut := -1, false
	return replaceBrackets(text, func(at, end int) (int, string, bool) {
		mark, rest := text[at:end], text[end:]
		before := strings.TrimRight(text[:at], " \t")
		blank := len(before) < at
		var loose bool
		switch {
		case daggerPattern.MatchString(mark):
			return len(before), "", !in.isVerbatim(text, at)
		case numberPattern.MatchString(mark):
			if end > till {
				till, shut = skipAdjacent(text, end)
			}
			loose = (at == gone || mayBeFootnote(before, blank)) && (shut || isNextToCitation(before, rest) || !blank && strings.HasPrefix(rest, " "))
		case idPattern.MatchString(mark):
			loose = at == gone || mayFollow(before, blank)
		case footnotePattern.MatchString(mark):
			loose = mayFollow(before, true)
		}
		if !loose || isJoined(before, rest) || slices.ContainsFunc(markIDs.FindAllString(mark, -1), is) || startsReference(rest) {
			return 0, "", false
		}
		if explained == nil {
			explained = definedMarks(text)
		}
		if loose = !explained[mark] && !in.isVerbatim(text, at); loose {
			gone = end
		}
		return len(before), "", loose
	})
}

const firstUnspaced = 0x2e80

// mayFollow reports whether a mark may follow text, with or without a blank.
func mayFollow(text string, blank bool) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	switch {
	case strings.ContainsRune(".!?,;", r):
		return blank || endsWord(text[:len(text)-n])
	case r == ')' && isCall(text):
		return false
	case strings.ContainsRune(")]”’»\"'%*_", r), unicode.IsLetter(r), unicode.IsDigit(r):
		return blank || r >= firstUnspaced || strings.ContainsRune("”’»", r) || endsWithMark(text)
	}
	return strings.ContainsRune("。，、！？", r)
}

func endsWithMark(text string) bool {
	at := strings.LastIndexByte(text, '[')
	return endsWithCitation(text) || at > 0 && isMark(text[at:]) && !isWord(text[at-1]) && strings.IndexByte(")]", text[at-1]) < 0
}

func isCall(text string) bool {
	text = text[max(0, len(text)-500):]
	at := strings.LastIndexByte(text, '(')
	return at > 0 && isWord(text[at-1])
}

func endsWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(")]”’»\"'%*_", r)
}

// mayBeFootnote reports whether a number may be a footnote to text. It is not after a word that takes an
// object, as in "it returns [5]".
func mayBeFootnote(text string, blank bool) bool {
	words := strings.TrimSuffix(text, ".")
	word := strings.ToLower(words[len(strings.TrimRightFunc(words, unicode.IsLetter)):])
	return mayFollow(text, blank) && !strings.HasSuffix(text, ",") && !objectWords[word]
}

var objectWords = wordSet(`a an and are art article as at be becomes button by case chapter choose contains enter eq equal equals equation fig figure for from gives in index into is item key level
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

func isJoined(before, rest string) bool {
	return joinBefore.MatchString(before[max(0, len(before)-16):]) || joinAfter.MatchString(rest)
}

// skipAdjacent returns the end of adjacent marks after till, and whether a clause ends there.
func skipAdjacent(text string, till int) (int, bool) {
	for {
		next := strings.TrimLeft(text[till:], " \t")
		at, end := nextBrackets(next, 0)
		if at != 0 || !numberPattern.MatchString(next[:end]) {
			return till, endsClause(text[till:])
		}
		till = len(text) - len(next) + end
	}
}

func isNextToCitation(before, rest string) bool {
	next := strings.TrimLeft(rest, " \t")
	at, end := nextBrackets(next, 0)
	return endsWithCitation(before) || at == 0 && citationPattern.MatchString(next[:end])
}

func endsWithCitation(text string) bool {
	text = text[max(0, strings.LastIndexByte(text, '[')):]
	return citationPattern.MatchString(text[max(0, strings.LastIndex(text, "【")):])
}

func startsReference(rest string) bool {
	if rest == "" {
		return false
	}
	at, end := nextBrackets(rest, 0)
	return rest[0] == '(' || rest[0] == ':' || isWord(rest[0]) || rest[0] == '[' && !(at == 0 && isMark(rest[:end]))
}

func isMark(text string) bool {
	return numberPattern.MatchString(text) || idPattern.MatchString(text) || footnotePattern.MatchString(text) || citationPattern.MatchString(text)
}

// definedMarks returns the brackets at the start of lines, which define them.
func definedMarks(text string) map[string]bool {
	marks := make(map[string]bool)
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(line, " \t>-*+•|")
		if at, end := nextBrackets(line, 0); at == 0 {
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
