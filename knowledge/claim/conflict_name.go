package claim

import (
	"slices"

	"ponder/internal/textkit/lexical"
)

var demonyms = fieldSet(`american british english scottish irish welsh canadian australian japanese korean south north indian french german spanish italian dutch belgian swedish norwegian danish finnish polish russian ukrainian chinese mexican brazilian argentine greek turkish austrian swiss norwegian icelandic portuguese african european asian nigerian israeli`)

func parseNameAt(text string, line []lexeme, k int, kind valueKind) (v statementValue, ok bool) {
	end := min(len(line), k+7)
	for k < end && canPrecedeName(line[k], kind) {
		k++
	}
	if k >= end || !isUpperAt(line, k) {
		return v, false
	}
	last := nameEnd(line, k, kind)
	v = statementValue{kind: kind, text: text[line[k].start:line[last].end]}
	for _, x := range line[k : last+1] {
		if x.kind == lexWord && !nameLinks[x.fold] {
			v.words = append(v.words, x.fold)
		}
	}
	return v, len(v.words) > 0
}

// canPrecedeName reports whether a lexeme may stand between a cue and its name, as in
// "American rock band".
func canPrecedeName(x lexeme, kind valueKind) bool {
	switch {
	case x.kind != lexWord:
		return x.fold == ":" || x.fold == "="
	case x.fold == "the" || demonyms[x.fold]:
		return true
	}
	return kind == nameValue && !x.upper && !clauseTurns[x.fold]
}

func nameEnd(line []lexeme, k int, kind valueKind) (last int) {
	last = k
	for i := k + 1; i < len(line) && i < k+8; i++ {
		switch {
		case isUpperAt(line, i) && labelWords[line[i].fold]:
			return last
		case isUpperAt(line, i):
			last = i
		case !isNameLink(line, i, last, kind) || !isUpperAt(line, i+1) && !(i+1 < len(line) && nameLinks[line[i+1].fold]):
			return last
		}
	}
	return last
}

func isNameLink(line []lexeme, i, last int, kind valueKind) bool {
	switch line[i].fold {
	case ",":
		return kind == placeValue
	case "&":
		return true
	case ".":
		return i == last+1 && len(line[last].fold) == 1
	}
	return nameLinks[line[i].fold]
}

var labelWords = fieldSet(`from written produced directed starring release released films film albums album songs music edited genre genres label studio length recorded producer director by cinematography distributed narrated story country language published retrieved archived category categories`)

var nameLinks = fieldSet(`the de von van der den la le du del di da of and und et y`)

func parseOwnerName(line []lexeme, k int) (name []string, n int) {
	if k >= len(line) || !slices.Contains([]string{"of", "in", "von", "de", "du", "des"}, line[k].fold) {
		return nil, 0
	}
	n = 1
	if k+n < len(line) && (line[k+n].fold == "the" || line[k+n].fold == "la") {
		n++
	}
	for k+n < len(line) && line[k+n].kind == lexWord && line[k+n].upper {
		name = append(name, line[k+n].fold)
		n++
	}
	if len(name) == 0 {
		return nil, 0
	}
	return name, n
}

// parseSubject returns the words of the name before the verb of a sentence, or nil.
func parseSubject(line []lexeme) (name []string) {
	for i, x := range line {
		switch {
		case quoteMarks[x.fold] || i == 0 && articles[x.fold]:
		case isUpperAt(line, i) && !notNames[x.fold] && len(name) < 8:
			name = append(name, x.fold)
		case hasFoldAt(line, i, "of", "de", "von"):
		case x.kind == lexMark && !hasFoldAt(line, i, "(", ","): // a heading or label
			return nil
		default:
			if len(name) == 1 && (len(cuesByWord()[name[0]]) > 0 || lexical.Stop(name[0], "en")) {
				return nil
			}
			return name
		}
	}
	return name
}

var (
	articles   = fieldSet(`the der die das la le el`)
	quoteMarks = map[string]bool{`"`: true, "“": true, "”": true, "„": true}
)

var notNames = fieldSet(`it he she they this that these those there as in on at from after before when while since according a an its his her their by for with during although however despite upon following because both all many most other one two first then there here now also but and or yet so if under over between through until es er sie im am nach laut il elle ils en selon se su segun`)

