package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/knowledge/claim"
)

// Check extracts the claims of a text and checks each against quotes.
func Check(text string, quotes []claim.Quote) []Claim {
	var sentences []claim.Sentence
	for _, s := range claim.Split(claim.Unmark(text)) {
		if s.Factual {
			sentences = append(sentences, s)
		}
	}
	return checkSentences(claim.NewCorpus(quotes), sentences)
}

// checkSentences returns sentences with their status. Earlier ones give context to later ones.
func checkSentences(corpus *claim.Corpus, sentences []claim.Sentence) (list []Claim) {
	for i, f := range corpus.VerifyAll(sentences) {
		s := sentences[i]
		list = append(list, Claim{
			Text: s.Text, Start: s.Start, End: s.End, Status: string(f.Verdict), Score: f.Score, Reason: f.Reason, Cites: s.Cites,
			Quotes: toPassages(f.Quotes), Against: toPassages(f.Against),
		})
	}
	return list
}

// claimQuotes returns the evidence for checking, except ids in without.
func (r *Research) claimQuotes(without map[string]bool) []claim.Quote {
	var list []claim.Quote
	for _, e := range r.Evidence {
		if !without[e.ID] && !e.Banned && !addressesPrograms(e) {
			list = append(list, claim.Quote{
				ID: e.ID, Text: e.Quote, Context: strings.TrimSpace(e.Title + ". " + e.Section), Voice: cmp.Or(e.Cluster, e.Source), Published: e.Published,
			})
		}
	}
	return list
}

// addressesPrograms reports whether a quote addresses programs; it supports no claim.
func addressesPrograms(e Evidence) bool {
	return slices.ContainsFunc(e.Quality, func(s ponder.Signal) bool { return s.Name == "addressed" })
}

type Recheck struct {
	Claims  []RecheckedClaim `json:"claims"`
	Altered []Claim          `json:"altered,omitempty"`
	Missing []string         `json:"missing,omitempty"` // claims missing in the text
	Strange []string         `json:"strange_citations,omitempty"`
}

