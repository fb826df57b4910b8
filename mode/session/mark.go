package session

import (
	"slices"
	"strings"

	"ponder"
	weighing "ponder/evidence"
)

// Names of signals that package evidence has.
const (
	signalAddressed     = "addressed"
	signalTransport     = "transport"
	signalCorroboration = "corroboration"
)

// folderProvider is the provider whose pages do not come over the network.
const folderProvider = "folder"

// Bounds on the comparison of quotes.
const (
	maxQuotes = 1000 // that are remembered
	leastHeld = 40   // bytes of a quote that tells that another one holds it
)

// mark adds to what is known of a hit what can be seen of it only here, and takes from
// it what is not so: what strangers wrote for programs is marked, a page of a folder
// did not come over the network, and what was quoted of another page has been said by
// another source.
func (s *state) mark(h hit) hit {
	h.Quality = slices.Clone(h.Quality)
	if h.Provider == folderProvider {
		h.Quality = unsignalled(h.Quality, signalTransport)
	}
	if s.quotedElsewhere(h) && h.Voices <= 1 {
		h.Quality, h.Voices = unsignalled(h.Quality, signalCorroboration), 0
	}
	if h.Untrusted && !h.addressed() {
		if g, ok := weighing.Addressed(strings.Join([]string{h.Title, h.Section, h.Quote, h.Context}, "\n")); ok {
			h.Quality = append(h.Quality[:min(len(h.Quality), maxSignals-1)], g)
		}
	}
	return h
}

// unsignalled returns signals without those of a name.
func unsignalled(list []ponder.Signal, name string) []ponder.Signal {
	return slices.DeleteFunc(list, func(g ponder.Signal) bool { return g.Name == name })
}

// addressed reports whether a hit is of a text that is meant for programs. Such a one
// is kept as evidence, but not quoted: what it says next may be what they are to say.
func (h hit) addressed() bool {
	return slices.ContainsFunc(h.Quality, func(g ponder.Signal) bool { return g.Name == signalAddressed })
}

// quotable reports whether a passage may become a thought or a part of an answer.
func (e evidence) quotable() bool { return e.Copy == "" && !e.Addressed && !e.Earlier }

// repeats reports whether the quote of a hit was gathered before from the same page,
// whichever tool found it, or as a part of it; if not, it is remembered. Documents are not asked about:
// what is found in them is known by its place.
func (s *state) repeats(h hit) bool {
	if h.Kind == "" || !s.opts.Memory && !s.opts.Web {
		return false
	}
	key := quoteKey(h) + ":" + pageKey(h)
	if slices.Contains(s.Quotes, key) || s.holds(h) {
		return true
	}
	s.Quotes = push(s.Quotes, key, maxQuotes)
	return false
}

// holds reports whether a hit has all of a quote of the same page in it, as the snippet
// of a page that was read has.
func (s *state) holds(h hit) bool {
	quote, page := defused(oneLine(h.Quote)), pageKey(h)
	if h.Untrusted {
		quote = tame(quote)
	}
	return slices.ContainsFunc(s.Evidence, func(e evidence) bool {
		return !e.Earlier && len(e.Quote) >= leastHeld && strings.Contains(quote, strings.TrimSuffix(e.Quote, "…")) && pageKey(hit{Source: e.Source, origin: origin{URL: e.URL}}) == page
	})
}

// quotedElsewhere reports whether the quote of a hit was gathered from another page.
func (s *state) quotedElsewhere(h hit) bool {
	quote, page := quoteKey(h)+":", pageKey(h)
	return slices.ContainsFunc(s.Quotes, func(key string) bool { return strings.HasPrefix(key, quote) && key[len(quote):] != page })
}

// quoteKey is what the words of a quote are known by.
func quoteKey(h hit) string { return sumOf(strings.ToLower(oneLine(h.Quote)))[:16] }

// pageKey is what the page or file of a hit is known by.
func pageKey(h hit) string {
	return sumOf(weighing.Place(weighing.Piece{URL: h.URL, Source: h.Source}))[:8]
}
