package recall

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// What is left of the score of a passage for words of the query that it does not
// say itself: the index counts those of its title, of the passages beside it and
// of its whole document too.
const (
	strange = 0.29 // it says none
	partly  = 0.7  // it says hardly any of those that it was found by
)

// A said is what passages say, by the first letters of words that matter: a word's
// forms are worked out once in a search.
type said struct {
	languages []lexical.Language
	forms     map[string][]string
}

// of returns the forms of a word: without case and accents, and its stems.
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

// own returns the words that a candidate was found by and says itself, in its text
// or in the headings above it; its first passage also in its title.
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

// prefix reports whether the query has a word as a beginning of others.
func (s *search) prefix(word string) bool {
	for _, w := range s.query.Words {
		if w.Prefix && strings.EqualFold(w.Text, word) {
			return true
		}
	}
	return false
}

// weighAll weighs candidates.
func (s *search) weighAll(list []*candidate) {
	inParts(list, func(part []*candidate) {
		known := said{languages: s.languages}
		for _, c := range part {
			s.weigh(c, &known)
		}
	})
}

// weigh takes from the score of a candidate what it has of words that it does not
// say, and leaves it those that it does. A turn of a conversation keeps what it has
// of those beside it, for an answer does not repeat the question.
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
