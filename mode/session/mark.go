package session

import (
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

// Bounds on the comparison of quotes.
const (
	maxQuotes = 1000 // that are remembered
	leastHeld = 40   // bytes of a quote that tells that another one holds it
)

// mark returns a hit with what can be seen of it only here: see [lookup.Hit.Judged].
func (s *state) mark(h hit) hit { return lookup.Judged(h, s.quotedElsewhere(h)) }

// quotable reports whether a passage may become a thought or a part of an answer.
func (e evidence) quotable() bool { return e.Copy == "" && !e.Addressed && !e.Earlier }

// repeats reports whether the quote of a hit was gathered before from the same page,
// whichever tool found it, or as a part of it; if not, it is remembered. Documents are not asked about:
// what is found in them is known by its place.
func (s *state) repeats(h hit) bool {
	if h.Kind == "" || !s.opts.Memory && !s.opts.Web {
		return false
	}
	key := lookup.QuoteKey(h) + ":" + lookup.PageKey(h)
	if slices.Contains(s.Quotes, key) || s.holds(h) {
		return true
	}
	s.Quotes = runstate.Push(s.Quotes, key, maxQuotes)
	return false
}

// holds reports whether a hit has all of a quote of the same page in it, as the snippet
// of a page that was read has.
func (s *state) holds(h hit) bool {
	quote, page := lookup.Defused(textkit.OneLine(h.Quote)), lookup.PageKey(h)
	if h.Untrusted {
		quote = lookup.Tame(quote)
	}
	return slices.ContainsFunc(s.Evidence, func(e evidence) bool {
		return !e.Earlier && len(e.Quote) >= leastHeld && strings.Contains(quote, strings.TrimSuffix(e.Quote, "…")) && lookup.PageKey(hit{Source: e.Source, URL: e.URL}) == page
	})
}

// quotedElsewhere reports whether the quote of a hit was gathered from another page.
func (s *state) quotedElsewhere(h hit) bool {
	quote, page := lookup.QuoteKey(h)+":", lookup.PageKey(h)
	return slices.ContainsFunc(s.Quotes, func(key string) bool { return strings.HasPrefix(key, quote) && key[len(quote):] != page })
}
