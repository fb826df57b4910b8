// Package questionwords separates the content words of a question from the words that only ask.
package questionwords

import (
	_ "embed" // for the words
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

// Asking lists words and phrases that only ask, in lines such as "filler: please, tell".
//
//go:embed asking.txt
var Asking string

var only = func() map[string]bool {
	all := make(map[string]bool)
	for line := range strings.Lines(Asking) {
		if _, list, ok := strings.Cut(line, ":"); ok && line[0] != '#' {
			for phrase := range strings.SplitSeq(list, ",") {
				lexical.Tokens(phrase, func(t lexical.Token) { all[lexical.Fold(phrase[t.Start:t.End])] = true })
			}
		}
	}
	return all
}()

const (
	maxQuestion = 2 << 10
	maxNamed    = 4 // listed words
	maxWord     = 40
	partOf      = 4   // minimum bytes of a stem to match inside words
	leastSure   = 0.5 // minimum confidence in the texts' language
)

// Missing returns the content words of a question that no text contains in any form, in order and
// spelling of the question. It returns nil for unspaced scripts, unknown languages, and texts in
// another language.
func Missing(question string, texts []string) (missing []string) {
	question = joined(textkit.CleanTrim(textkit.TruncateBytes(question, maxQuestion)))
	said := joined(strings.Join(texts, "\n"))
	lang, _ := lexical.Detect(question)
	theirs, sure := lexical.Detect(said)
	switch {
	case lang == "" && sure >= leastSure:
		lang = theirs
	case lang == "":
		lang = "en" // the most common for short texts
	case theirs != "" && lang != theirs && sure >= leastSure:
		return nil
	}
	if !slices.Contains(lexical.Languages(), lang) {
		return nil
	}
	have := make(map[string]bool)
	lexical.Tokens(said, func(t lexical.Token) {
		w := said[t.Start:t.End]
		have[lexical.Fold(w)], have[lexical.Stem(w, lang)] = true, true
	})
	seen := make(map[string]bool)
	lexical.Tokens(question, func(t lexical.Token) {
		w := question[t.Start:t.End]
		stem := lexical.Stem(w, lang)
		if seen[stem] || !isTopic(w, lang) {
			return
		}
		if seen[stem] = true; !have[stem] && !have[lexical.Fold(w)] && (len(stem) < partOf || !partOfAny(stem, have)) {
			missing = append(missing, w)
		}
	})
	return missing
}

func joined(s string) string { return groups.ReplaceAllString(s, "$1$2") }

var groups = regexp.MustCompile(`(\d)[,.'’](\d{3}\b)`)

func isTopic(word string, lang lexical.Language) bool {
	r, n := utf8.DecodeRuneInString(word)
	fold := lexical.Fold(word)
	if lexical.Unspaced(r) || only[fold] || n == len(word) && (r < '0' || r > '9') {
		return false
	}
	return !slices.ContainsFunc([]lexical.Language{lang, "en", "de", "fr", "es"}, func(l lexical.Language) bool { return lexical.Stop(word, l) })
}

func partOfAny(stem string, have map[string]bool) bool {
	for w := range have {
		if strings.Contains(w, stem) {
			return true
		}
	}
	return false
}

// Lack returns a sentence, with a leading blank, that lists the content words missing in quotes, or
// "".
func Lack(question string, quotes []string) string {
	missing := Missing(question, quotes)
	if len(missing) == 0 {
		return ""
	}
	for i, w := range missing[:min(len(missing), maxNamed)] {
		missing[i] = "“" + textkit.TruncateBytes(textkit.OneLine(w), maxWord) + "”"
	}
	switch n := len(missing); {
	case n == 1:
		return " No quotation has " + missing[0] + "."
	case n <= maxNamed:
		return " No quotation has " + strings.Join(missing[:n-1], ", ") + " or " + missing[n-1] + "."
	default:
		return fmt.Sprintf(" No quotation has %s or %d more words of the question.", strings.Join(missing[:maxNamed], ", "), n-maxNamed)
	}
}
