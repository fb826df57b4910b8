package recall

import (
	"cmp"
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
	"ponder/knowledge/document"
)

// Selection of the quoted sentence. Method and most numbers are those of
// [document.Collection.Search]; the found passages give the rarity of words.
const (
	nextWeight = 0.3 // share of the neighbours' scores
	pairWeight = 0.2 // bonus for adjacent words of the query, as share of their weight
	lengthNorm = 0.5 // b of BM25
)

type queryTerms struct {
	weight []float64        // by index of word
	forms  map[string][]int // indexes of a form's words
	first  map[rune]bool    // initials of forms
}

func (s *search) quoteTerms(list []*candidate) queryTerms {
	known := wordForms{languages: s.languages}
	k := queryTerms{forms: map[string][]int{}, first: map[rune]bool{}}
	has := map[string]int{}
	for _, c := range list {
		for _, w := range c.words {
			has[strings.ToLower(w)]++
		}
	}
	add := func(word string) {
		n, df := float64(len(list)), float64(has[strings.ToLower(word)])
		for _, w := range []string{word, s.result.Corrected[word]} {
			for _, form := range known.formsOf(w) {
				if form != "" && !slices.Contains(k.forms[form], len(k.weight)) {
					k.forms[form] = append(k.forms[form], len(k.weight))
					k.first[firstRune(form)] = true
				}
			}
		}
		k.weight = append(k.weight, ranking.Rarity(n, df))
	}
	for _, w := range s.query.Words {
		if !w.Not {
			lexical.Tokens(w.Text, func(t lexical.Token) { add(w.Text[t.Start:t.End]) })
		}
	}
	return k
}

type sentenceTally struct {
	score   float64
	content int
	bytes   int
}

// rankSentences returns the indexes of sentences with wanted words or next to such, the best
// first.
func (k queryTerms) rankSentences(d *document.Document, known *wordForms) (list []int) {
	tallies := make([]sentenceTally, len(d.Sentences))
	all := 0
	for i, u := range d.Sentences {
		tallies[i] = k.tallySentence(d.Text[u.Start:u.End], known)
		all += tallies[i].content
	}
	average := float64(all) / float64(max(1, len(tallies)))
	scores := make([]float64, len(tallies))
	for i, t := range tallies {
		scores[i] = float64(ranking.NewScorer(t.score, average, lengthNorm).Score(1, float32(t.content)))
	}
	total := make([]float64, len(tallies))
	for i, u := range d.Sentences {
		total[i] = scores[i]
		if i > 0 {
			total[i] += nextWeight * scores[i-1]
		}
		if i+1 < len(scores) {
			total[i] += nextWeight * scores[i+1]
		}
		if total[i] *= quoteQuality(u.Kind, d.Text[u.Start:u.End], tallies[i]); total[i] > 0 {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(total[b], total[a]) })
	return list
}

func (k queryTerms) tallySentence(text string, known *wordForms) (t sentenceTally) {
	seen := make([]bool, len(k.weight))
	last := []int(nil)
	lexical.Tokens(text, func(token lexical.Token) {
		w := text[token.Start:token.End]
		t.content++
		t.bytes += len(w)
		now := k.termIndexes(w, known)
		for _, i := range now {
			if slices.Contains(last, i-1) {
				t.score += pairWeight * (k.weight[i-1] + k.weight[i])
			}
			if !seen[i] {
				seen[i] = true
				t.score += k.weight[i]
			}
		}
		last = now
	})
	return t
}

// termIndexes returns the indexes of the words with this form.
func (k queryTerms) termIndexes(word string, known *wordForms) []int {
	if folded := lexical.Fold(word); !k.first[firstRune(folded)] {
		return nil
	}
	for _, form := range known.formsOf(word) {
		if list := k.forms[form]; list != nil {
			return list
		}
	}
	return nil
}

// quoteQuality returns the quality of a sentence as a quote, 0 to 1; headings and code have 0.
func quoteQuality(kind document.Kind, text string, t sentenceTally) float64 {
	w := 1.0
	switch {
	case kind == document.Heading || kind == document.Code || t.content == 0:
		return 0
	case t.content < 4:
		w = 0.4
	case t.content < 8:
		w = 0.75
	}
	if document.IsQuestion(text) {
		w *= 0.75
	}
	if t.bytes+t.content < len(text)*4/5 {
		w *= 0.6 // many symbols
	}
	return w
}
