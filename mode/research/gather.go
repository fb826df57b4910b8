package research

import (
	"cmp"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/textkit"
	"ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

// Limits of queries and evidence. Lengths are in bytes.
const (
	maxEvidence       = 400
	maxQuery          = 400
	maxQuote          = 2000
	maxFault          = 500
	maxAskedList      = 200
	longestWord       = 40 // bytes of a word in a query; longer ones may be keys and are not sent
	minContainedQuote = 40 // minimum bytes of a quote to supersede another
	pinnedWeight      = 2
	factKind          = "fact"
	maxSearchHits     = 20 // of knowledge_search and web_search
)

// gatherHits gathers new hits. It returns their events and the numbers of all hits.
func (s *state) gatherHits(list []lookup.Hit, l lookupCall) (add []ponder.Body, got []int) {
	direct := s.asksQuestion(l.Query)
	for _, h := range list {
		if lookup.HitDenotedBy(h, s.Banned) || h.Score < s.opts.MinConfidenceThreshold || !h.Sound() {
			continue
		}
		n := s.findPiece(h, l.Kind == pageLookup)
		if n == 0 && len(s.Evidence) < maxEvidence {
			add = append(add, s.addEvidence(h, l))
			n = s.Counts.Evidence
		}
		if n > 0 && direct && s.Evidence[n-1].Direct < h.Score {
			s.Evidence = slices.Clone(s.Evidence)
			s.Evidence[n-1].Direct = min(1, h.Score)
		}
		if n > 0 && !slices.Contains(got, n) {
			got = append(got, n)
		}
	}
	return add, got
}

// asksQuestion reports whether a query has the words of the user's question alone.
func (s *state) asksQuestion(query string) bool {
	web, memory := heuristicQueries(s.run.Input)
	return slices.ContainsFunc(append(slices.Concat(web[:min(1, len(web))], memory[:min(1, len(memory))]), s.run.Input), func(q string) bool {
		return strings.EqualFold(taint.SanitizeQuery(textkit.OneLine(q)), query)
	})
}

// findPiece returns the number of the piece that contains hit h, or 0. read says that the page of h was
// read.
func (s *state) findPiece(h lookup.Hit, read bool) int {
	key, same, page, quote := h.Key(), lookup.QuoteKey(h), lookup.PageKey(h), textkit.OneLine(h.Quote)
	for _, p := range s.Evidence {
		if p.Kind == factKind || read && p.Tool == WebSearchTool {
			continue // a snippet has no offset in its page
		}
		if p.Key == key && p.QuoteKey == same || p.PageKey == page && (p.QuoteKey == same || len(quote) >= minContainedQuote && strings.Contains(textkit.OneLine(p.Quote), quote)) {
			return p.N
		}
	}
	return 0
}

func (s *state) addEvidence(h lookup.Hit, l lookupCall) ponder.Body {
	h = lookup.TruncateQuote(h)
	p := piece{
		N: s.Counts.Evidence + 1, Source: h.Source, Title: cleanLabel(h.Title), Section: cleanLabel(h.Section), Quote: h.Quote, Start: h.Start, Hash: h.Hash,
		Score: min(1, max(0, h.Score)), Terms: lookup.NormalizeTerms(h.Terms), Query: l.Query, Tool: l.toolName(), Round: l.Round,
		URL: lookup.Address(h.URL), Kind: cleanLabel(h.Kind), Author: cleanLabel(h.Author), Published: h.Published, Fetched: h.Fetched, Voices: max(0, h.Voices),
		Untrusted: h.Untrusted, Key: h.Key(), QuoteKey: lookup.QuoteKey(h), PageKey: lookup.PageKey(h), words: lookup.DistinctWords(h.Quote),
	}
	if window, start := lookup.QuoteWindow(h); window != h.Quote {
		p.Window, p.WindowStart, p.Quality = window, start, lookup.ClampSignals(h.Quality)
		p.Page, p.Original, p.Provider = max(0, h.Page), cleanLabel(h.Original), cleanLabel(h.Provider)
	}
	h = lookup.AdjustSignals(h, s.isOnOtherPage(p))
	p.SourceWeight, p.Rated, p.Addressed = lookup.SourceWeight(h), len(h.Quality) > 0, h.Untrusted && lookup.AddressesPrograms(h)
	if !h.Untrusted {
		_, p.Orders = evidence.AddressesProgram(strings.Join([]string{h.Title, h.Section, h.Quote}, "\n"))
	}
	if lookup.HitDenotedBy(h, s.Pinned) {
		p.Score = min(1, p.Score*pinnedWeight)
	}
	p.Cluster, p.Copy = s.findCluster(p, h)
	p.Known = s.isKnown(p)
	s.markSuperseded(p)
	s.Counts.Evidence++
	s.Evidence = append(s.Evidence[:len(s.Evidence):len(s.Evidence)], p)
	s.countSource(p)
	return ponder.Evidence{
		Content: p.Quote, ID: p.id(), Source: p.Source, Title: lookup.Sanitize(p.Title), Start: h.Start, End: h.End, Hash: h.Hash, Score: p.Score, Tool: p.Tool,
		URL: p.URL, Section: lookup.Sanitize(p.Section), Page: max(0, h.Page), Author: p.Author, Published: p.Published, Fetched: p.Fetched, Original: cleanLabel(h.Original),
		Found:   ponder.Found{Tool: p.Tool, Query: p.Query, Provider: cleanLabel(h.Provider)},
		Cluster: p.Cluster, Voices: p.Voices, Quality: lookup.ClampSignals(h.Quality), Untrusted: p.Untrusted,
	}
}

func cleanLabel(s string) string { return textkit.TruncateBytes(textkit.OneLine(s), lookup.MaxLabel) }

// isOnOtherPage reports whether another page has the quote of p.
func (s *state) isOnOtherPage(p piece) bool {
	return slices.ContainsFunc(s.Evidence, func(o piece) bool { return o.QuoteKey == p.QuoteKey && o.PageKey != p.PageKey })
}

// findCluster returns the cluster of p: that of earlier copies of its text, else the tool's. It also
// returns the id of the piece that p copies, if any.
func (s *state) findCluster(p piece, h lookup.Hit) (cluster, again string) {
	cluster = cleanLabel(h.Cluster)
	for _, o := range s.Evidence {
		switch {
		case o.Kind == factKind:
		case o.PageKey == p.PageKey:
			cluster = cmp.Or(o.Cluster, cluster)
		case s.originalPiece(o).PageKey != p.PageKey && lookup.AreCopies(p.words, o.words):
			return o.voiceKey(), s.originalPiece(o).id()
		}
	}
	return cluster, ""
}

// markSuperseded marks pieces of the same page as copies if p contains them, such as a snippet of a page
// read later.
func (s *state) markSuperseded(p piece) {
	quote := textkit.OneLine(p.Quote)
	for i, o := range s.Evidence {
		if o.PageKey == p.PageKey && o.Copy == "" && len(o.Quote) >= minContainedQuote && strings.Contains(quote, textkit.OneLine(o.Quote)) {
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

// originalPiece follows copies to the first piece.
func (s *state) originalPiece(p piece) piece {
	for range len(s.Evidence) {
		i := slices.IndexFunc(s.Evidence, func(o piece) bool { return p.Copy != "" && o.id() == p.Copy })
		if i < 0 {
			return p
		}
		p = s.Evidence[i]
	}
	return p
}

func (s *state) isKnown(p piece) bool {
	return s.opts.Since != nil && slices.ContainsFunc(s.opts.Since.Evidence, func(k KnownEvidence) bool {
		return (k.Source == p.Source || k.URL != "" && k.URL == p.URL) && textkit.OneLine(k.Quote) == textkit.OneLine(p.Quote)
	})
}
