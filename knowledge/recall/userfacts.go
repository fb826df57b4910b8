package recall

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// Factors for passages without words of the query: the index also counts words of the
// title, the neighbours and the document.
const (
	noWordFactor  = 0.29 // with none of the words
	fewWordFactor = 0.7  // with hardly any of them
)

// A wordForms caches the forms of words during a search.
type wordForms struct {
	languages []lexical.Language
	forms     map[string][]string
}

// formsOf returns a word's forms: folded, and its stems.
func (s *wordForms) formsOf(word string) []string {
	if list, ok := s.forms[word]; ok {
		return list
	}
	list := []string{lexical.Fold(word)}
	for _, lang := range s.languages {
		if stem := lexical.Stem(word, lang); !slices.Contains(list, stem) {
			list = append(list, stem)
		}
	}
	if s.forms == nil {
		s.forms = map[string][]string{}
	}
	s.forms[word] = list
	return list
}

// ownWords returns the matched words in the candidate's own text, headings or speaker; the
// first passage also has its title.
func (s *search) ownWords(c *candidate, known *wordForms) []string {
	if len(c.words) == 0 {
		return nil
	}
	wanted, first := map[string][]int{}, map[rune]bool{}
	var prefixes []string
	for i, w := range c.words {
		if s.isPrefix(w) {
			prefixes = append(prefixes, lexical.Fold(w))
		}
		for _, w := range []string{w, c.corrected[w]} {
			for _, form := range known.formsOf(w) {
				wanted[form] = append(wanted[form], i)
				first[firstRune(form)] = form != ""
			}
		}
	}
	has := make([]bool, len(c.words))
	look := func(text string) {
		lexical.Tokens(text, func(t lexical.Token) {
			w := text[t.Start:t.End]
			if folded := lexical.Fold(w); !first[firstRune(folded)] {
				return
			} else if len(prefixes) > 0 {
				for i, q := range c.words {
					has[i] = has[i] || slices.Contains(prefixes, lexical.Fold(q)) && strings.HasPrefix(folded, lexical.Fold(q))
				}
			}
			for _, form := range known.formsOf(w) {
				for _, i := range wanted[form] {
					has[i] = has[i] || form != ""
				}
			}
		})
	}
	look(c.passage.Text)
	look(c.passage.Heading)
	look(c.passage.Speaker)
	if c.passage.Start == 0 {
		look(c.item.Title)
	}
	var list []string
	for i, w := range c.words {
		if has[i] {
			list = append(list, w)
		}
	}
	return list
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// isPrefix reports whether the query has word as a prefix.
func (s *search) isPrefix(word string) bool {
	for _, w := range s.query.Words {
		if w.Prefix && strings.EqualFold(w.Text, word) {
			return true
		}
	}
	return false
}

func (s *search) weighCandidates(list []*candidate) {
	parallelParts(list, func(part []*candidate) {
		known := wordForms{languages: s.languages}
		for _, c := range part {
			s.weighOwnWords(c, &known)
		}
	})
}

// weighOwnWords lowers the score of a candidate by the share of words that it lacks itself.
// Turns of conversations keep theirs: an answer does not repeat the question.
func (s *search) weighOwnWords(c *candidate, known *wordForms) {
	own := s.ownWords(c, known)
	share := 1.0
	switch {
	case c.byMeaning || len(c.passage.Speaker) > 0:
	case len(own) == 0:
		share = noWordFactor
	default:
		share = fewWordFactor + (1-fewWordFactor)*float64(len(own))/float64(len(c.words))
	}
	c.score *= share
	c.relevance *= share
	c.words = own
	if len(own) == 0 {
		c.related, c.byWords = c.byWords || c.related, false
	}
}
