package lookup

import (
	"slices"
	"strings"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	weighing "ponder/knowledge/evidence"
)

// Names of signals that package evidence has.
const (
	signalAddressed     = "addressed"
	signalTransport     = "transport"
	signalCorroboration = "corroboration"
)

// folderProvider is the provider whose pages do not come over the network.
const folderProvider = "folder"

// WorthOf returns what a hit counts beside others of the same relevance, from 0 to 1:
// the weight of what is known of its source, as package evidence has it. It is
// rounded, so that it is the same on all machines.
func WorthOf(h Hit) float64 {
	if len(h.Quality) == 0 {
		return 1
	}
	return Rounded(weighing.Weight(h.Quality))
}

// What makes two passages copies of each other.
const (
	leastCopied = 8   // different words, for fewer say nothing of where they are from
	copiedShare = 0.9 // of their words
)

// Copies reports whether two sorted lists are the words of copies of one text.
func Copies(a, b []string) bool {
	if len(a) < leastCopied {
		return false
	}
	both := Shared(a, b)
	return float64(both) >= copiedShare*float64(len(a)+len(b)-both)
}

// Shared counts what two sorted lists have in common.
func Shared(a, b []string) (n int) {
	for _, w := range a {
		if _, ok := slices.BinarySearch(b, w); ok {
			n++
		}
	}
	return n
}

// unsignalled returns signals without those of a name.
func unsignalled(list []ponder.Signal, name string) []ponder.Signal {
	return slices.DeleteFunc(list, func(g ponder.Signal) bool { return g.Name == name })
}

// Addressed reports whether a hit is of a text that is meant for programs. Such a one
// is kept as evidence, but not quoted: what it says next may be what they are to say.
func Addressed(h Hit) bool {
	return slices.ContainsFunc(h.Quality, func(g ponder.Signal) bool { return g.Name == signalAddressed })
}

// QuoteKey is what the words of a quote are known by.
func QuoteKey(h Hit) string { return Sum(strings.ToLower(textkit.OneLine(h.Quote)))[:16] }

// PageKey is what the page or file of a hit is known by.
func PageKey(h Hit) string {
	return Sum(weighing.Place(weighing.Piece{URL: h.URL, Source: h.Source}))[:8]
}

// Judged returns a hit with what can be seen of it only when it is gathered, and
// without what is not so: what strangers wrote for programs is marked, a page of a
// folder did not come over the network, and what was quoted of another page
// elsewhere has been said by another source.
func Judged(h Hit, elsewhere bool) Hit {
	h.Quality = slices.Clone(h.Quality)
	if h.Provider == folderProvider {
		h.Quality = unsignalled(h.Quality, signalTransport)
	}
	if elsewhere && h.Voices <= 1 {
		h.Quality, h.Voices = unsignalled(h.Quality, signalCorroboration), 0
	}
	if h.Untrusted && !Addressed(h) {
		if g, ok := weighing.Addressed(strings.Join([]string{h.Title, h.Section, h.Quote, h.Context}, "\n")); ok {
			h.Quality = append(h.Quality[:min(len(h.Quality), maxSignals-1)], g)
		}
	}
	return h
}

// maxWords is how much of a text is looked at for its words, in bytes.
const maxWords = 1000

// Words returns the words of a text in lower case, sorted, each once, but for
// articles.
func Words(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s[:min(len(s), maxWords)]), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "the" || w == "a" || w == "an" })
	slices.Sort(words)
	return slices.Compact(words)
}

// Unit returns x in 0..1; 0 if it is no number.
func Unit(x float64) float64 { return Bound(x, 1) }

// Bound returns x from 0 to most; 0 if it is no number.
func Bound(x, most float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, most)
}

// Rounded returns x with two decimals.
func Rounded(x float64) float64 { return float64(int(x*100+0.5)) / 100 }
