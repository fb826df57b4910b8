package subconscious

import (
	"maps"
	"ponder/internal/textkit"
	"slices"
	"strings"
)

// roles records the read positions, findings and hints of the reports.
func (m *merge) roles() {
	a := &m.state.Aside
	hops := make(map[string]int) // of the hints that each role gives
	for _, r := range m.reports {
		if _, done := hops[r.Role]; !done {
			hops[r.Role] = m.given(r.Role)
		}
	}
	for _, r := range m.reports {
		m.remember(r)
		m.want(r, hops[r.Role] > 1 || m.recalled(r.Role))
		for _, to := range slices.Sorted(maps.Keys(r.Hints)) {
			m.hint(Hint{From: r.Role, To: to, Text: textkit.Line(r.Hints[to], maxHint), Tick: within(m.in.Tick, 0, maxNumber), Hops: hops[r.Role]})
		}
		if n := textkit.Line(r.Journal, maxLine); n != "" {
			a.Journal[r.Role] = slices.Clone(last(append(a.Journal[r.Role], n), maxJournal))
		}
	}
	for name := range hops {
		a.Read[name] = max(a.Read[name], m.in.Given[name])
	}
	m.focus()
}

// given removes the hint that a role received and returns the hop count of the role's new hints. It
// grows if the role ran only for a hint or look-up.
func (m *merge) given(role string) int {
	list, hops := m.state.Aside.Hints, 0
	at := slices.IndexFunc(list, func(h Hint) bool { return h.To == role })
	recalled := m.recalled(role)
	if recalled {
		hops = 1
	}
	if at < 0 {
		return hops
	}
	if recalled || m.in.Given[role] <= m.state.Aside.Read[role] {
		hops = list[at].Hops + 1
	}
	m.state.Aside.Hints = slices.Delete(list, at, at+1)
	return hops
}

func (m *merge) remember(r Report) {
	var found []string
	news := false
	for _, c := range m.claims {
		if c.role.Name == r.Role {
			found = append(found, c.Summary)
			news = news || c.became != echo && c.became != suppressed
		}
	}
	s := m.state.ThreadState[r.Role]
	s.NoveltyPressure = min(s.NoveltyPressure+1, MaxPressure)
	if news {
		s.NoveltyPressure = 0
	}
	s.LastFindings = m.lastFindings(r.Role, s.LastFindings, found)
	m.state.ThreadState[r.Role] = s
}

func (m *merge) lastFindings(role string, before, found []string) []string {
	counts := last(append(slices.Clone(m.state.Aside.Found[role]), len(found)), lastTicks)
	m.state.Aside.Found[role] = counts
	n := 0
	for _, c := range counts {
		n += c
	}
	return lines(last(append(slices.Clone(before), found...), n), maxFound, maxLine)
}

// hint queues a hint for a known role. It drops hints after two hops.
func (m *merge) hint(h Hint) {
	if _, ok := m.by[h.To]; !ok || h.To == h.From || h.Text == "" || h.Hops > 1 {
		return
	}
	list := &m.state.Aside.Hints
	drop(list, func(o Hint) bool { return o.From == h.From && o.To == h.To && o.Tick < h.Tick }) // the newer one replaces it
	*list = last(append(*list, h), maxHints)
}

// focus sets each role's FocusHint to its first queued hint and adds roles that have not run. Hints
// queue so that all givers take turns.
func (m *merge) focus() {
	for name := range m.by {
		first := ""
		if at := slices.IndexFunc(m.state.Aside.Hints, func(h Hint) bool { return h.To == name }); at >= 0 {
			first = m.state.Aside.Hints[at].Text
		}
		s := m.state.ThreadState[name]
		if s.FocusHint = first; s.LastFindings == nil {
			s.LastFindings = []string{}
		}
		m.state.ThreadState[name] = s
	}
}

func bySeq(a, b Seen) int {
	if a.Seq != b.Seq {
		return int(within(a.Seq-b.Seq, -1, 1))
	}
	return strings.Compare(a.ID, b.ID)
}
