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
	leastEscalated = 6        // minimum importance of further findings in an escalation
	maxCompiled    = 12 << 10 // bytes
)

func (r Rules) cooldown() time.Duration { return max(0, cmp.Or(r.Cooldown, 15*time.Minute)) }
func (r Rules) rearm() time.Duration    { return max(0, cmp.Or(r.Rearm, 6*time.Hour)) }

// RaisesAt returns when the pending escalations may be raised, possibly in the past. It returns
// false if none is pending.
func (r Rules) RaisesAt(s State) (time.Time, bool) {
	if len(s.Aside.Pending) == 0 {
		return time.Time{}, false
	}
	return s.Aside.Raised.Add(r.pause(s)), true
}

func (m *merge) escalate() {
	for _, r := range m.reports {
		reason := textkit.Line(r.Escalate, maxLine)
		if reason == "" {
			continue
		}
		for i, c := range m.wanted(r.Role) {
			if r.escalates(i, c.Importance) {
				m.gather(c, reason)
			}
		}
	}
	a := &m.state.Aside
	at, any := m.rules.RaisesAt(m.state)
	if any && (!m.now.Before(at) || m.now.Before(a.Raised) || len(a.Pending) >= maxPending) {
		m.raise()
	}
}

// escalates reports whether the nth finding of an escalating report is escalated. A model means its
// first and other important findings; rules use a threshold.
func (r Report) escalates(n, importance int) bool {
	if r.Unaided {
		return importance >= escalated
	}
	return n == 0 || importance >= leastEscalated
}

func (m *merge) wanted(role string) (list []*claim) {
	for _, c := range m.claims {
		if c.role.Name == role && c.became != suppressed {
			list = append(list, c)
		}
	}
	return list
}

// gather adds a finding to the pending escalations unless its state was already escalated.
func (m *merge) gather(c *claim, reason string) {
	about := m.state.Aside.About[c.entry]
	p := Pending{Role: c.role.Name, Reason: reason, Summary: c.Summary, Importance: c.Importance, Entry: c.entry,
		Untrusted: c.untrusted || about.Untrusted, Unaided: c.unaided, At: m.now}
	of := c.about(about.Signature)
	for _, o := range c.rests {
		p.Rests = include(p.Rests, maxRests, textkit.Line(o.ID, maxName))
		if s := signature(o); s != "" && slices.ContainsFunc(of, func(x Seen) bool { return x.ID == o.ID }) {
			p.Signature = include(p.Signature, maxRests, s)
		}
		if source := textkit.Line(cmp.Or(o.Source, o.Sensor), maxLine); source != "" {
			p.Sources = include(p.Sources, maxSources, source)
		}
		p.Quotes = include(p.Quotes, maxQuotes, quote(o))
	}
	if len(c.rests) == 0 {
		p.Rests, p.Signature = about.Rests, about.Signature
	}
	m.expose(&p, c)
	if c.Importance < m.bar(c, p.Signature) || !m.alert(c, p.Signature) {
		return
	}
	m.state.Aside.Pending = append(m.state.Aside.Pending, p)
}

// expose adds the best-matching untrusted observation to a tainted p that cites none.
func (m *merge) expose(p *Pending, c *claim) {
	if slices.ContainsFunc(c.rests, func(o Seen) bool { return o.Untrusted }) {
		return
	}
	if o, ok := m.in.ledBy(c.Summary, c.rests, c.exposed); ok {
		p.Rests = include(p.Rests, maxRests, textkit.Line(o.ID, maxName))
		p.Quotes = include(p.Quotes, maxQuotes, quote(o))
		p.Sources = include(p.Sources, maxSources, textkit.Line(cmp.Or(o.Source, o.Sensor), maxLine))
	}
}

// alert records the states behind a finding and reports whether one of them is new.
func (m *merge) alert(c *claim, signatures []string) (fresh bool) {
	written := false
	for _, s := range signatures {
		at := slices.IndexFunc(m.state.Aside.Alerts, func(a Alert) bool { return a.Signature == s })
		seen := m.seenAt(c, s)
		if at >= 0 && !seen.After(m.state.Aside.Alerts[at].At.Add(m.rules.rearm())) {
			a := &m.state.Aside.Alerts[at]
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
			a.Dismissed, a.Importance = m.state.Aside.Alerts[at].Dismissed, m.state.Aside.Alerts[at].Importance
			m.state.Aside.Alerts = slices.Delete(m.state.Aside.Alerts, at, at+1)
		}
		if !written {
			a.Text, written = c.Summary, true
		}
		fresh = true
		m.state.Aside.Alerts = append(m.state.Aside.Alerts, a)
	}
	m.fewerAlerts()
	if len(signatures) > 0 {
		return fresh
	}
	return m.alertText(c)
}

// seenAt returns when c's support last showed state s, or zero if it did not.
func (m *merge) seenAt(c *claim, s string) time.Time {
	for _, o := range slices.Backward(c.rests) {
		if signature(o) == s {
			return plain(o.At)
		}
	}
	return time.Time{}
}

