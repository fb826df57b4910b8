package subconscious

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

const (
	minAlsoEscalated = 6        // minimum importance of further findings in an escalation
	maxCompiledBytes = 12 << 10 // bytes
)

func (r Rules) cooldownOrDefault() time.Duration { return max(0, cmp.Or(r.Cooldown, 15*time.Minute)) }
func (r Rules) rearmOrDefault() time.Duration    { return max(0, cmp.Or(r.Rearm, 6*time.Hour)) }

// RaisesAt returns when the pending escalations may be raised, possibly in the past. It returns
// false if none is pending.
func (r Rules) RaisesAt(s State) (time.Time, bool) {
	if len(s.Internal.Pending) == 0 {
		return time.Time{}, false
	}
	return s.Internal.LastRaised.Add(r.escalationPause(s)), true
}

func (m *merge) escalateFindings() {
	for _, r := range m.reports {
		reason := textkit.Line(r.Escalate, maxLine)
		if reason == "" {
			continue
		}
		for i, c := range m.roleClaims(r.Role) {
			if r.shouldEscalate(i, c.Importance) {
				m.queueEscalation(c, reason)
			}
		}
	}
	a := &m.state.Internal
	at, any := m.rules.RaisesAt(m.state)
	if any && (!m.now.Before(at) || m.now.Before(a.LastRaised) || len(a.Pending) >= maxPending) {
		m.raisePending()
	}
}

// shouldEscalate reports whether the nth finding of an escalating report is escalated. A model means its
// first and other important findings; rules use a threshold.
func (r Report) shouldEscalate(n, importance int) bool {
	if r.WithoutModel {
		return importance >= escalationLevel
	}
	return n == 0 || importance >= minAlsoEscalated
}

func (m *merge) roleClaims(role string) (list []*claim) {
	for _, c := range m.claims {
		if c.role.Name == role && c.outcome != outcomeSuppressed {
			list = append(list, c)
		}
	}
	return list
}

// queueEscalation adds a finding to the pending escalations unless its state was already escalated.
func (m *merge) queueEscalation(c *claim, reason string) {
	about := m.state.Internal.Metadata[c.entry]
	p := PendingEscalation{Role: c.role.Name, Reason: reason, Summary: c.Summary, Importance: c.Importance, Entry: c.entry,
		Untrusted: c.untrusted || about.Untrusted, WithoutModel: c.unaided, At: m.now}
	of := c.topicSupport(about.Signature)
	for _, o := range c.support {
		p.Rests = appendMissing(p.Rests, maxRests, textkit.Line(o.ID, maxName))
		if s := signatureOf(o); s != "" && slices.ContainsFunc(of, func(x SeenObservation) bool { return x.ID == o.ID }) {
			p.Signature = appendMissing(p.Signature, maxRests, s)
		}
		if source := textkit.Line(cmp.Or(o.Source, o.Sensor), maxLine); source != "" {
			p.Sources = appendMissing(p.Sources, maxSources, source)
		}
		p.Quotes = appendMissing(p.Quotes, maxQuotes, formatQuote(o))
	}
	if len(c.support) == 0 {
		p.Rests, p.Signature = about.Rests, about.Signature
	}
	m.addUntrustedSource(&p, c)
	if c.Importance < m.escalationBar(c, p.Signature) || !m.recordAlerts(c, p.Signature) {
		return
	}
	m.state.Internal.Pending = append(m.state.Internal.Pending, p)
}

// addUntrustedSource adds the best-matching untrusted observation to a tainted p that cites none.
func (m *merge) addUntrustedSource(p *PendingEscalation, c *claim) {
	if slices.ContainsFunc(c.support, func(o SeenObservation) bool { return o.Untrusted }) {
		return
	}
	if o, ok := m.in.likelySource(c.Summary, c.support, c.exposed); ok {
		p.Rests = appendMissing(p.Rests, maxRests, textkit.Line(o.ID, maxName))
		p.Quotes = appendMissing(p.Quotes, maxQuotes, formatQuote(o))
		p.Sources = appendMissing(p.Sources, maxSources, textkit.Line(cmp.Or(o.Source, o.Sensor), maxLine))
	}
}

// recordAlerts records the states behind a finding and reports whether one of them is new.
func (m *merge) recordAlerts(c *claim, signatures []string) (fresh bool) {
	written := false
	for _, s := range signatures {
		at := slices.IndexFunc(m.state.Internal.Alerts, func(a Alert) bool { return a.Signature == s })
		seen := m.lastShown(c, s)
		if at >= 0 && !seen.After(m.state.Internal.Alerts[at].At.Add(m.rules.rearmOrDefault())) {
			a := &m.state.Internal.Alerts[at]
			if seen.After(a.At) {
				a.At = seen
			}
			continue
		}
		a := Alert{Signature: s, Importance: c.Importance, At: seen}
		if seen.IsZero() {
			a.At = m.now
		}
		if at >= 0 {
			a.Dismissed, a.Importance = m.state.Internal.Alerts[at].Dismissed, m.state.Internal.Alerts[at].Importance
			m.state.Internal.Alerts = slices.Delete(m.state.Internal.Alerts, at, at+1)
		}
		if !written {
			a.Text, written = c.Summary, true
		}
		fresh = true
		m.state.Internal.Alerts = append(m.state.Internal.Alerts, a)
	}
	m.trimAlerts()
	if len(signatures) > 0 {
		return fresh
	}
	return m.recordTextAlert(c)
}

// lastShown returns when c's support last showed state s, or zero if it did not.
func (m *merge) lastShown(c *claim, s string) time.Time {
	for _, o := range slices.Backward(c.support) {
		if signatureOf(o) == s {
			return storableTime(o.At)
		}
	}
	return time.Time{}
}

