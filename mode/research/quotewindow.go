package research

import (
	"slices"
	"strconv"

	"ponder"
	"ponder/knowledge/claim"
	"ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

const (
	maxWindowQuotes = 30  // of an answer
	minWindowQuote  = 12  // bytes
	maxWindowTexts  = 400 // sentences to compare with
)

// quoteWindows quotes the sentences around the evidence that support the answer better than the quotes
// do, as evidence of its own. The model reads whole passages, but a claim is checked against exact
// sentences.
func (s *state) quoteWindows(d *draft) {
	if d.Unaided {
		return
	}
	var open []int
	var sentences []claim.Sentence
	for i, c := range d.claims {
		if c.Verdict != claim.Supported {
			open, sentences = append(open, i), append(sentences, c.Sentence)
		}
	}
	texts := s.windowSentences()
	if len(open) == 0 || len(texts) == 0 {
		return
	}
	quotes := make([]claim.Quote, len(texts))
	for i, p := range texts {
		quotes[i] = claim.Quote{ID: "w" + strconv.Itoa(i), Text: p.Quote, Context: p.Title + ". " + p.Section + ". " + p.before, Voice: p.voiceKey(), Published: p.Published}
	}
	chosen := make(map[int]bool)
	for k, f := range claim.NewCorpus(quotes).VerifyAll(sentences) {
		if f.Verdict != claim.Supported && (f.Verdict != claim.Qualified || d.claims[open[k]].Verdict != claim.Unverified) {
			continue
		}
		for _, q := range f.Quotes[:min(len(f.Quotes), 2)] {
			if i, err := strconv.Atoi(q.Evidence[1:]); err == nil && len(chosen) < maxWindowQuotes {
				chosen[i] = true
			}
		}
	}
	var add []ponder.Body
	for i, p := range texts {
		if chosen[i] && len(s.Evidence) < maxEvidence {
			add = append(add, s.addQuote(p.piece))
		}
	}
	if len(add) > 0 {
		s.queueWrite("found", &s.Counts.Found, add...)
		d.claims = s.verifyDraft(*d)
	}
}

// A windowSentence is a sentence of a window as a piece without a number, and the sentence before it,
// which may resolve a pronoun.
type windowSentence struct {
	piece
	before string
}

// windowSentences returns the sentences around the quotes in order of discovery, without those that
// are quoted.
func (s *state) windowSentences() (list []windowSentence) {
	seen := make(map[string]bool)
	for _, p := range s.usableEvidence() {
		if !p.isQuotable() || p.Window == "" {
			continue
		}
		before := ""
		for _, c := range claim.Split(p.Window) {
			q := windowSentence{piece: p, before: before}
			q.Start, q.Quote = p.WindowStart+c.Start, p.Window[c.Start:c.End]
			before = q.Quote
			key := q.PageKey + q.Hash + "#" + strconv.Itoa(q.Start)
			if len(q.Quote) < minWindowQuote || seen[key] || s.isQuoted(q.piece) || len(list) == maxWindowTexts {
				continue
			}
			seen[key] = true
			list = append(list, q)
		}
	}
	return list
}

// isQuoted reports whether a piece of the same text shares bytes with q.
func (s *state) isQuoted(q piece) bool {
	return slices.ContainsFunc(s.Evidence, func(p piece) bool {
		return p.PageKey == q.PageKey && p.Hash == q.Hash && p.Start < q.Start+len(q.Quote) && q.Start < p.Start+len(p.Quote)
	})
}

// addQuote adds a sentence of a window as evidence and returns its event.
func (s *state) addQuote(p piece) ponder.Body {
	h := lookup.Hit{Source: p.Source, URL: p.URL, Title: p.Title, Section: p.Section, Quote: p.Quote, Start: p.Start, End: p.Start + len(p.Quote), Hash: p.Hash}
	s.Counts.Evidence++
	p.N, p.Key, p.QuoteKey, p.words = s.Counts.Evidence, h.Key(), lookup.QuoteKey(h), lookup.DistinctWords(p.Quote)
	p.Direct, p.Terms = 0, nil
	_, p.Orders = evidence.AddressesProgram(p.Quote)
	s.Evidence = append(slices.Clip(s.Evidence), p)
	return ponder.Evidence{
		Content: p.Quote, ID: p.id(), Source: p.Source, Title: lookup.Sanitize(p.Title), Start: p.Start, End: h.End, Hash: p.Hash, Score: p.Score, Tool: p.Tool,
		URL: p.URL, Section: lookup.Sanitize(p.Section), Page: p.Page, Author: p.Author, Published: p.Published, Fetched: p.Fetched, Original: p.Original,
		Found:   ponder.Found{Tool: p.Tool, Query: p.Query, Provider: p.Provider},
		Cluster: p.Cluster, Voices: p.Voices, Quality: p.Quality, Untrusted: p.Untrusted,
	}
}
