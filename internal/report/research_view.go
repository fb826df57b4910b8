package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/claim"
	"ponder/mode/research"
)

// ResearchOf returns the report of a research. Since is the older report that it was
// to bring up to date, if there is one.
func ResearchOf(v research.View, since *research.Report) Research {
	h := v.Research
	r := Research{
		Format: ResearchFormat, Thread: h.ID, Question: h.Question, Status: h.Status, Reason: h.StopReason, Started: h.Started, Ended: h.Completed,
		Seconds: h.Elapsed, Rounds: h.Rounds, Model: h.Model, Unaided: h.Unaided, Answer: h.Answer, Open: h.Remaining, Removed: v.Removed, Notes: v.Notes,
	}
	for _, c := range v.Claims {
		r.Claims = append(r.Claims, claimOf(c))
	}
	for _, e := range v.Evidence {
		r.Evidence = append(r.Evidence, evidenceOf(e))
	}
	for _, c := range v.Conflicts {
		r.Conflicts = append(r.Conflicts, conflictOf(c))
	}
	for _, q := range v.Queries {
		r.Queries = append(r.Queries, Query{Round: q.Round, Tool: q.Tool, Text: q.Text, Found: q.Found, Age: ageIn(v, q), Error: q.Error})
	}
	r.Timeline, r.Steering = timelineOf(v), steeringOf(v)
	r.Cost = costOf(h.Usage)
	if since != nil {
		r.Since = sinceOf(*since, r.Claims)
	}
	return r
}

func claimOf(c research.Claim) Claim {
	return Claim{
		ID: c.ID, Text: c.Text, Start: c.Start, End: c.End, Status: c.Verdict, Score: c.Score, Reason: c.Reason, Cites: c.Cites,
		Quotes: passages(c.Quotes), Against: passages(c.Against), Judge: c.Judge,
	}
}

func passages(list []ponder.Passage) (out []Passage) {
	for _, p := range list {
		out = append(out, Passage{p.Evidence, p.Start, p.End})
	}
	return out
}

func evidenceOf(e research.Evidence) Evidence {
	return Evidence{
		ID: e.ID, Quote: e.Quote, Source: e.Source, URL: e.URL, Title: e.Title, Author: e.Author, Section: e.Section, Page: e.Page,
		Start: e.Start, End: e.End, Hash: e.Hash, Original: e.Original, Published: e.Published, Fetched: e.Fetched,
		Tool: cmp.Or(e.Found.Tool, e.Tool, strings.Join(e.FoundBy, ", ")), Query: e.Found.Query, Provider: e.Found.Provider, Score: e.Score,
		Cluster: e.Cluster, Voices: e.Voices, Quality: e.Quality, Untrusted: e.Untrusted, Cited: e.Cited, Pinned: e.Pinned, Banned: e.Banned,
	}
}

func conflictOf(c ponder.Conflict) Conflict {
	out := Conflict{Subject: c.Subject, Attribute: c.Attribute, Time: c.Time, Unit: c.Unit}
	for _, s := range c.Sides {
		out.Sides = append(out.Sides, Side{s.Value, passages(s.Quotes), s.Voices, s.Newest})
	}
	return out
}

// leastAge is how old a page must be, when a query brings it, to be one that was kept.
const leastAge = time.Minute

// ageIn returns how old the answer to a query was, if that was kept, else the newest of
// what it brought.
func ageIn(v research.View, q research.Query) (age time.Duration) {
	if q.Age > 0 {
		return time.Duration(q.Age) * time.Second
	}
	if q.Text == "" {
		return 0
	}
	for _, e := range v.Evidence {
		if e.Fetched.IsZero() || e.Found.Query != q.Text && e.URL != q.Text {
			continue
		}
		if old := e.Created.Sub(e.Fetched); age == 0 || old < age {
			age = old
		}
	}
	if age < leastAge {
		return 0
	}
	return age.Truncate(time.Second)
}

// maxMoments bounds the course of events that a report has.
const maxMoments = 500

// timelineOf returns what happened, with how each passage came.
func timelineOf(v research.View) (list []Moment) {
	for _, e := range v.Evidence {
		list = append(list, Moment{At: e.At, Kind: "evidence", Text: e.ID + " " + cmp.Or(e.Title, e.URL, e.Source)})
	}
	for _, m := range v.Timeline {
		if text := cmp.Or(m.Message, m.Label, m.Query); text != "" {
			list = append(list, Moment{At: m.At, Kind: cmp.Or(m.Stage, "note"), Text: text})
		}
	}
	slices.SortStableFunc(list, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return list[:min(len(list), maxMoments)]
}

func steeringOf(v research.View) (list []Wished) {
	for _, w := range v.Steering {
		what := strings.ReplaceAll(string(w.Order), "_", " ")
		if about := strings.TrimSpace(strings.Join([]string{w.Content, w.Target}, " ")); about != "" {
			what += ": " + about
		}
		list = append(list, Wished{w.At, what, w.Effect, w.Refused})
	}
	return list
}

func costOf(u research.Usage) Cost {
	c := Cost{Calls: u.Calls, Failed: u.Failed, Input: u.Input, Output: u.Output, USD: u.USD, Unpriced: u.Unpriced}
	for _, m := range u.Models {
		c.Models = append(c.Models, ModelCost{m.Model, m.Calls, m.Failed, m.Input, m.Output, m.USD, m.Unpriced})
	}
	return c
}

// sinceOf compares claims with those of an older report, which are read out of its
// answer and checked against its quotes.
func sinceOf(older research.Report, claims []Claim) *Since {
	quotes := make([]claim.Quote, len(older.Evidence))
	for i, k := range older.Evidence {
		quotes[i] = claim.Quote{ID: k.ID, Text: k.Quote, Context: k.Title, Voice: cmp.Or(k.URL, k.Source)}
	}
	d := Changes(Check(older.Answer, quotes), claims)
	d.Thread, d.Question, d.Ended = older.Thread, textkit.OneLine(older.Question), older.At
	return &d
}
