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
var lexicon = readLexicon(questionwords.QuestionWords + lexiconText)

// readLexicon parses lines such as "filler: please, tell me". A name may have several lines.
func readLexicon(text string) map[string][]string {
	all := make(map[string][]string)
	for line := range strings.Lines(text) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for phrase := range strings.SplitSeq(list, ",") {
			if phrase = foldPhrase(phrase); phrase != "" {
				all[name] = append(all[name], phrase)
			}
		}
	}
	return all
}

func foldPhrase(text string) string {
	fields := strings.FieldsFunc(text, func(r rune) bool { return isBlank(r) })
	for i := range fields {
		fields[i] = lexical.Fold(fields[i])
	}
	return strings.Join(fields, " ")
}

// hasPhrase reports whether a question contains a phrase of a name, as whole words or, in unspaced
// scripts, as a substring.
func (a *parsedQuestion) hasPhrase(name string) bool {
	for _, phrase := range lexicon[name] {
		if a.containsPhrase(phrase) {
			return true
		}
	}
	return false
}

func (a *parsedQuestion) beginsWithPhrase(name string) bool {
	for _, phrase := range lexicon[name] {
		if strings.HasPrefix(a.padded, " "+phrase+" ") || isUnspaced(phrase) && strings.HasPrefix(a.folded, phrase) {
			return true
		}
	}
	return false
}

func (a *parsedQuestion) containsPhrase(phrase string) bool {
	return strings.Contains(a.padded, " "+phrase+" ") || isUnspaced(phrase) && strings.Contains(a.folded, phrase)
}

func isUnspaced(text string) bool { return strings.ContainsFunc(text, lexical.Unspaced) }

// inLexicon reports whether a folded word is a phrase of a name.
func inLexicon(name, word string) bool { return sets[name][word] }

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
