package claim

import (
	"slices"

	"ponder/words"
)

// demonyms are names that say what kind a thing is.
var demonyms = wordSet(`american british english scottish irish welsh canadian australian japanese korean south north indian french german spanish italian dutch belgian swedish norwegian danish finnish polish russian ukrainian chinese mexican brazilian argentine greek turkish austrian swiss norwegian icelandic portuguese african european asian nigerian israeli`)

// statedNameAt reads the name or place behind a cue.
func statedNameAt(text string, line []lexeme, k int, kind worthKind) (v worth, ok bool) {
	end := min(len(line), k+7)
	for k < end && (line[k].fold == ":" || line[k].fold == "=" || line[k].kind == lexWord && (demonyms[line[k].fold] || kind == nameWorth && !line[k].upper && !clauseTurns[line[k].fold] || line[k].fold == "the")) {
		k++
	}
	if k >= end || line[k].kind != lexWord || !line[k].upper {
		return v, false
	}
	from, last := k, k
	for ; k < len(line) && k < from+8; k++ {
		x := line[k]
		joins := x.fold == "," && kind == placeWorth || x.fold == "&" || x.fold == "." && k == last+1 && len(line[last].fold) == 1 || nameLinks[x.fold]
		if x.kind == lexWord && x.upper && k > from && labelWords[x.fold] {
			break
		}
		if x.kind == lexWord && x.upper {
			last = k
		} else if !joins || k+1 >= len(line) || !line[k+1].upper && !nameLinks[line[k+1].fold] {
			break
		}
	}
	v = worth{kind: kind, text: text[line[from].start:line[last].end]}
	for _, x := range line[from : last+1] {
		if x.kind == lexWord && !nameLinks[x.fold] && x.fold != "the" {
			v.words = append(v.words, x.fold)
		}
	}
	return v, len(v.words) > 0
}

// labelWords begin what stands behind a name in a table.
var labelWords = wordSet(`from written produced directed starring release released films film albums album songs music edited genre genres label studio length recorded producer director by cinematography distributed narrated story country language published retrieved archived category categories`)

var nameLinks = wordSet(`the de von van der den la le du del di da of and und et y`)

// ofName reads "of Broken Bow", and says how many lexemes it takes.
func ofName(line []lexeme, k int) (name []string, n int) {
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

// subjectOf returns the words of the name that a sentence begins with, before its verb;
// nil if it begins otherwise.
func subjectOf(line []lexeme) (name []string) {
	for i, x := range line {
		switch {
		case x.kind == lexMark && (x.fold == `"` || x.fold == "“" || x.fold == "”" || x.fold == "„"):
		case i == 0 && (x.fold == "the" || x.fold == "der" || x.fold == "die" || x.fold == "das" || x.fold == "la" || x.fold == "le" || x.fold == "el"):
		case x.kind == lexWord && x.upper && !notNames[x.fold] && len(name) < 8:
			name = append(name, x.fold)
		case x.fold == "of" || x.fold == "de" || x.fold == "von":
		default:
			if x.kind == lexMark && x.fold != "(" && x.fold != "," { // a heading or label
				return nil
			}
			if len(name) == 1 && (len(statedCues()[name[0]]) > 0 || words.Stop(name[0], "en")) {
				return nil
			}
			return name
		}
	}
	return name
}

// notNames begin sentences and name nothing.
var notNames = wordSet(`it he she they this that these those there as in on at from after before when while since according a an its his her their by for with during although however despite upon following because both all many most other one two first then there here now also but and or yet so if under over between through until es er sie im am nach laut il elle ils en selon se su segun`)

// leadOf returns the words of the name that a quote is about: that which its context, or
// else its first sentence, begins with.
func leadOf(q Quote, sentences [][]lexeme) []string {
	for _, line := range lexemes(q.Context, 60) {
		if name := subjectOf(line); len(name) > 0 {
			return name
		}
	}
	for _, line := range sentences[:min(1, len(sentences))] {
		if name := subjectOf(line); len(name) > 0 {
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
