package subconscious

import (
	"cmp"
	"ponder/internal/textkit"
	"slices"

	"ponder"
)

// taintFindings marks findings of a report exposed to untrusted text, unless trusted observations support
// them. It adds the best-matching untrusted text to escalations, for display to the user.
func (m *MergeResult) taintFindings(r Report, in Input) {
	if !r.Untrusted {
		return
	}
	var led []ponder.Finding
	for i := range m.Findings {
		f := &m.Findings[i]
		if f.By != r.Role || isSupported(*f, in.Seen) {
			continue
		}
		f.Untrusted = true
		led = append(led, *f)
		if about, ok := m.State.Internal.Metadata[f.Entry]; ok {
			about.Untrusted = true
			m.State.Internal.Metadata[f.Entry] = about
		}
	}
	if r.Escalate == "" {
		return
	}
	for _, f := range led {
		m.taintEscalations(r, f, in)
	}
}

func (m *MergeResult) taintEscalations(r Report, f ponder.Finding, in Input) {
	var ids, sources []string
	if o, ok := in.likelySource(f.Content, pickSeen(in.Seen, f.Observations), r.Exposed); ok {
		ids, sources = []string{o.ID}, sourcesOf([]string{o.ID}, map[string]SeenObservation{o.ID: o})
	}
	for i := range m.State.Internal.Pending {
		if p := &m.State.Internal.Pending[i]; p.Role == r.Role && f.Content == p.Summary {
			p.Untrusted = true
			p.Rests, p.Sources = appendUpTo(p.Rests, maxRests, ids), appendUpTo(p.Sources, maxSources, sources)
		}
	}
	for i := range m.Escalations {
		if e := &m.Escalations[i]; f.Entry == "" || slices.Contains(e.Entries, f.Entry) {
			e.Untrusted = true
			e.Observations, e.Sources = appendUpTo(e.Observations, maxAlerts, ids), appendUpTo(e.Sources, maxAlerts, sources)
		}
	}
}

func pickSeen(seen map[string]SeenObservation, ids []string) (list []SeenObservation) {
	for _, id := range ids {
		if o, ok := seen[id]; ok {
			list = append(list, o)
		}
	}
	return list
}

// likelySource returns the exposed untrusted observation that a finding most likely derives from, by
// shared rare words. If none shares any, it returns a sole observation unless rests supports the
// finding.
func (in Input) likelySource(finding string, rests []SeenObservation, exposed []string) (led SeenObservation, ok bool) {
	var list []SeenObservation
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
		have[i] = o.rareStems()
	}
	words, bestScore := newWordMatch(finding, have), 0.0
	for i, o := range list {
		if score := words.scoreObservation(i); score > bestScore {
			bestScore, led, ok = score, o, true
		}
	}
	if !ok && len(list) == 1 && len(exposed) == 1 && !coverHalf(rests, finding) {
		return list[0], true
	}
	return led, ok
}

// isSupported reports whether f rests on trusted observations only, which contain half of its words.
func isSupported(f ponder.Finding, seen map[string]SeenObservation) bool {
	list := pickSeen(seen, f.Observations)
	return !slices.ContainsFunc(list, func(o SeenObservation) bool { return o.Untrusted }) && coverHalf(list, f.Content)
}

func coverHalf(list []SeenObservation, finding string) bool {
	stems, have := stemsOf(finding), []string(nil)
	for _, o := range list {
		have = append(have, stemsOf(o.Subject+" "+o.Content)...)
	}
	return len(stems) > 0 && 2*countCommon(stems, have) >= len(stems)
}

func sourcesOf(ids []string, seen map[string]SeenObservation) (list []string) {
	for _, id := range ids {
		if s := textkit.Line(cmp.Or(seen[id].Source, seen[id].Sensor), maxLine); s != "" {
			list = appendMissing(list, maxSources, s)
		}
	}
	return list
}

// appendUpTo appends missing strings while the list has fewer than n.
func appendUpTo(list []string, n int, more []string) []string {
	return appendMissing(list, n, more[:min(len(more), max(0, n-len(list)))]...)
}
