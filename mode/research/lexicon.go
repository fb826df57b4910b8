package research

import (
	_ "embed" // for the words
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/mode/internal/questionwords"
)

// lexiconText has the words that questions are made of, as they are compared.
//
//go:embed lexicon.txt
var lexiconText string

// lexicon has phrases of folded words, by what they are; of scripts without spaces
// they are parts of a text. Nothing changes it.
var lexicon = readLexicon(questionwords.Asking + lexiconText)

// readLexicon reads lines such as "filler: please, tell me". A name may have several.
func readLexicon(text string) map[string][]string {
	all := make(map[string][]string)
	for line := range strings.Lines(text) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for phrase := range strings.SplitSeq(list, ",") {
			if phrase = folded(phrase); phrase != "" {
				all[name] = append(all[name], phrase)
			}
		}
	}
	return all
}

// folded returns the words of a text as they are compared, with a blank between them.
func folded(text string) string {
	fields := strings.FieldsFunc(text, func(r rune) bool { return isBlank(r) })
	for i := range fields {
		fields[i] = lexical.Fold(fields[i])
	}
	return strings.Join(fields, " ")
}

// has reports whether a question has a phrase of a name. Words are whole, but in a
// script without spaces they are parts of it.
func (a *asking) has(name string) bool {
	for _, phrase := range lexicon[name] {
		if a.contains(phrase) {
			return true
		}
	}
	return false
}

// begins reports whether a question begins with a phrase of a name.
func (a *asking) begins(name string) bool {
	for _, phrase := range lexicon[name] {
		if strings.HasPrefix(a.padded, " "+phrase+" ") || unspaced(phrase) && strings.HasPrefix(a.folded, phrase) {
			return true
		}
	}
	return false
}

func (a *asking) contains(phrase string) bool {
	return strings.Contains(a.padded, " "+phrase+" ") || unspaced(phrase) && strings.Contains(a.folded, phrase)
}

// unspaced reports whether a text has letters of a script that does not space words.
func unspaced(text string) bool { return strings.ContainsFunc(text, lexical.Unspaced) }

// among reports whether a folded word is a phrase of a name.
func among(name, word string) bool { return sets[name][word] }

// sets has what [among] looks up.
var sets = func() map[string]map[string]bool {
	all := make(map[string]map[string]bool)
	for name, list := range lexicon {
		all[name] = make(map[string]bool)
		for _, phrase := range list {
			all[name][phrase] = true
		}
	}
	return all
}()
