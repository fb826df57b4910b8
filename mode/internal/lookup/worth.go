package lookup

import (
	"slices"
	"strings"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	weighing "ponder/knowledge/evidence"
)

const (
	signalAddressed     = "addressed"
	signalTransport     = "transport"
	signalCorroboration = "corroboration"
)

// folderProvider is the provider of local pages.
const folderProvider = "folder"

// SourceWeight returns the weight of a hit's source, from 0 to 1, by package evidence. It is rounded for
// equal results on all machines.
func SourceWeight(h Hit) float64 {
	if len(h.Quality) == 0 {
		return 1
	}
	return RoundCents(weighing.Weight(h.Quality))
}

const (
	minCopiedWords = 8
	copiedShare    = 0.9
)

// AreCopies reports whether two sorted word lists belong to copies of a text.
func AreCopies(a, b []string) bool {
	if len(a) < minCopiedWords {
		return false
	}
	both := CountShared(a, b)
	return float64(both) >= copiedShare*float64(len(a)+len(b)-both)
}

// CountShared counts the common elements of two sorted lists.
func CountShared(a, b []string) (n int) {
	for _, w := range a {
		if _, ok := slices.BinarySearch(b, w); ok {
			n++
		}
	}
	return n
}

func dropSignal(list []ponder.Signal, name string) []ponder.Signal {
	return slices.DeleteFunc(list, func(g ponder.Signal) bool { return g.Name == name })
}

// AddressesPrograms reports whether a hit addresses programs. Such hits are evidence but never quoted.
func AddressesPrograms(h Hit) bool {
	return slices.ContainsFunc(h.Quality, func(g ponder.Signal) bool { return g.Name == signalAddressed })
}

// QuoteKey identifies the words of a quote.
func QuoteKey(h Hit) string { return HashText(strings.ToLower(textkit.OneLine(h.Quote)))[:16] }

// PageKey identifies the page or file of a hit.
func PageKey(h Hit) string {
	return HashText(weighing.PlaceKey(weighing.Piece{URL: h.URL, Source: h.Source}))[:8]
}

// AdjustSignals corrects the signals of a hit. It marks untrusted text addressed to programs, and removes
// the transport signal of local pages and, if elsewhere has the quote, missing corroboration.
func AdjustSignals(h Hit, elsewhere bool) Hit {
	h.Quality = slices.Clone(h.Quality)
	if h.Provider == folderProvider {
		h.Quality = dropSignal(h.Quality, signalTransport)
	}
	if elsewhere && h.Voices <= 1 {
		h.Quality, h.Voices = dropSignal(h.Quality, signalCorroboration), 0
	}
	if h.Untrusted && !AddressesPrograms(h) {
		if g, ok := weighing.AddressesProgram(strings.Join([]string{h.Title, h.Section, h.Quote, h.Context}, "\n")); ok {
			h.Quality = append(h.Quality[:min(len(h.Quality), maxSignals-1)], g)
		}
	}
	return h
}

const maxWords = 1000

// DistinctWords returns the distinct lower-case words of s, sorted, without articles.
func DistinctWords(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s[:min(len(s), maxWords)]), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	words = slices.DeleteFunc(words, func(w string) bool { return w == "the" || w == "a" || w == "an" })
	slices.Sort(words)
	return slices.Compact(words)
}

// ClampUnit clamps x to 0..1; NaN gives 0.
func ClampUnit(x float64) float64 { return ClampTo(x, 1) }

// ClampTo clamps x to 0..most; NaN gives 0.
func ClampTo(x, limit float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, limit)
}

// RoundCents returns x with two decimals.
func RoundCents(x float64) float64 { return float64(int(x*100+0.5)) / 100 }
