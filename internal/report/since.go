package report

import (
	"cmp"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/claim"
	"ponder/mode/research"
)

// compareOlder compares a report with an older one: the claims, the cited sources and the conflicts.
func compareOlder(older research.Report, r *Research) *Since {
	d := Changes(olderClaims(older), r.Claims)
	d.Thread, d.Question, d.Ended = older.Thread, textkit.OneLine(older.Question), older.At
	d.NewSources, d.GoneSources = onlyIn(citedSources(r.Answer, r.Evidence), citedSources(older.Answer, knownEvidence(older)))
	was := make([]Conflict, len(older.Conflicts))
	for i, c := range older.Conflicts {
		was[i] = newConflict(c)
	}
	d.compareConflicts(was, r.Conflicts)
	return &d
}

// olderClaims returns the claims of an older report. If it was read by an older version, they are those
// of its answer, checked against its quotes.
func olderClaims(older research.Report) (list []Claim) {
	if len(older.Claims) > 0 {
		for _, c := range older.Claims {
			list = append(list, Claim{Text: c.Text, Status: c.Status})
		}
		return list
	}
	quotes := make([]claim.Quote, len(older.Evidence))
	for i, k := range older.Evidence {
		quotes[i] = claim.Quote{ID: k.ID, Text: k.Quote, Context: k.Title, Voice: cmp.Or(k.URL, k.Source)}
	}
	return Check(older.Answer, quotes)
}

func knownEvidence(older research.Report) (list []Evidence) {
	for _, k := range older.Evidence {
		list = append(list, Evidence{ID: k.ID, Source: k.Source, URL: k.URL, Title: k.Title})
	}
	return list
}

// citedSources returns the addresses of the sources that an answer cites, in order.
func citedSources(answer string, list []Evidence) (out []string) {
	for _, m := range citation.FindAllString(answer, -1) {
		for _, id := range sourceID.FindAllString(m, -1) {
			i := slices.IndexFunc(list, func(e Evidence) bool { return e.ID == id })
			if i < 0 {
				continue
			}
			if at := textkit.OneLine(cmp.Or(list[i].URL, list[i].Source)); at != "" && !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// onlyIn returns the texts that only one of two lists has.
func onlyIn(now, was []string) (added, gone []string) {
	without := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
	}
	return without(now, was), without(was, now)
}

// compareConflicts compares conflicts by their subject, and those with the same subject by their values.
func (d *Since) compareConflicts(was, now []Conflict) {
	used := make([]bool, len(was))
	for _, c := range now {
		i := slices.IndexFunc(was, func(o Conflict) bool { return conflictKey(o) == conflictKey(c) })
		switch {
		case i < 0:
			d.NewConflicts = append(d.NewConflicts, conflictLine(c))
		case conflictValues(was[i]) != conflictValues(c):
			d.ChangedConflicts = append(d.ChangedConflicts, Change{Was: conflictLine(was[i]), Now: conflictLine(c)})
		}
		if i >= 0 {
			used[i] = true
		}
	}
	for i, c := range was {
		if !used[i] {
			d.GoneConflicts = append(d.GoneConflicts, conflictLine(c))
		}
	}
}

func conflictKey(c Conflict) string {
	return strings.ToLower(strings.Join([]string{textkit.OneLine(c.Subject), textkit.OneLine(c.Attribute), textkit.OneLine(c.Time), textkit.OneLine(c.Unit)}, "\n"))
}

func conflictValues(c Conflict) string {
	var list []string
	for _, s := range c.Sides {
		list = append(list, strings.ToLower(textkit.OneLine(s.Value)))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "\n")
}

func conflictLine(c Conflict) string {
	var sides []string
	for _, s := range c.Sides {
		sides = append(sides, textkit.TruncateWords(textkit.OneLine(s.Value), 80))
	}
	return strings.TrimPrefix(conflictSubject(c)+": "+strings.Join(sides, " or "), ": ")
}

// HasChanges reports whether anything differs from the older report.
func (d *Since) HasChanges() bool {
	return len(d.New)+len(d.Gone)+len(d.Changed)+len(d.NewSources)+len(d.GoneSources)+len(d.NewConflicts)+len(d.GoneConflicts)+len(d.ChangedConflicts) > 0
}

// Summary describes the number of differences in a line.
func (d *Since) Summary() string {
	var parts []string
	for _, p := range []struct {
		n         int
		one, many string
	}{
		{len(d.New), "new claim", "new claims"}, {len(d.Gone), "dropped claim", "dropped claims"}, {len(d.Changed), "changed claim", "changed claims"},
		{len(d.NewSources), "new source", "new sources"}, {len(d.GoneSources), "dropped source", "dropped sources"},
		{len(d.NewConflicts), "new conflict", "new conflicts"}, {len(d.GoneConflicts), "resolved conflict", "resolved conflicts"},
		{len(d.ChangedConflicts), "changed conflict", "changed conflicts"},
	} {
		if p.n > 0 {
			parts = append(parts, textkit.Count(p.n, p.one, p.many))
		}
	}
	if len(parts) == 0 {
		return "no changes"
	}
	return strings.Join(parts, ", ")
}

// A SinceList is a titled list of differences.
type SinceList struct {
	Title, Sign string
	Items       []string
}

// listDifferences returns the non-empty lists without the changed claims.
func (d *Since) listDifferences() (out []SinceList) {
	var conflicts []string
	for _, c := range d.ChangedConflicts {
		conflicts = append(conflicts, c.Now+" (was: "+c.Was+")")
	}
	for _, l := range []SinceList{
		{"New", "+", d.New}, {"Removed", "-", d.Gone}, {"New sources", "+", d.NewSources}, {"Sources no longer cited", "-", d.GoneSources},
		{"New conflicts", "+", d.NewConflicts}, {"Resolved conflicts", "-", d.GoneConflicts}, {"Changed conflicts", "~", conflicts},
	} {
		if len(l.Items) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// OlderReport returns a research as the report that another one updates.
func OlderReport(v research.View) *research.Report {
	old := &research.Report{
		Thread: v.Research.ID, Run: v.Research.Run, Question: v.Research.Question, Answer: v.Research.Answer, At: v.Research.Completed,
		Conflicts: append([]ponder.Conflict(nil), v.Conflicts...),
	}
	for _, c := range v.Claims {
		old.Claims = append(old.Claims, research.KnownClaim{Text: c.Text, Status: c.Verdict})
	}
	for _, e := range v.Evidence {
		old.Evidence = append(old.Evidence, research.KnownEvidence{ID: e.ID, Source: e.Source, URL: e.URL, Title: e.Title, Quote: e.Quote})
	}
	return old
}
