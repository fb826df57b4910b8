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
	strange = 0.29 // with none of the words
	partly  = 0.7  // with hardly any of them
)

// A said caches the forms of words during a search.
type said struct {
	languages []lexical.Language
	forms     map[string][]string
}

// of returns a word's forms: folded, and its stems.
func (s *said) of(word string) []string {
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

// own returns the matched words in the candidate's own text, headings or speaker; the
// first passage also has its title.
func (s *search) own(c *candidate, known *said) []string {
	if len(c.words) == 0 {
		return nil
	}
	wanted, first := map[string][]int{}, map[rune]bool{}
	var prefixes []string
	for i, w := range c.words {
		if s.prefix(w) {
			prefixes = append(prefixes, lexical.Fold(w))
		}
		for _, w := range []string{w, c.corrected[w]} {
			for _, form := range known.of(w) {
				wanted[form] = append(wanted[form], i)
				first[initial(form)] = form != ""
			}
		}
	}
	has := make([]bool, len(c.words))
	look := func(text string) {
		lexical.Tokens(text, func(t lexical.Token) {
			w := text[t.Start:t.End]
			if folded := lexical.Fold(w); !first[initial(folded)] {
				return
			} else if len(prefixes) > 0 {
				for i, q := range c.words {
					has[i] = has[i] || slices.Contains(prefixes, lexical.Fold(q)) && strings.HasPrefix(folded, lexical.Fold(q))
				}
			}
			for _, form := range known.of(w) {
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

func initial(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// prefix reports whether the query has word as a prefix.
func (s *search) prefix(word string) bool {
	for _, w := range s.query.Words {
		if w.Prefix && strings.EqualFold(w.Text, word) {
			return true
		}
	}
	return false
}

func (s *search) weighAll(list []*candidate) {
	inParts(list, func(part []*candidate) {
		known := said{languages: s.languages}
		for _, c := range part {
			s.weigh(c, &known)
		}
	})
}

// weigh lowers the score of a candidate by the share of words that it lacks itself.
// Turns of conversations keep theirs: an answer does not repeat the question.
func (s *search) weigh(c *candidate, known *said) {
	own := s.own(c, known)
	share := 1.0
	switch {
	case c.byMeaning || len(c.passage.Speaker) > 0:
	case len(own) == 0:
		share = strange
	default:
		share = partly + (1-partly)*float64(len(own))/float64(len(c.words))
	}
	c.score *= share
	c.relevance *= share
	c.words = own
	if len(own) == 0 {
		c.related, c.byWords = c.byWords || c.related, false
	}
}
