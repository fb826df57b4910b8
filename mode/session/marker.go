package session

import (
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	maxQuotes         = 1000
	minContainedQuote = 40 // minimum bytes of a quote that another may contain
)

// judgeHit judges a hit against all quotes; see [lookup.AdjustSignals].
func (s *state) judgeHit(h hit) hit { return lookup.AdjustSignals(h, s.isOnOtherPage(h)) }

// isQuotable reports whether a passage may become a thought or part of an answer.
func (e evidence) isQuotable() bool { return e.Copy == "" && !e.Addressed && !e.Earlier }

// isRepeat reports whether the quote of a hit, or a part of it, is known from the same page, else
// records it. It ignores documents, whose hits have ids by position.
func (s *state) isRepeat(h hit) bool {
	if h.Kind == "" || !s.opts.Memory && !s.opts.Web {
		return false
	}
	key := lookup.QuoteKey(h) + ":" + lookup.PageKey(h)
	if slices.Contains(s.Quotes, key) || s.containsKnown(h) {
		return true
	}
	s.Quotes = runstate.AppendLast(s.Quotes, key, maxQuotes)
	return false
}

// containsKnown reports whether a hit contains a known quote of its page, as a page contains its snippet.
func (s *state) containsKnown(h hit) bool {
	quote, page := lookup.DefuseCitations(textkit.OneLine(h.Quote)), lookup.PageKey(h)
	if h.Untrusted {
		quote = lookup.Sanitize(quote)
	}
	return slices.ContainsFunc(s.Evidence, func(e evidence) bool {
		return !e.Earlier && len(e.Quote) >= minContainedQuote && strings.Contains(quote, strings.TrimSuffix(e.Quote, "…")) && lookup.PageKey(hit{Source: e.Source, URL: e.URL}) == page
	})
}

func (s *state) isOnOtherPage(h hit) bool {
	quote, page := lookup.QuoteKey(h)+":", lookup.PageKey(h)
	return slices.ContainsFunc(s.Quotes, func(key string) bool { return strings.HasPrefix(key, quote) && key[len(quote):] != page })
}
