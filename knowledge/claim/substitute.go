package claim

import (
	"cmp"
	"ponder/internal/textkit/lexical"
	"slices"
)

// substituted says that the source has another word in the place of one of the claim.
func (b *beside) substituted() string {
	left := 0
	odd := -1
	for i, x := range b.credit {
		if x >= 0.5 {
			continue
		}
		left++
		odd = i
		if w := b.instead(b.ours[i]); w != "" {
			return "the source says " + w + ", not " + b.terms[i].fold
		}
	}
	if left == 1 && len(b.terms) > 2 && b.bare(odd) && len(b.likes[odd]) == 0 && !commonWords[b.terms[odd].fold] && b.share(b.windows[0].credit) >= mostOf {
		return "no quote says " + b.terms[odd].fold
	}
	return ""
}

// bare reports whether a term without which the rest stands cannot be spared: the claim
// is short, or lists it, or it is a noun with a capital of a German sentence.
func (b *beside) bare(i int) bool {
	n := b.ours[i]
	return len(b.terms) <= 4 || n > 0 && n < len(b.mine) && (b.mine[n].comma || clauseWords[b.mine[n-1].fold]) && len(b.terms) <= 8 || b.lang == "de" && n > 0 && n < len(b.mine) && b.mine[n].upper
}

// instead returns the word of the sentence that stands between the words that word n of
// the claim stands between, and that the claim has not, or "".
func (b *beside) instead(n int) string {
	for k := range b.theirs {
		same := b.agree(n, k, -1) + b.agree(n, k, 1)
		if same < 2 || b.agree(n, k, -1) == 0 && n > 1 || b.agree(n, k, 1) == 0 && n < len(b.mine)-1 {
			continue
		}
		if w := b.theirs[k]; !w.number && !lexical.Unspaced(firstRune(w.fold)) && w.fold != b.mine[n].fold && b.isTerm(k) && !b.says(w.fold) {
			return w.fold
		}
	}
	return ""
}

// agree returns how many words from place n of the claim and k of the sentence on, in a
// direction, are the same: at most two.
func (b *beside) agree(n, k, way int) (same int) {
	for d := 1; d <= 2; d++ {
		i, j := n+d*way, k+d*way
		if i < 0 || j < 0 || i >= len(b.mine) || j >= len(b.theirs) || b.mine[i].fold != b.theirs[j].fold {
			break
		}
		same++
	}
	return same
}

func (b *beside) isTerm(at int) bool {
	return slices.ContainsFunc(b.unit.terms, func(t term) bool { return t.nth == at })
}

// says reports whether the claim has a word.
func (b *beside) says(word string) bool {
	for i := range b.mine {
		if b.mine[i].fold == word {
			return true
		}
	}
	return false
}

// additions begin a part of a sentence that adds to it.
var additions = fieldSet(`and but which who whose where because using while with making und aber sondern weil wobei et mais qui dont y pero que porque`)

// untold returns the words of a part of the claim, behind its first, of which the quotes
// have next to nothing, or "".
func (b *beside) untold() string {
	part, parts := 0, make([]int, len(b.mine))
	for i := range b.mine {
		if i > 0 && (b.mine[i].comma || additions[b.mine[i].fold]) {
			part++
		}
		parts[i] = part
	}
	facts := make([]float64, part+1)
	for _, x := range statingsOf(&b.reading, 0, b.mine) {
		if x.at >= 0 {
			facts[parts[x.at]] += factWeight
		}
	}
	for p := 1; p <= part; p++ {
		got, all, n, lost := facts[p], facts[p], 0, ""
		for i := range b.terms {
			if parts[b.ours[i]] != p {
				continue
			}
			all += b.weights[i]
			got += b.weights[i] * b.credit[i]
			if b.credit[i] < 0.5 && !b.view.names[i] {
				n++
			}
			if b.credit[i] < 0.5 && !b.view.names[i] && !commonWords[b.terms[i].fold] {
				if lost != "" {
					lost += ", "
				}
				lost += b.terms[i].fold
			}
		}
		if lost != "" && got < 0.4*all {
			if n == 1 { // it may be said in another way
				b.swap = cmp.Or(b.swap, "no quote says "+lost)
				continue
			}
			return lost
		}
	}
	return ""
}
