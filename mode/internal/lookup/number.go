package lookup

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The marks of a numbering that is none of ours, or only looks like it.
var (
	bare   = regexp.MustCompile(`^\[[1-9]\d{0,2}\]$`)                      // [45], as of a list of sources
	note   = regexp.MustCompile(`^\[\^\d{1,3}\]$`)                         // [^3], a footnote of Markdown
	dagger = regexp.MustCompile(`^【\d{1,4}(?::\d{1,4})?†[^【】]*】$`)         // 【3†source】, of what some models look up
	own    = regexp.MustCompile(`^\[[cq]\d{1,6}(?:[,;] ?[cq]\d{1,6})*\]$`) // [q7], a question or a correction
	inside = regexp.MustCompile(`[cq^]?\d+`)
)

// Unnumbered returns text without the marks of a numbering that there is not: numbers in
// brackets that stand where a footnote does, behind the words that they are for and at the
// end of a clause or beside a citation; footnotes; and ids of questions and corrections. Is
// reports whether there is what stands in brackets, such as 45, ^3 or q7. What is a link, is
// explained in the text, stands where code has an index, is joined to another by a word, or
// is a part of a list, of an interval, of code or of a quotation stays: it may mean something.
func Unnumbered(text string, is func(id string) bool) string {
	var in verbatim
	var explained map[string]bool
	gone := -1              // where the last mark that was taken away ends
	till, shut := -1, false // where the marks beside each other end, and whether a clause does
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

// unspaced is where the letters of scripts begin that have no blanks between words.
const unspaced = 0x2e80

// behind reports whether a mark may stand behind a text, with a blank between them or not.
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

// marked reports whether text ends in a mark or a citation, and not in an index.
func marked(text string) bool {
	at := strings.LastIndexByte(text, '[')
	return cited(text) || at > 0 && isMark(text[at:]) && !isWord(text[at-1]) && strings.IndexByte(")]", text[at-1]) < 0
}

// isCall reports whether text, which ends in a parenthesis, ends in a call that is not long.
func isCall(text string) bool {
	text = text[max(0, len(text)-500):]
	at := strings.LastIndexByte(text, '(')
	return at > 0 && isWord(text[at-1])
}

// ended reports whether text ends in a word, as it does before the end of a sentence.
func ended(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(")]”’»\"'%*_", r)
}

// follows reports whether a number in brackets may be for the text before it: it does not
// belong to a word that calls for something, as in "it returns [5]".
func follows(text string, blank bool) bool {
	words := strings.TrimSuffix(text, ".")
	word := strings.ToLower(words[len(strings.TrimRightFunc(words, unicode.IsLetter)):])
	return behind(text, blank) && !strings.HasSuffix(text, ",") && !calling[word]
}

// calling are words that what follows them belongs to.
var calling = set(`a an and are art article as at be becomes button by case chapter choose contains enter eq equal equals equation fig figure for from gives in index into is item key level
line list no number of nr on or option output outputs p page part per pp press prints ref reference return returned returns rule section see select step table than that theorem
the to type value version was were with yields
abb abbildung abschnitt als am an auf das dem den der die ein eine ergibt gibt im ist kapitel liefert mit oder seite siehe sind tabelle taste und von war zu
au aux avec chapitre dans de des du en est et la le les ou par pour sont sur touche un une voir
capítulo con del el es los o para paso por son un una ver y`)

// joins are the words that two marks belong together by: taking one of them away would
// leave a hole.
var (
	joins      = `(?:and|or|und|oder|et|ou|y|o|&)`
	joinBefore = regexp.MustCompile(`[\]】]\s+` + joins + `$`)
	joinAfter  = regexp.MustCompile(`^\s+` + joins + `\s+[\[【]`)
)

// besideJoin reports whether a mark between two texts is joined to another by a word.
func besideJoin(before, rest string) bool {
	return joinBefore.MatchString(before[max(0, len(before)-16):]) || joinAfter.MatchString(rest)
}

// closes returns where a mark that ends at till and marks beside it end, and reports
// whether what follows is the end of a clause.
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

// besideCitation reports whether a citation stands at once before or behind a mark.
func besideCitation(before, rest string) bool {
	next := strings.TrimLeft(rest, " \t")
	at, end := bracketed(next, 0)
	return cited(before) || at == 0 && citation.MatchString(next[:end])
}

// cited reports whether text ends in a citation.
func cited(text string) bool {
	text = text[max(0, strings.LastIndexByte(text, '[')):]
	return citation.MatchString(text[max(0, strings.LastIndex(text, "【")):])
}

// refers reports whether what follows brackets makes more of them than a mark: the
// address of a link, its label, what it stands for, or a word.
func refers(rest string) bool {
	if rest == "" {
		return false
	}
	at, end := bracketed(rest, 0)
	return rest[0] == '(' || rest[0] == ':' || isWord(rest[0]) || rest[0] == '[' && !(at == 0 && isMark(rest[:end]))
}

// isMark reports whether what is in brackets is a mark or a citation.
func isMark(text string) bool {
	return bare.MatchString(text) || own.MatchString(text) || note.MatchString(text) || citation.MatchString(text)
}

// explanations returns the brackets that lines of a text begin with, and so say what they
// stand for.
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

// endsClause reports whether what follows begins with the end of a clause or a line.
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
