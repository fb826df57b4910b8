package subconscious

import (
	"maps"
	"ponder/internal/textkit"
	"slices"
	"time"
)

// bytesPerToken is the assumed size of a token.
const bytesPerToken = 4

// shrinkMind shrinks the mind to [MaxTokens]: it shortens history first, then prunes the weakest entries.
func (m *merge) shrinkMind() {
	if m.state.encodedSizeBound() <= MaxTokens*bytesPerToken {
		return
	}
	for _, shorten := range []func() bool{m.shortenRoles, m.shortenHistory, m.dropOldFindings, m.dropDecided, m.dropLastRole, m.dropWeakestEntry, m.dropOldestEscalation} {
		for m.state.countTokens() > MaxTokens && shorten() {
		}
	}
}

func (m Mind) countTokens() int { return (len(jsonKey(m)) + bytesPerToken - 1) / bytesPerToken }

// encodedSizeBound returns an upper bound of the encoded size in bytes, without encoding.
func (m Mind) encodedSizeBound() int {
	const names = 120
	n := names
	add := func(list ...string) {
		for _, s := range list {
			n += len(s) + 6 // JSON may escape a character in six bytes
			for i := range len(s) {
				if c := s[i]; c == '<' || c == '>' || c == '&' || c == '"' || c == '\\' || c >= 0x80 {
					n += 5
				}
			}
		}
	}
	for _, c := range categories {
		for _, e := range *m.categoryEntries(c) {
			n += 2 * len(time.RFC3339Nano)
			add(e.ID, e.Summary)
			n += names
		}
	}
	for _, h := range m.EscalationHistory {
		n += len(time.RFC3339Nano) + names
		add(h.ID, h.Summary, h.Reason, h.Outcome)
	}
	for name, r := range m.ThreadState {
		n += names
		add(name, r.FocusHint)
		add(r.LastFindings...)
	}
	return n
}

// shortenRoles and shortenHistory return false if nothing changed.
func (m *merge) shortenRoles() bool {
	const brief = 80
	done := true
	for name, r := range m.state.ThreadState {
		r.LastFindings = slices.Clone(r.LastFindings)
		for i, s := range r.LastFindings {
			r.LastFindings[i] = textkit.TruncateBytes(s, brief)
			done = done && r.LastFindings[i] == s
		}
		m.state.ThreadState[name] = r
	}
	return !done
}

func (m *merge) shortenHistory() bool {
	const brief = 60
	done := true
	for i := range m.state.EscalationHistory {
		h := &m.state.EscalationHistory[i]
		short := *h
		short.Reason, short.Outcome = textkit.TruncateBytes(h.Reason, brief), textkit.TruncateBytes(h.Outcome, brief)
		done = done && short == *h
		*h = short
	}
	return !done
}

// dropOldFindings drops the oldest finding of each role but keeps one.
func (m *merge) dropOldFindings() bool {
	done := true
	for name, r := range m.state.ThreadState {
		if len(r.LastFindings) > 1 {
			done = false
			r.LastFindings = slices.Clone(r.LastFindings[1:])
			m.state.ThreadState[name] = r
		}
	}
	return !done
}

func (m *merge) dropDecided() bool {
	at := slices.IndexFunc(m.state.EscalationHistory, func(h EscalationRecord) bool { return h.Outcome != "" })
	if at < 0 {
		return false
	}
	m.state.EscalationHistory = slices.Delete(m.state.EscalationHistory, at, at+1)
	return true
}

func (m *merge) dropWeakestEntry() bool {
	var from Category
	var weakest Entry
	for _, c := range categories {
		if list := *m.state.categoryEntries(c); len(list) > 0 {
			if e := list[m.weakestIndex(list)]; from == "" || m.state.compareStrength(e, weakest) < 0 {
				from, weakest = c, e
			}
		}
	}
	if from == "" {
		return false
	}
	m.pruneWeakest(from, "the state is too large")
	return true
}

// dropLastRole drops the last role by name. A few roles always leave room for entries.
func (m *merge) dropLastRole() bool {
	list := slices.Sorted(maps.Keys(m.state.ThreadState))
	if len(list) == 0 {
		return false
	}
	delete(m.state.ThreadState, list[len(list)-1])
	return true
}

func (m *merge) dropOldestEscalation() bool {
	if len(m.state.EscalationHistory) == 0 {
		return false
	}
	m.state.EscalationHistory = m.state.EscalationHistory[1:]
	return true
}