// alertText is alert for a finding without observations.
func (m *merge) alertText(c *claim) bool {
	list := &m.state.Aside.Alerts
	for i := range *list {
		a := &(*list)[i]
		if a.Text != "" && !m.now.After(a.At.Add(m.rules.rearm())) && m.texts.same(c.text, m.texts.read(a.Text)) {
			a.At = m.now
			return false
		}
	}
	fresh := Alert{Text: c.Summary, Importance: c.Importance, At: m.now}
	drop(list, func(a Alert) bool {
		old := a.Signature == "" && a.Text == fresh.Text
		if old {
			fresh.Dismissed, fresh.Importance = a.Dismissed, a.Importance
		}
		return old
	})
	*list = append(*list, fresh)
	m.fewerAlerts()
	return true
}

func (m *merge) fewerAlerts() {
	for list := &m.state.Aside.Alerts; len(*list) > maxAlerts; {
		oldest := 0
		for i, a := range *list {
			if a.At.Before((*list)[oldest].At) {
				oldest = i
			}
		}
		*list = slices.Delete(*list, oldest, oldest+1)
	}
}

// bar returns the minimum importance to escalate c. Each dismissal of a similar alert raises it by
// one over that alert's importance.
func (m *merge) bar(c *claim, signatures []string) (least int) {
	for _, a := range m.state.Aside.Alerts {
		if a.Dismissed == 0 {
			continue
		}
		like := a.Signature != "" && slices.ContainsFunc(signatures, func(s string) bool { return subjectOf(s) == subjectOf(a.Signature) })
		if like || a.Text != "" && m.texts.same(c.text, m.texts.read(a.Text)) {
			least = max(least, min(10, a.Importance+a.Dismissed))
		}
	}
	return least
}

func quote(o Seen) string {
	mark := ""
	if o.Untrusted {
		mark = ", written by strangers"
	}
	return fmt.Sprintf("%q (%s, %s%s)", textkit.Line(o.Content, maxLine), textkit.Line(cmp.Or(o.Source, o.Subject), maxSummary), textkit.Line(o.Sensor, maxName), mark)
}

func (m *merge) raise() {
	a := &m.state.Aside
	list := a.Pending
	slices.SortStableFunc(list, func(x, y Pending) int { return cmp.Compare(y.Importance, x.Importance) })
	e := ponder.Escalation{ID: m.escalationID(len(m.raised) + 1), Importance: list[0].Importance, Unaided: true}
	var reasons []string
	for _, p := range list {
		reasons = include(reasons, len(list), p.Reason)
		if p.Entry != "" {
			e.Entries = include(e.Entries, maxPending, p.Entry)
		}
		e.Rests = include(e.Rests, maxAlerts, p.Rests...)
		e.Signatures = include(e.Signatures, maxAlerts, p.Signature...)
		e.Sources = include(e.Sources, maxAlerts, p.Sources...)
		e.Untrusted = e.Untrusted || p.Untrusted
		e.Unaided = e.Unaided && p.Unaided
	}
	e.Reason = textkit.TruncateBytes(strings.Join(reasons, " "), 2*maxLine)
	e.Content = m.compile(list)
	summary := list[0].Summary
	if len(list) > 1 {
		summary = fmt.Sprintf("%s (and %d more)", strings.Join(strings.Fields(summary)[:min(len(strings.Fields(summary)), MaxWords-3)], " "), len(list)-1)
	}
	m.state.EscalationHistory = last(append(m.state.EscalationHistory, Escalated{ID: e.ID, Summary: Summary(summary), Reason: textkit.Line(e.Reason, maxLine), Created: m.now}), maxHistory)
	for i := range a.Alerts {
		told := a.Alerts[i].Signature != "" && slices.Contains(e.Signatures, a.Alerts[i].Signature) ||
			a.Alerts[i].Signature == "" && slices.ContainsFunc(list, func(p Pending) bool { return p.Summary == a.Alerts[i].Text })
		if told {
			a.Alerts[i].Escalation = e.ID
		}
	}
	a.Pending, a.Raised = nil, m.now
	m.raised = append(m.raised, e)
}

// escalationID returns the id of the tick's nth escalation. It is stable for a run and unique
// across threads, because receivers deduplicate by id.
func (m *merge) escalationID(n int) string {
	const letters = 10
	sum := sha256.Sum256([]byte(m.in.Run))
	return fmt.Sprintf("esc_%s-%d-%d", strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:letters], within(m.in.Tick, 0, maxNumber), n)
}

func (m *merge) compile(list []Pending) string {
	var out strings.Builder
	for i, p := range list {
		var b strings.Builder
		fmt.Fprintf(&b, "- %s (%s, importance %d, %s", p.Summary, p.Role, p.Importance, p.At.Format("2006-01-02 15:04"))
		if p.Untrusted {
			b.WriteString(", from what strangers wrote")
		}
		b.WriteString(")\n  why: " + p.Reason + "\n")
		if e, c := m.state.find(p.Entry); e != nil {
			fmt.Fprintf(&b, "  on its mind: %s, %s, strength %d: %s\n", e.ID, c, e.Strength, e.Summary)
		}
		for _, q := range p.Quotes {
			b.WriteString("  observed: " + q + "\n")
		}
		if out.Len()+b.Len() > maxCompiled {
			fmt.Fprintf(&out, "- and %d more\n", len(list)-i)
			break
		}
		out.WriteString(b.String())
	}
	return out.String()
}
