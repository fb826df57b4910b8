package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/claim"
)

// Check reads the claims out of a text, which may be marked, and checks each against
// quotes.
func Check(text string, quotes []claim.Quote) []Claim {
	var sentences []claim.Sentence
	for _, s := range claim.Split(claim.Unmark(text)) {
		if s.Factual {
			sentences = append(sentences, s)
		}
	}
	return checked(claim.NewCorpus(quotes), sentences)
}

// checked returns sentences with what came of checking them, one in the light of those
// before it.
func checked(corpus *claim.Corpus, sentences []claim.Sentence) (list []Claim) {
	for i, f := range corpus.VerifyAll(sentences) {
		s := sentences[i]
		list = append(list, Claim{
			Text: s.Text, Start: s.Start, End: s.End, Status: string(f.Verdict), Score: f.Score, Reason: f.Reason, Cites: s.Cites,
			Quotes: passages(f.Quotes), Against: passages(f.Against),
		})
	}
	return list
}

// quotes returns the evidence as claims are checked against it, but for what is in
// without.
func (r *Research) quotes(without map[string]bool) []claim.Quote {
	var list []claim.Quote
	for _, e := range r.Evidence {
		if !without[e.ID] && !e.Banned && !addressed(e) {
			list = append(list, claim.Quote{
				ID: e.ID, Text: e.Quote, Context: strings.TrimSpace(e.Title + ". " + e.Section), Voice: cmp.Or(e.Cluster, e.Source), Published: e.Published,
			})
		}
	}
	return list
}

// addressed reports whether a quote is meant for programs, which speaks for nothing.
func addressed(e Evidence) bool {
	return slices.ContainsFunc(e.Quality, func(s ponder.Signal) bool { return s.Name == "addressed" })
}

// A Recheck is what came of checking the claims of a report anew.
type Recheck struct {
	Claims  []Reclaim `json:"claims"`
	Altered []Claim   `json:"altered,omitempty"` // claims of the text that the report was not made with, as they stand now
	Missing []string  `json:"missing,omitempty"` // claims of the report that its text does not make any more
	Strange []string  `json:"strange_citations,omitempty"`
}

// A Reclaim is a claim of a report, checked anew.
type Reclaim struct {
	Claim
	Now     string `json:"status_now"`
	Why     string `json:"reason_now,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	Judged  bool   `json:"judged,omitempty"` // it differs, and a model was asked then, which is not asked again
}

// Recheck checks the claims of a report anew, from its quotes but for those that do not
// stand any more, and the claims of its text beside those that it lists.
func (f *Filed) Recheck(broken map[string]bool) Recheck {
	var out Recheck
	corpus := claim.NewCorpus(f.quotes(broken))
	known := make(map[string]bool)
	var sentences []claim.Sentence
	for _, c := range f.Claims {
		known[keyOf(c.Text)] = true
		sentences = append(sentences, claim.Sentence{Text: c.Text, Start: c.Start, End: c.End, Cites: c.Cites, Factual: true})
	}
	for i, now := range checked(corpus, sentences) {
		c := f.Claims[i]
		differs := now.Status != c.Status
		out.Claims = append(out.Claims, Reclaim{c, now.Status, now.Reason, differs, differs && c.Judge != ""})
	}
	said := make(map[string]bool)
	for _, s := range claim.Split(claim.Unmark(f.Shown)) {
		said[keyOf(s.Text)] = true
		if f.Unaided && len(s.Cites) == 0 {
			continue // it is none of the quotes that the answer is made of
		}
		for _, id := range s.Cites {
			if _, ok := f.evidence(id); !ok && !slices.Contains(out.Strange, id) {
				out.Strange = append(out.Strange, id)
			}
		}
		if f.Altered && s.Factual && !known[keyOf(s.Text)] {
			out.Altered = append(out.Altered, checked(corpus, []claim.Sentence{s})...)
		}
	}
	for _, c := range f.Claims {
		if f.Altered && !said[keyOf(c.Text)] {
			out.Missing = append(out.Missing, textkit.OneLine(c.Text))
		}
	}
	return out
}

// keyOf returns what a claim is known by, however its signs and spaces are written.
func keyOf(text string) string {
	key, _ := letters(textkit.Clean(text))
	return key
}

// Problem says what does not stand of a claim, or "".
func (c Reclaim) Problem() string {
	if !c.Differs {
		return ""
	}
	text := fmt.Sprintf("it was %s, and is %s now", c.Status, c.Now)
	if c.Why != "" {
		text += ": " + textkit.OneLine(c.Why)
	}
	if c.Judged {
		text += " (" + textkit.OneLine(c.Judge) + " was asked about it then)"
	}
	return text
}

// Used returns the ids of the evidence that the report shows.
func (r *Research) Used() map[string]bool {
	used := make(map[string]bool)
	for _, id := range r.numbering().order {
		used[id] = true
	}
	return used
}
