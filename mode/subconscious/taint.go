package subconscious

import (
	"cmp"
	"slices"

	"ponder"
)

// taint marks what came of a report whose role had been shown what strangers wrote,
// unless what strangers did not write bears it out: the role may have been led by them,
// whatever it says that its findings rest on. What strangers wrote is added to what an
// escalation rests on, so that the user is shown it.
func (m *Merged) taint(r Report, seen map[string]Seen) {
	if !r.Untrusted {
		return
	}
	var led []ponder.Finding
	for i := range m.Findings {
		f := &m.Findings[i]
		if f.By != r.Role || borneOut(*f, seen) {
			continue
		}
		f.Untrusted = true
		led = append(led, *f)
		if about, ok := m.State.Aside.About[f.Entry]; ok {
			about.Untrusted = true
			m.State.Aside.About[f.Entry] = about
		}
	}
	if r.Escalate != "" && len(led) > 0 {
		sources := sourcesOf(r.Exposed, seen)
		if len(sources) == 0 {
			sources = m.State.Aside.Exposure.Sources
		}
		m.taintRaised(r, led, sources)
	}
}

// taintRaised marks what is to be escalated of findings.
func (m *Merged) taintRaised(r Report, led []ponder.Finding, sources []string) {
	for i := range m.State.Aside.Pending {
		p := &m.State.Aside.Pending[i]
		if p.Role == r.Role && slices.ContainsFunc(led, func(f ponder.Finding) bool { return f.Content == p.Summary }) {
			p.Untrusted = true
			p.Rests, p.Sources = beside(p.Rests, maxRests, r.Exposed), beside(p.Sources, maxSources, sources)
		}
	}
	for i := range m.Raised {
		e := &m.Raised[i]
		if slices.ContainsFunc(led, func(f ponder.Finding) bool { return f.Entry == "" || slices.Contains(e.Entries, f.Entry) }) {
			e.Untrusted = true
			e.Rests, e.Sources = beside(e.Rests, maxAlerts, r.Exposed), beside(e.Sources, maxAlerts, sources)
		}
	}
}

// borneOut reports whether half the words of a finding are in the observations that it
// rests on, and strangers wrote none of these.
func borneOut(f ponder.Finding, seen map[string]Seen) bool {
	stems, have := stemsOf(f.Content), []string(nil)
	for _, id := range f.Rests {
		if seen[id].Untrusted {
			return false
		}
		have = append(have, stemsOf(seen[id].Subject+" "+seen[id].Content)...)
	}
	return len(stems) > 0 && 2*common(stems, have) >= len(stems)
}

// sourcesOf returns where a user can look for observations.
func sourcesOf(ids []string, seen map[string]Seen) (list []string) {
	for _, id := range ids {
		if s := clip(cmp.Or(seen[id].Source, seen[id].Sensor), maxLine); s != "" {
			list = include(list, maxSources, s)
		}
	}
	return list
}

// beside returns a list of at most n with what is not in it yet, as far as it fits.
func beside(list []string, n int, more []string) []string {
	return include(list, n, more[:min(len(more), max(0, n-len(list)))]...)
}
