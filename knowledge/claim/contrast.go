package claim

import (
	_ "embed" // for the words
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed contrasts.txt
var contrastTable string

//go:embed stances.txt
var stanceTable string

// A wordList has words, and beginnings of words.
type wordList struct {
	whole  map[string]bool
	begins []string
}

func (l *wordList) add(list string) {
	if l.whole == nil {
		l.whole = make(map[string]bool)
	}
	for w := range strings.FieldsSeq(list) {
		if p, ok := strings.CutSuffix(w, "*"); ok {
			l.begins = append(l.begins, p)
		} else {
			l.whole[w] = true
		}
	}
}

// has reports whether a folded word is in the list.
func (l *wordList) has(word string) bool {
	if l.whole[word] {
		return true
	}
	return slices.ContainsFunc(l.begins, func(p string) bool { return strings.HasPrefix(word, p) })
}

// in returns the first word of a list among atoms and its index, or "".
func (l *wordList) in(atoms []atom) (string, int) {
	for i := range atoms {
		if !atoms[i].number && l.has(atoms[i].fold) {
			return atoms[i].fold, i
		}
	}
	return "", -1
}

// tableLines calls yield for the lines of a table that are no comments.
func tableLines(table string, yield func(line string)) {
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			yield(line)
		}
	}
}

// contrasts are the groups of sides of which one excludes the others.
var contrasts = sync.OnceValue(func() (groups [][]wordList) {
	tableLines(contrastTable, func(line string) {
		var sides []wordList
		for side := range strings.SplitSeq(line, "|") {
			var l wordList
			l.add(side)
			sides = append(sides, l)
		}
		groups = append(groups, sides)
	})
	return groups
})

// stances are the lists of stanceTable by their class.
var stances = sync.OnceValue(func() map[string]*wordList {
	all := make(map[string]*wordList)
	tableLines(stanceTable, func(line string) {
		class, list, _ := strings.Cut(line, ":")
		if all[class] == nil {
			all[class] = new(wordList)
		}
		all[class].add(list)
	})
	return all
})

// contrast says that the source has a word that excludes one of the claim, which it has
// not, or "".
func contrast(mine, theirs []atom) string {
	for _, sides := range contrasts() {
		for i := range sides {
			w, _ := sides[i].in(mine)
			if w == "" {
				continue
			}
			if same, _ := sides[i].in(theirs); same != "" {
				continue
			}
			for k := range sides {
				if o, _ := sides[k].in(theirs); k != i && o != "" && !sides[k].hasAny(mine) {
					return "the source says " + o + ", not " + w
				}
			}
		}
	}
	return ""
}

func (l *wordList) hasAny(atoms []atom) bool { w, _ := l.in(atoms); return w != "" }

// concluding is what a claim says of itself that is concluded from others.
var concluding = regexp.MustCompile(`(?i)(^|[;,:—–] ?|\band )(so|therefore|thus|hence|consequently|accordingly|it follows that|(this|that|which|these (figures|facts|results|findings)|all (of )?this|taken together,? th(is|ese|ey)) (together )?(suggests?|implies|imply|indicates?|means|points? to)|` +
	`daher|deshalb|daraus folgt|folglich|somit|das (legt nahe|deutet|bedeutet)|dies (legt nahe|deutet|bedeutet)|donc|par conséquent|cela (suggère|implique|signifie|indique)|on peut en (conclure|déduire)|por (lo )?tanto|por consiguiente|esto (sugiere|implica|significa|indica)|así que|因此|所以|したがって)([\s,]|$)`)

// concludes reports whether a claim says of itself that it is concluded.
func concludes(text string) bool {
	m := concluding.FindStringIndex(text)
	return m != nil && !strings.HasPrefix(strings.ToLower(text), "so far")
}

// VerifyAll checks the claims of an answer, in their order, those that are factual; the
// findings of the others are zero. A claim that says of itself that it is concluded, and
// whose words are in claims before it that are supported, is an inference.
func (c *Corpus) VerifyAll(sentences []Sentence) []Finding {
	findings := make([]Finding, len(sentences))
	var ground []Quote
	for i, s := range sentences {
		if !s.Factual {
			continue
		}
		findings[i] = c.Verify(s)
		f := &findings[i]
		switch {
		case f.Verdict == Supported:
			ground = append(ground, Quote{ID: "ground", Text: s.Text})
		case concludes(s.Text) && f.Verdict != Contradicted && f.Verdict != Inference && len(ground) > 0:
			if rests(s, ground) {
				f.Verdict, f.Reason = Inference, "it is concluded from claims that are supported"
			}
		}
	}
	return findings
}

// restsOn is the share of an inference that the claims before it must have.
const restsOn = 0.35

// rests reports whether the words of a claim, its figures and names are in others.
func rests(s Sentence, ground []Quote) bool {
	k := NewCorpus(ground).look(s).compare(nil)
	return len(k.windows) > 0 && k.cover >= restsOn && k.lacking == 0 && len(k.missing) == 0
}