// recordTextAlert is alert for a finding without observations.
func (m *merge) recordTextAlert(c *claim) bool {
	list := &m.state.Internal.Alerts
	for i := range *list {
		a := &(*list)[i]
		if a.Text != "" && !m.now.After(a.At.Add(m.rules.rearmOrDefault())) && m.texts.isSame(c.text, m.texts.phraseOf(a.Text)) {
			a.At = m.now
			return false
		}
	}
	fresh := Alert{Text: c.Summary, Importance: c.Importance, At: m.now}
	dropWhere(list, func(a Alert) bool {
		old := a.Signature == "" && a.Text == fresh.Text
		if old {
			fresh.Dismissed, fresh.Importance = a.Dismissed, a.Importance
		}
		return old
	})
	*list = append(*list, fresh)
	m.trimAlerts()
	return true
}

func (m *merge) trimAlerts() {
	for list := &m.state.Internal.Alerts; len(*list) > maxAlerts; {
		oldest := 0
		for i, a := range *list {
			if a.At.Before((*list)[oldest].At) {
				oldest = i
			}
		}
		*list = slices.Delete(*list, oldest, oldest+1)
	}
}

// escalationBar returns the minimum importance to escalate c. Each dismissal of a similar alert raises it by
// one over that alert's importance.
func (m *merge) escalationBar(c *claim, signatures []string) (bar int) {
	for _, a := range m.state.Internal.Alerts {
		if a.Dismissed == 0 {
			continue
		}
		like := a.Signature != "" && slices.ContainsFunc(signatures, func(s string) bool { return subjectOf(s) == subjectOf(a.Signature) })
		if like || a.Text != "" && m.texts.isSame(c.text, m.texts.phraseOf(a.Text)) {
			bar = max(bar, min(10, a.Importance+a.Dismissed))
		}
	}
	return bar
}

func formatQuote(o SeenObservation) string {
	mark := ""
	if o.Untrusted {
		mark = ", written by strangers"
	}
	return fmt.Sprintf("%q (%s, %s%s)", textkit.Line(o.Content, maxLine), textkit.Line(cmp.Or(o.Source, o.Subject), maxSummary), textkit.Line(o.Sensor, maxName), mark)
}

func (m *merge) raisePending() {
	a := &m.state.Internal
	list := a.Pending
	slices.SortStableFunc(list, func(x, y PendingEscalation) int { return cmp.Compare(y.Importance, x.Importance) })
	e := ponder.Escalation{ID: m.escalationID(len(m.escalations) + 1), Importance: list[0].Importance, WithoutModel: true}
	var reasons []string
	for _, p := range list {
		reasons = appendMissing(reasons, len(list), p.Reason)
		if p.Entry != "" {
			e.Entries = appendMissing(e.Entries, maxPending, p.Entry)
		}
		e.Observations = appendMissing(e.Observations, maxAlerts, p.Rests...)
		e.Signatures = appendMissing(e.Signatures, maxAlerts, p.Signature...)
		e.Sources = appendMissing(e.Sources, maxAlerts, p.Sources...)
		e.Untrusted = e.Untrusted || p.Untrusted
		e.WithoutModel = e.WithoutModel && p.WithoutModel
	}
	e.Reason = textkit.TruncateBytes(strings.Join(reasons, " "), 2*maxLine)
	e.Content = m.compileContent(list)
	summary := list[0].Summary
	if len(list) > 1 {
		summary = fmt.Sprintf("%s (and %d more)", strings.Join(strings.Fields(summary)[:min(len(strings.Fields(summary)), MaxWords-3)], " "), len(list)-1)
	}
	m.state.EscalationHistory = lastN(append(m.state.EscalationHistory, EscalationRecord{ID: e.ID, Summary: Summary(summary), Reason: textkit.Line(e.Reason, maxLine), Created: m.now}), maxHistory)
	for i := range a.Alerts {
		told := a.Alerts[i].Signature != "" && slices.Contains(e.Signatures, a.Alerts[i].Signature) ||
			a.Alerts[i].Signature == "" && slices.ContainsFunc(list, func(p PendingEscalation) bool { return p.Summary == a.Alerts[i].Text })
		if told {
			a.Alerts[i].Escalation = e.ID
		}
	}
	a.Pending, a.LastRaised = nil, m.now
	m.escalations = append(m.escalations, e)
}

// escalationID returns the id of the tick's nth escalation. It is stable for a run and unique
// across threads, because receivers deduplicate by id.
func (m *merge) escalationID(n int) string {
	const letters = 10
	sum := sha256.Sum256([]byte(m.in.Run))
	return fmt.Sprintf("esc_%s-%d-%d", strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:letters], clamp(m.in.Tick, 0, maxNumber), n)
}

func (m *merge) compileContent(list []PendingEscalation) string {
	var out strings.Builder
	for i, p := range list {
		var b strings.Builder
		fmt.Fprintf(&b, "- %s (%s, importance %d, %s", p.Summary, p.Role, p.Importance, p.At.Format("2006-01-02 15:04"))
		if p.Untrusted {
			b.WriteString(", from what strangers wrote")
		}
		b.WriteString(")\n  why: " + p.Reason + "\n")
		if e, c := m.state.findEntry(p.Entry); e != nil {
			fmt.Fprintf(&b, "  on its mind: %s, %s, strength %d: %s\n", e.ID, c, e.Strength, e.Summary)
		}
		for _, q := range p.Quotes {
			b.WriteString("  observed: " + q + "\n")
		}
		if out.Len()+b.Len() > maxCompiledBytes {
			fmt.Fprintf(&out, "- and %d more\n", len(list)-i)
			break
		}
		out.WriteString(b.String())
	}
	return out.String()
}
