package subconscious

import (
	"cmp"
	"ponder/internal/textkit"
	"slices"

	"ponder"
)

// taint marks findings of a report exposed to untrusted text, unless trusted observations support
// them. It adds the best-matching untrusted text to escalations, for display to the user.
func (m *Merged) taint(r Report, in Input) {
	if !r.Untrusted {
		return
	}
	var led []ponder.Finding
	for i := range m.Findings {
		f := &m.Findings[i]
		if f.By != r.Role || borneOut(*f, in.Seen) {
			continue
		}
		f.Untrusted = true
		led = append(led, *f)
		if about, ok := m.State.Aside.About[f.Entry]; ok {
			about.Untrusted = true
			m.State.Aside.About[f.Entry] = about
		}
	}
	if r.Escalate == "" {
		return
	}
	for _, f := range led {
		m.taintRaised(r, f, in)
	}
}

func (m *Merged) taintRaised(r Report, f ponder.Finding, in Input) {
	var ids, sources []string
	if o, ok := in.ledBy(f.Content, among(in.Seen, f.Rests), r.Exposed); ok {
		ids, sources = []string{o.ID}, sourcesOf([]string{o.ID}, map[string]Seen{o.ID: o})
	}
	for i := range m.State.Aside.Pending {
		if p := &m.State.Aside.Pending[i]; p.Role == r.Role && f.Content == p.Summary {
			p.Untrusted = true
			p.Rests, p.Sources = beside(p.Rests, maxRests, ids), beside(p.Sources, maxSources, sources)
		}
	}
	for i := range m.Raised {
		if e := &m.Raised[i]; f.Entry == "" || slices.Contains(e.Entries, f.Entry) {
			e.Untrusted = true
			e.Rests, e.Sources = beside(e.Rests, maxAlerts, ids), beside(e.Sources, maxAlerts, sources)
		}
	}
}

func among(seen map[string]Seen, ids []string) (list []Seen) {
	for _, id := range ids {
		if o, ok := seen[id]; ok {
			list = append(list, o)
		}
	}
	return list
}

// ledBy returns the exposed untrusted observation that a finding most likely derives from, by
// shared rare words. If none shares any, it returns a sole observation unless rests supports the
// finding.
func (in Input) ledBy(finding string, rests []Seen, exposed []string) (led Seen, ok bool) {
	var list []Seen
	for _, id := range slices.Sorted(slices.Values(exposed)) {
		o, known := in.Seen[id]
		if !known {
			o, known = in.Read[id]
		}
		if known && o.Untrusted {
			list = append(list, o)
		}
	}
	have := make([][]string, len(list))
	for i, o := range list {
		have[i] = o.rare()
	}
	words, most := newMatch(finding, have), 0.0
	for i, o := range list {
		if score := words.fits(i); score > most {
			most, led, ok = score, o, true
		}
	}
	if !ok && len(list) == 1 && len(exposed) == 1 && !bears(rests, finding) {
		return list[0], true
	}
	return led, ok
}

// borneOut reports whether f rests on trusted observations only, which contain half of its words.
func borneOut(f ponder.Finding, seen map[string]Seen) bool {
	list := among(seen, f.Rests)
	return !slices.ContainsFunc(list, func(o Seen) bool { return o.Untrusted }) && bears(list, f.Content)
}

func bears(list []Seen, finding string) bool {
	stems, have := stemsOf(finding), []string(nil)
	for _, o := range list {
		have = append(have, stemsOf(o.Subject+" "+o.Content)...)
	}
	return len(stems) > 0 && 2*common(stems, have) >= len(stems)
}

func sourcesOf(ids []string, seen map[string]Seen) (list []string) {
	for _, id := range ids {
		if s := textkit.Line(cmp.Or(seen[id].Source, seen[id].Sensor), maxLine); s != "" {
			list = include(list, maxSources, s)
		}
	}
	return list
}

// beside appends missing strings while the list has fewer than n.
func beside(list []string, n int, more []string) []string {
	return include(list, n, more[:min(len(more), max(0, n-len(list)))]...)
}
