package subconscious

import (
	"maps"
	"ponder/internal/textkit"
	"slices"
	"strings"
)

// recordRoles records the read positions, findings and hints of the reports.
func (m *merge) recordRoles() {
	a := &m.state.Internal
	hops := make(map[string]int) // of the hints that each role gives
	for _, r := range m.reports {
		if _, done := hops[r.Role]; !done {
			hops[r.Role] = m.takeHint(r.Role)
		}
	}
	for _, r := range m.reports {
		m.recordFindings(r)
		m.addLookUp(r, hops[r.Role] > 1 || m.readsOnlyLookUps(r.Role))
		for _, to := range slices.Sorted(maps.Keys(r.Hints)) {
			m.queueHint(Hint{From: r.Role, To: to, Text: textkit.Line(r.Hints[to], maxHint), Tick: clamp(m.in.Tick, 0, maxNumber), Hops: hops[r.Role]})
		}
		if n := textkit.Line(r.Journal, maxLine); n != "" {
			a.Journal[r.Role] = slices.Clone(lastN(append(a.Journal[r.Role], n), maxJournal))
		}
	}
	for name := range hops {
		a.Read[name] = max(a.Read[name], m.in.Given[name])
	}
	m.setFocusHints()
}

// takeHint removes the hint that a role received and returns the hop count of the role's new hints. It
// grows if the role ran without news, for example only for a hint.
func (m *merge) takeHint(role string) int {
	list, hops := m.state.Internal.Hints, 0
	at := slices.IndexFunc(list, func(h Hint) bool { return h.To == role })
	quiet := m.readsOnlyLookUps(role) || m.in.Given[role] <= m.state.Internal.Read[role]
	if quiet {
		hops = 1
	}
	if at < 0 {
		return hops
	}
	if quiet {
		hops = list[at].Hops + 1
	}
	m.state.Internal.Hints = slices.Delete(list, at, at+1)
	return hops
}

func (m *merge) recordFindings(r Report) {
	var found []string
	news := false
	for _, c := range m.claims {
		if c.role.Name == r.Role {
			found = append(found, c.Summary)
			news = news || !slices.Contains([]string{outcomeEcho, outcomeSuppressed, outcomeUnsupported}, c.outcome)
		}
	}
	s := m.state.ThreadState[r.Role]
	s.NoveltyPressure = min(s.NoveltyPressure+1, MaxPressure)
	if news {
		s.NoveltyPressure = 0
	}
	s.LastFindings = m.lastFindings(r.Role, s.LastFindings, found)
	m.state.ThreadState[r.Role], m.state.Internal.Pressed[r.Role] = s, m.now
}

func (m *merge) lastFindings(role string, before, found []string) []string {
	counts := lastN(append(slices.Clone(m.state.Internal.Found[role]), len(found)), lastTicks)
	m.state.Internal.Found[role] = counts
	n := 0
	for _, c := range counts {
		n += c
	}
	return clampLines(lastN(append(slices.Clone(before), found...), n), maxFound, maxLine)
}

// queueHint queues a hint for a known role. It drops hints after two hops.
func (m *merge) queueHint(h Hint) {
	if _, ok := m.rolesByName[h.To]; !ok || h.To == h.From || h.Text == "" || h.Hops > 1 {
		return
	}
	list := &m.state.Internal.Hints
	dropWhere(list, func(o Hint) bool { return o.From == h.From && o.To == h.To && o.Tick < h.Tick }) // the newer one replaces it
	*list = lastN(append(*list, h), maxHints)
}

// setFocusHints sets each role's FocusHint to its first queued hint and adds roles that have not run. Hints
// queue so that all givers take turns.
func (m *merge) setFocusHints() {
	for name := range m.rolesByName {
		first := ""
		if at := slices.IndexFunc(m.state.Internal.Hints, func(h Hint) bool { return h.To == name }); at >= 0 {
			first = m.state.Internal.Hints[at].Text
		}
		s := m.state.ThreadState[name]
		if s.FocusHint = first; s.LastFindings == nil {
			s.LastFindings = []string{}
		}
		m.state.ThreadState[name] = s
	}
}

func compareSeq(a, b SeenObservation) int {
	if a.Seq != b.Seq {
		return int(clamp(a.Seq-b.Seq, -1, 1))
	}
	return strings.Compare(a.ID, b.ID)
}