// A RecheckedClaim is a claim checked again.
type RecheckedClaim struct {
	Claim
	Now     string `json:"status_now"`
	Why     string `json:"reason_now,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	Judged  bool   `json:"judged,omitempty"` // differs from a model's judgement, which is not repeated
}

// Recheck checks the claims of a report against its quotes, except broken ones, and compares
// them with the claims of its text.
func (f *ReportFile) Recheck(broken map[string]bool) Recheck {
	var out Recheck
	corpus := claim.NewCorpus(f.claimQuotes(broken))
	known := make(map[string]bool)
	var sentences []claim.Sentence
	for _, c := range f.Claims {
		known[claimKey(c.Text)] = true
		sentences = append(sentences, claim.Sentence{Text: c.Text, Start: c.Start, End: c.End, Cites: c.Cites, Factual: true})
	}
	for i, now := range checkSentences(corpus, sentences) {
		c := f.Claims[i]
		differs := now.Status != c.Status
		out.Claims = append(out.Claims, RecheckedClaim{c, now.Status, now.Reason, differs, differs && c.Judge != ""})
	}
	said := make(map[string]bool)
	for _, s := range claim.Split(claim.Unmark(f.Shown)) {
		said[claimKey(s.Text)] = true
		if (f.WithoutModel || f.Refused) && len(s.Cites) == 0 {
			continue // not a quote of an extractive answer
		}
		for _, id := range s.Cites {
			if _, ok := f.findEvidence(id); !ok && !slices.Contains(out.Strange, id) {
				out.Strange = append(out.Strange, id)
			}
		}
		if f.Altered && s.Factual && !known[claimKey(s.Text)] {
			out.Altered = append(out.Altered, checkSentences(corpus, []claim.Sentence{s})...)
		}
	}
	for _, c := range f.Claims {
		if f.Altered && !said[claimKey(c.Text)] {
			out.Missing = append(out.Missing, textkit.OneLine(c.Text))
		}
	}
	return out
}

func claimKey(text string) string {
	key, _ := lettersOnly(textkit.Clean(text))
	return key
}

func (c RecheckedClaim) Problem() string {
	if !c.Differs {
		return ""
	}
	text := fmt.Sprintf("was %s, is now %s", c.Status, c.Now)
	if c.Why != "" {
		text += ": " + textkit.OneLine(c.Why)
	}
	if c.Judged {
		text += " (" + textkit.OneLine(c.Judge) + " decided it then)"
	}
	return text
}

// Used returns the ids of shown evidence.
func (r *Research) Used() map[string]bool {
	used := make(map[string]bool)
	for _, id := range r.numberCitations().order {
		used[id] = true
	}
	return used
}

// Since is the difference from an older report.
type Since struct {
	Thread   ponder.ThreadID `json:"thread_id,omitempty"`
	Question string          `json:"question,omitempty"`
	Ended    time.Time       `json:"ended_at,omitzero"`
	New      []string        `json:"new"`     // only in the newer
	Gone     []string        `json:"gone"`    // only in the older
	Changed  []Change        `json:"changed"` // another value, sense or status
	Same     int             `json:"same"`    // unchanged

	NewSources       []string `json:"new_sources,omitempty"` // cited only in the newer
	GoneSources      []string `json:"gone_sources,omitempty"`
	NewConflicts     []string `json:"new_conflicts,omitempty"`
	GoneConflicts    []string `json:"gone_conflicts,omitempty"`
	ChangedConflicts []Change `json:"changed_conflicts,omitempty"` // other values
}

type Change struct {
	Was       string `json:"was"`
	Now       string `json:"now"`
	WasStatus string `json:"was_status,omitempty"`
	NowStatus string `json:"now_status,omitempty"`
}

const maxCompared = 500

// A comparedClaim is a claim prepared for comparison.
type comparedClaim struct {
	Claim
	text similarity.Text
	bare similarity.Text // without values
	used bool
}

// Changes compares claims by similarity. A claim is changed if it is negated, has another
// value, or has another status.
func Changes(older, newer []Claim) Since {
	was, now := prepareClaims(older), prepareClaims(newer)
	d := Since{New: []string{}, Gone: []string{}, Changed: []Change{}}
	match := func(fits func(a, b *comparedClaim) bool) {
		for i := range now {
			for j := range was {
				if now[i].used || was[j].used || !fits(&was[j], &now[i]) {
					continue
				}
				now[i].used, was[j].used = true, true
				d.addPair(&was[j], &now[i])
			}
		}
	}
	match(func(a, b *comparedClaim) bool { return textkit.OneLine(a.Text) == textkit.OneLine(b.Text) })
	match(func(a, b *comparedClaim) bool { return a.text.Compare(b.text) == similarity.Same })
	match(func(a, b *comparedClaim) bool { return a.text.Compare(b.text) == similarity.Opposite })
	match(func(a, b *comparedClaim) bool { return a.bare.Compare(b.bare) == similarity.Same })
	for i := range now {
		if !now[i].used {
			d.New = append(d.New, textkit.OneLine(now[i].Text))
		}
	}
	for j := range was {
		if !was[j].used {
			d.Gone = append(d.Gone, textkit.OneLine(was[j].Text))
		}
	}
	return d
}

func (d *Since) addPair(a, b *comparedClaim) {
	alike := textkit.OneLine(a.Text) == textkit.OneLine(b.Text) || a.text.Compare(b.text) == similarity.Same
	if alike && (a.Status == b.Status || a.Status == "" || b.Status == "") {
		d.Same++
		return
	}
	d.Changed = append(d.Changed, Change{textkit.OneLine(a.Text), textkit.OneLine(b.Text), a.Status, b.Status})
}

func prepareClaims(claims []Claim) []comparedClaim {
	list := make([]comparedClaim, 0, len(claims))
	for _, c := range claims[:min(len(claims), maxCompared)] {
		list = append(list, comparedClaim{Claim: c, text: similarity.Parse(c.Text), bare: similarity.Parse(stripValues(c.Text))})
	}
	return list
}

// stripValues removes words with digits.
func stripValues(text string) string {
	words := strings.FieldsFunc(text, unicode.IsSpace)
	kept := words[:0]
	for _, w := range words {
		if !strings.ContainsFunc(w, unicode.IsDigit) {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// summaryLine describes the difference in a line.
func (d *Since) summaryLine() string {
	text := "Since " + sinceText(d) + ": " + textkit.Count(len(d.New), "claim is new", "claims are new") + ", " +
		textkit.Count(len(d.Gone), "was removed", "were removed") + ", " + textkit.Count(len(d.Changed), "has changed", "have changed") + ", " +
		textkit.Count(d.Same, "is unchanged", "are unchanged") + "."
	return text
}

func sinceText(d *Since) string {
	text := "the older report"
	if !d.Ended.IsZero() {
		text += " of " + formatDate(d.Ended)
	}
	if d.Thread != "" {
		text += " (" + textkit.TruncateWords(textkit.OneLine(string(d.Thread)), 60) + ")"
	}
	return text
}

func (c Change) displayForm() Change {
	was, now := c.Was, c.Now
	if c.WasStatus != c.NowStatus && c.WasStatus != "" && c.NowStatus != "" {
		was, now = was+" ("+c.WasStatus+")", now+" ("+c.NowStatus+")"
	}
	return Change{Was: textkit.OneLine(was), Now: textkit.OneLine(now)}
}
