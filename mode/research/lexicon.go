package research

import (
	_ "embed" // for the words
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/mode/internal/questionwords"
)

// lexiconText lists the function words of questions.
//
//go:embed lexicon.txt
var lexiconText string

// lexicon maps names to folded phrases; for unspaced scripts, to substrings. It is read-only.
var lexicon = readLexicon(questionwords.Asking + lexiconText)

// readLexicon parses lines such as "filler: please, tell me". A name may have several lines.
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

func folded(text string) string {
	fields := strings.FieldsFunc(text, func(r rune) bool { return isBlank(r) })
	for i := range fields {
		fields[i] = lexical.Fold(fields[i])
	}
	return strings.Join(fields, " ")
}

// has reports whether a question contains a phrase of a name, as whole words or, in unspaced
// scripts, as a substring.
func (a *asking) has(name string) bool {
	for _, phrase := range lexicon[name] {
		if a.contains(phrase) {
			return true
		}
	}
	return false
}

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

func unspaced(text string) bool { return strings.ContainsFunc(text, lexical.Unspaced) }

// among reports whether a folded word is a phrase of a name.
func among(name, word string) bool { return sets[name][word] }

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
