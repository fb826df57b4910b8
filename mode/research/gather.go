package research

import (
	"cmp"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

// Limits of queries and evidence. Lengths are in bytes.
const (
	maxEvidence   = 400
	maxQuery      = 400
	maxQuote      = 2000
	maxContext    = 600
	maxFault      = 500
	maxAskedList  = 200
	longestWord   = 40 // bytes of a word in a query; longer ones may be keys and are not sent
	leastHeld     = 40 // minimum bytes of a quote to supersede another
	pinnedWeight  = 2
	factKind      = "fact"
	maxSearchHits = 20 // of knowledge_search and web_search
)

// take gathers new hits. It returns their events and the numbers of all hits.
func (s *state) take(list []lookup.Hit, l look) (add []ponder.Body, got []int) {
	for _, h := range list {
		if lookup.HitAmong(h, s.Banned) || h.Score < s.opts.MinConfidenceThreshold || !h.Sound() {
			continue
		}
		n := s.has(h, l.Kind == inPage)
		if n == 0 && len(s.Evidence) < maxEvidence {
			add = append(add, s.gather(h, l))
			n = s.Counts.Evidence
		}
		if n > 0 && !slices.Contains(got, n) {
			got = append(got, n)
		}
	}
	return add, got
}

// has returns the number of the piece that contains hit h, or 0. read says that the page of h was
// read.
func (s *state) has(h lookup.Hit, read bool) int {
	key, same, page, quote := h.Key(), lookup.QuoteKey(h), lookup.PageKey(h), textkit.OneLine(h.Quote)
	for _, p := range s.Evidence {
		if p.Kind == factKind || read && p.Tool == WebSearchTool {
			continue // a snippet has no offset in its page
		}
		if p.Key == key && p.Same == same || p.Page == page && (p.Same == same || len(quote) >= leastHeld && strings.Contains(textkit.OneLine(p.Quote), quote)) {
			return p.N
		}
	}
	return 0
}

func (s *state) gather(h lookup.Hit, l look) ponder.Body {
	h = lookup.Bounded(h)
	p := piece{
		N: s.Counts.Evidence + 1, Source: h.Source, Title: label(h.Title), Section: label(h.Section), Quote: h.Quote, Context: textkit.TruncateBytes(textkit.OneLine(h.Context), maxContext),
		Score: min(1, max(0, h.Score)), Terms: lookup.Terms(h.Terms), Query: l.Query, Tool: l.tool(), Round: l.Round,
		URL: lookup.Address(h.URL), Kind: label(h.Kind), Author: label(h.Author), Published: h.Published, Fetched: h.Fetched, Voices: max(0, h.Voices),
		Untrusted: h.Untrusted, Key: h.Key(), Same: lookup.QuoteKey(h), Page: lookup.PageKey(h), words: lookup.Words(h.Quote),
	}
	h = lookup.Judged(h, s.saidElsewhere(p))
	p.Worth, p.Rated, p.Addressed = lookup.WorthOf(h), len(h.Quality) > 0, h.Untrusted && lookup.Addressed(h)
	if !h.Untrusted {
		_, p.Orders = evidence.Addressed(strings.Join([]string{h.Title, h.Section, h.Quote}, "\n"))
	}
	if lookup.HitAmong(h, s.Pinned) {
		p.Score = min(1, p.Score*pinnedWeight)
	}
	p.Cluster, p.Copy = s.cluster(p, h)
	p.Known = s.known(p)
	s.supersede(p)
	s.Counts.Evidence++
	s.Evidence = append(s.Evidence[:len(s.Evidence):len(s.Evidence)], p)
	s.count(p)
	return ponder.Evidence{
		Content: p.Quote, ID: p.id(), Source: p.Source, Title: lookup.Tame(p.Title), Start: h.Start, End: h.End, Hash: h.Hash, Score: p.Score, Tool: p.Tool,
		URL: p.URL, Section: lookup.Tame(p.Section), Page: max(0, h.Page), Author: p.Author, Published: p.Published, Fetched: p.Fetched, Original: label(h.Original),
		Found:   ponder.Found{Tool: p.Tool, Query: p.Query, Provider: label(h.Provider)},
		Cluster: p.Cluster, Voices: p.Voices, Quality: lookup.Signals(h.Quality), Untrusted: p.Untrusted,
	}
}

func label(s string) string { return textkit.TruncateBytes(textkit.OneLine(s), lookup.MaxLabel) }

// saidElsewhere reports whether another page has the quote of p.
func (s *state) saidElsewhere(p piece) bool {
	return slices.ContainsFunc(s.Evidence, func(o piece) bool { return o.Same == p.Same && o.Page != p.Page })
}

// cluster returns the cluster of p: that of earlier copies of its text, else the tool's. It also
// returns the id of the piece that p copies, if any.
func (s *state) cluster(p piece, h lookup.Hit) (cluster, again string) {
	cluster = label(h.Cluster)
	for _, o := range s.Evidence {
		switch {
		case o.Kind == factKind:
		case o.Page == p.Page:
			cluster = cmp.Or(o.Cluster, cluster)
		case s.original(o).Page != p.Page && lookup.Copies(p.words, o.words):
			return o.voice(), s.original(o).id()
		}
	}
	return cluster, ""
}

// supersede marks pieces of the same page as copies if p contains them, such as a snippet of a page
// read later.
func (s *state) supersede(p piece) {
	quote := textkit.OneLine(p.Quote)
	for i, o := range s.Evidence {
		if o.Page == p.Page && o.Copy == "" && len(o.Quote) >= leastHeld && strings.Contains(quote, textkit.OneLine(o.Quote)) {
			s.Evidence = slices.Clone(s.Evidence)
			s.Evidence[i].Copy = p.id()
			for j, c := range s.Evidence {
				if c.Copy == o.id() {
					s.Evidence[j].Copy = p.id()
				}
			}
		}
	}
}

// original follows copies to the first piece.
func (s *state) original(p piece) piece {
	for range len(s.Evidence) {
		i := slices.IndexFunc(s.Evidence, func(o piece) bool { return p.Copy != "" && o.id() == p.Copy })
		if i < 0 {
			return p
		}
		p = s.Evidence[i]
	}
	return p
}

func (s *state) known(p piece) bool {
	return s.opts.Since != nil && slices.ContainsFunc(s.opts.Since.Evidence, func(k Known) bool {
		return (k.Source == p.Source || k.URL != "" && k.URL == p.URL) && textkit.OneLine(k.Quote) == textkit.OneLine(p.Quote)
	})
}
