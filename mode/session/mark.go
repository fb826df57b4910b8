package session

import (
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	maxQuotes = 1000
	leastHeld = 40 // minimum bytes of a quote that another may contain
)

// mark judges a hit against all quotes; see [lookup.Judged].
func (s *state) mark(h hit) hit { return lookup.Judged(h, s.quotedElsewhere(h)) }

// quotable reports whether a passage may become a thought or part of an answer.
func (e evidence) quotable() bool { return e.Copy == "" && !e.Addressed && !e.Earlier }

// repeats reports whether the quote of a hit, or a part of it, is known from the same page, else
// records it. It ignores documents, whose hits have ids by position.
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

// holds reports whether a hit contains a known quote of its page, as a page contains its snippet.
func (s *state) holds(h hit) bool {
	quote, page := lookup.Defused(textkit.OneLine(h.Quote)), lookup.PageKey(h)
	if h.Untrusted {
		quote = lookup.Tame(quote)
	}
	return slices.ContainsFunc(s.Evidence, func(e evidence) bool {
		return !e.Earlier && len(e.Quote) >= leastHeld && strings.Contains(quote, strings.TrimSuffix(e.Quote, "…")) && lookup.PageKey(hit{Source: e.Source, URL: e.URL}) == page
	})
}

func (s *state) quotedElsewhere(h hit) bool {
	quote, page := lookup.QuoteKey(h)+":", lookup.PageKey(h)
	return slices.ContainsFunc(s.Quotes, func(key string) bool { return strings.HasPrefix(key, quote) && key[len(quote):] != page })
}
