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

// QuestionWords lists words and phrases that only ask, in lines such as "filler: please, tell".
//
//go:embed asking.txt
var QuestionWords string

var askingWords = func() map[string]bool {
	all := make(map[string]bool)
	for line := range strings.Lines(QuestionWords) {
		if _, list, ok := strings.Cut(line, ":"); ok && line[0] != '#' {
			for phrase := range strings.SplitSeq(list, ",") {
				lexical.Tokens(phrase, func(t lexical.Token) { all[lexical.Fold(phrase[t.Start:t.End])] = true })
			}
		}
	}
	return all
}()

const (
	maxQuestion   = 2 << 10
	maxListed     = 4 // listed words
	maxWord       = 40
	minPartBytes  = 4   // minimum bytes of a stem to match inside words
	minConfidence = 0.5 // minimum confidence in the texts' language
)

// MissingWords returns the content words of a question that no text contains in any form, in order and
// spelling of the question. It returns nil for unspaced scripts, unknown languages, and texts in
// another language.
func MissingWords(question string, texts []string) (missing []string) {
	question = joinDigits(textkit.CleanTrim(textkit.TruncateBytes(question, maxQuestion)))
	said := joinDigits(strings.Join(texts, "\n"))
	lang, _ := lexical.Detect(question)
	theirs, sure := lexical.Detect(said)
	switch {
	case lang == "" && sure >= minConfidence:
		lang = theirs
	case lang == "":
		lang = "en" // the most common for short texts
	case theirs != "" && lang != theirs && sure >= minConfidence:
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
		if seen[stem] || !isContentWord(w, lang) {
			return
		}
		if seen[stem] = true; !have[stem] && !have[lexical.Fold(w)] && (len(stem) < minPartBytes || !isPartOfAny(stem, have)) {
			missing = append(missing, w)
		}
	})
	return missing
}

func joinDigits(s string) string { return digitGroups.ReplaceAllString(s, "$1$2") }

var digitGroups = regexp.MustCompile(`(\d)[,.'’](\d{3}\b)`)

func isContentWord(word string, lang lexical.Language) bool {
	r, n := utf8.DecodeRuneInString(word)
	fold := lexical.Fold(word)
	if lexical.Unspaced(r) || askingWords[fold] || n == len(word) && (r < '0' || r > '9') {
		return false
	}
	return !slices.ContainsFunc([]lexical.Language{lang, "en", "de", "fr", "es"}, func(l lexical.Language) bool { return lexical.Stop(word, l) })
}

func isPartOfAny(stem string, have map[string]bool) bool {
	for w := range have {
		if strings.Contains(w, stem) {
			return true
		}
	}
	return false
}

// DescribeMissing returns a sentence, with a leading blank, that lists the content words missing in quotes, or
// "".
func DescribeMissing(question string, quotes []string) string {
	missing := MissingWords(question, quotes)
	if len(missing) == 0 {
		return ""
	}
	for i, w := range missing[:min(len(missing), maxListed)] {
		missing[i] = "“" + textkit.TruncateBytes(textkit.OneLine(w), maxWord) + "”"
	}
	switch n := len(missing); {
	case n == 1:
		return " No quotation contains " + missing[0] + "."
	case n <= maxListed:
		return " No quotation contains " + strings.Join(missing[:n-1], ", ") + " or " + missing[n-1] + "."
	default:
		return fmt.Sprintf(" No quotation contains %s or %d more words of the question.", strings.Join(missing[:maxListed], ", "), n-maxListed)
	}
}