// quoteSubject returns the subject of a quote: the first name of its context, or of its
// first sentence.
func quoteSubject(q Quote, sentences [][]lexeme) []string {
	for _, line := range scanLexemes(q.Context, 60) {
		if name := parseSubject(line); len(name) > 0 {
			return name
		}
	}
	for _, line := range sentences[:min(1, len(sentences))] {
		if name := parseSubject(line); len(name) > 0 {
			return name
		}
	}
	return nil
}

func sortedSet(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// findQualifiers returns the words that distinguish a name from namesakes. They are
// "Michigan" in "Blue Lake, Michigan" and "Blue Lake in Michigan has", "film" in "Red
// Sand (film)", "footballer" in "Jay Arn, the footballer,".
func findQualifiers(lines [][]lexeme, name []string) []string {
	for _, line := range lines {
		for i := 1; i < len(line); i++ {
			if !slices.Contains(name, line[i-1].fold) || i < min(2, len(name)) || len(name) > 1 && !slices.Contains(name, line[i-2].fold) {
				continue
			}
			if list := qualifierAt(line, i); len(list) > 0 {
				return list
			}
		}
	}
	return nil
}

func qualifierAt(line []lexeme, i int) (list []string) {
	switch line[i].fold {
	case "(":
		return bracketWords(line, i+1)
	case "in":
		return placeOfSubject(line, i)
	case ",":
		if list := parseApposition(line, i+1); len(list) > 0 {
			return list
		}
		for k := i; hasFoldAt(line, k, ",") && isUpperAt(line, k+1); {
			for k++; isUpperAt(line, k); k++ {
				list = append(list, line[k].fold)
			}
		}
	}
	return sortedSet(list)
}

func placeOfSubject(line []lexeme, i int) (list []string) {
	for k, x := range line[:i] {
		if !x.upper && !(k == 0 && articles[x.fold]) && !nameLinks[x.fold] {
			return nil
		}
	}
	k := i + 1
	for ; isUpperAt(line, k) && monthNumber(line[k].fold) == 0; k++ {
		list = append(list, line[k].fold)
	}
	if k >= len(line) || line[k].kind != lexWord || isUpperAt(line, k) {
		return nil
	}
	return sortedSet(list)
}

const maxApposition = 8 // words

func parseApposition(line []lexeme, i int) (list []string) {
	if i >= len(line) || line[i].upper || !articles[line[i].fold] && !indefiniteArticles[line[i].fold] {
		return nil
	}
	for k := i + 1; k < len(line) && k <= i+maxApposition; k++ {
		switch x := line[k]; {
		case x.fold == ",":
			return sortedSet(list)
		case x.kind != lexWord:
			return nil
		case !articles[x.fold] && !nameLinks[x.fold] && x.fold != "in":
			list = append(list, x.fold)
		}
	}
	return nil
}

// bracketWords returns the words before a closing bracket, unless they are life dates.
func bracketWords(line []lexeme, i int) (list []string) {
	for k := i; k < len(line) && k < i+7; k++ {
		x := line[k]
		switch {
		case x.fold == ")":
			return sortedSet(list)
		case x.fold == "born" || monthNumber(x.fold) > 0 || x.fold == "–":
			return nil
		case x.kind == lexWord:
			list = append(list, x.fold)
		}
	}
	return nil
}

// splitNamesakes divides statements by namesakes. Statements without qualifiers join the others
// if those are one thing, and form their own group otherwise. Altered copies always
// share their subject.
func splitNamesakes(list []statement) (groups [][]statement) {
	var plain []statement
	var kinds [][]string
	for _, s := range list {
		if s.copied || s.attribute.kind == placeValue || len(s.qualifiers) == 0 {
			plain = append(plain, s)
			continue
		}
		i := slices.IndexFunc(kinds, func(k []string) bool { return slices.Equal(k, s.qualifiers) })
		if i < 0 {
			i = len(kinds)
			kinds, groups = append(kinds, s.qualifiers), append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	if areNested(kinds) {
		return [][]statement{list}
	}
	return append(groups, plain)
}

// areNested reports whether all lists of qualifiers are nested.
func areNested(kinds [][]string) bool {
	for i, a := range kinds {
		for _, b := range kinds[:i] {
			if !isSubset(a, b) && !isSubset(b, a) {
				return false
			}
		}
	}
	return true
}

func isSubset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}
