package subconscious

import (
	"maps"
	"ponder/internal/textkit"
	"slices"
	"time"
)

// bytesPerToken is the assumed size of a token.
const bytesPerToken = 4

// fit shrinks the mind to [MaxTokens]: it shortens history first, then prunes the weakest entries.
func (m *merge) fit() {
	if m.state.most() <= MaxTokens*bytesPerToken {
		return
	}
	for _, shorten := range []func() bool{m.briefRoles, m.briefHistory, m.fewerFindings, m.fewerEscalated, m.fewerRoles, m.fewerEntries, m.fewerUndecided} {
		for m.state.tokens() > MaxTokens && shorten() {
		}
	}
}

func (m Mind) tokens() int { return (len(keyOf(m)) + bytesPerToken - 1) / bytesPerToken }

// most returns an upper bound of the encoded size in bytes, without encoding.
func (m Mind) most() int {
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
		for _, e := range *m.list(c) {
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

// briefRoles and briefHistory return false if nothing changed.
func (m *merge) briefRoles() bool {
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

func (m *merge) briefHistory() bool {
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

// fewerFindings drops the oldest finding of each role but keeps one.
func (m *merge) fewerFindings() bool {
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

func (m *merge) fewerEscalated() bool {
	at := slices.IndexFunc(m.state.EscalationHistory, func(h Escalated) bool { return h.Outcome != "" })
	if at < 0 {
		return false
	}
	m.state.EscalationHistory = slices.Delete(m.state.EscalationHistory, at, at+1)
	return true
}

func (m *merge) fewerEntries() bool {
	var from Category
	var least Entry
	for _, c := range categories {
		if list := *m.state.list(c); len(list) > 0 {
			if e := list[m.weakest(list)]; from == "" || m.state.weaker(e, least) < 0 {
				from, least = c, e
			}
		}
	}
	if from == "" {
		return false
	}
	m.cut(from, "the whole is too large")
	return true
}

// fewerRoles drops the last role by name. A few roles always leave room for entries.
func (m *merge) fewerRoles() bool {
	list := slices.Sorted(maps.Keys(m.state.ThreadState))
	if len(list) == 0 {
		return false
	}
	delete(m.state.ThreadState, list[len(list)-1])
	return true
}

func (m *merge) fewerUndecided() bool {
	if len(m.state.EscalationHistory) == 0 {
		return false
	}
	m.state.EscalationHistory = m.state.EscalationHistory[1:]
	return true
}
