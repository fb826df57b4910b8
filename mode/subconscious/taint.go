package subconscious

import (
	"cmp"
	"ponder/internal/textkit"
	"slices"

	"ponder"
)

// taint marks what came of a report whose role had been shown what strangers wrote,
// unless what strangers did not write bears it out: the role may have been led by them,
// whatever it says that its findings rest on. Of what strangers wrote that is added to what
// an escalation rests on that fits a finding best, so that the user is shown it.
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

// taintRaised marks what is to be escalated of a finding.
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

// among returns the observations of ids, as far as they are known.
func among(seen map[string]Seen, ids []string) (list []Seen) {
	for _, id := range ids {
		if o, ok := seen[id]; ok {
			list = append(list, o)
		}
	}
	return list
}

// ledBy returns of what strangers wrote, and a role was shown, what a finding most likely
// comes from: what shares rare words with it. Where nothing does, it is the only thing that
// there is, if what the finding rests on does not bear it out either.
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

// borneOut reports whether half the words of a finding are in the observations that it
// rests on, and strangers wrote none of these.
func borneOut(f ponder.Finding, seen map[string]Seen) bool {
	list := among(seen, f.Rests)
	return !slices.ContainsFunc(list, func(o Seen) bool { return o.Untrusted }) && bears(list, f.Content)
}

// bears reports whether half the words of a finding are in observations.
func bears(list []Seen, finding string) bool {
	stems, have := stemsOf(finding), []string(nil)
	for _, o := range list {
		have = append(have, stemsOf(o.Subject+" "+o.Content)...)
	}
	return len(stems) > 0 && 2*common(stems, have) >= len(stems)
}

// sourcesOf returns where a user can look for observations.
func sourcesOf(ids []string, seen map[string]Seen) (list []string) {
	for _, id := range ids {
		if s := textkit.Line(cmp.Or(seen[id].Source, seen[id].Sensor), maxLine); s != "" {
			list = include(list, maxSources, s)
		}
	}
	return list
}

// beside returns a list of at most n with what is not in it yet, as far as it fits.
func beside(list []string, n int, more []string) []string {
	return include(list, n, more[:min(len(more), max(0, n-len(list)))]...)
}
