package subconscious

import (
	"slices"
	"strings"
	"time"
)

// habituation is the time in which a topic regains one importance.
const habituation = time.Hour

// habit sets the weight of a finding: its importance minus the role's recent repeats. It reports
// whether there were any.
func (m *merge) habit(c *claim) bool {
	c.weight = c.Importance
	list := m.state.Aside.Topics
	at := slices.IndexFunc(list, func(t Topic) bool {
		return t.Role == c.role.Name && (t.Text == c.Summary || t.weighs(m.now) > 0 && m.texts.same(c.text, m.texts.read(t.Text)))
	})
	t := Topic{Role: c.role.Name, Text: c.Summary, Last: m.now}
	if at >= 0 {
		t = list[at]
		m.state.Aside.Topics = slices.Delete(list, at, at+1)
		back := t.Times - t.weighs(m.now)
		if t.Times -= back; t.Times == 0 {
			t.Last = m.now
		} else {
			t.Last = t.Last.Add(time.Duration(back) * habituation)
		}
		c.weight = max(0, c.weight-t.Times)
	}
	had := t.Times > 0
	t.Times = min(t.Times+1, maxTimes)
	m.state.Aside.Topics = last(append(m.state.Aside.Topics, t), maxTopics)
	return had
}

func (t Topic) weighs(now time.Time) int {
	back := int(within(now.Sub(t.Last)/habituation, 0, maxTimes))
	return max(0, t.Times-back)
}

// silenced returns why a finding is suppressed, or "": its topic is settled and it has no newer
// support.
func (m *merge) silenced(c *claim) string {
	for i, t := range m.state.Aside.Settled {
		topic := m.texts.read(t.Text)
		if !m.texts.same(topic, c.text) && !m.texts.names(topic, c.text) && !(m.sameFacts(c, t.Signature) && m.texts.near(topic, c.text)) {
			continue
		}
		switch {
		case t.Forgotten:
			return "it was forgotten"
		case !slices.ContainsFunc(c.about(m.then[i]), t.isNew):
			return "it is resolved"
		}
	}
	return ""
}

// about returns the support that is relevant to c or shares a subject with signatures.
func (c *claim) about(signatures []string) (list []Seen) {
	for _, o := range c.rests {
		subject := subjectOf(signature(o))
		known := subject != "" && slices.ContainsFunc(signatures, func(s string) bool { return subjectOf(s) == subject })
		if known || slices.ContainsFunc(c.related, func(x Seen) bool { return x.ID == o.ID }) {
			list = append(list, o)
		}
	}
	return list
}

func (m *merge) fresh(c *claim, said string) bool {
	about := c.about(m.state.Aside.About[said].Signature)
	return slices.ContainsFunc(about, func(o Seen) bool { return !isLookUp(o.Sensor) })
}

// isNew reports whether o is a fact newer than the resolution. Look-ups are not.
func (t Settled) isNew(o Seen) bool {
	s := signature(o)
	return !isLookUp(o.Sensor) && o.At.After(t.At) && (s == "" || !slices.Contains(t.Signature, s))
}

// rearm forgets a settled topic's known states once its subject has changed, so that their return
// is news.
func (m *merge) rearm() {
	for i := range m.state.Aside.Settled {
		t := &m.state.Aside.Settled[i]
		if t.Forgotten || len(t.Signature) == 0 {
			continue
		}
		for _, o := range m.in.Seen {
			s := signature(o)
			if subject := subjectOf(s); subject != "" && t.isNew(o) {
				drop(&t.Signature, func(known string) bool { return subjectOf(known) == subject })
			}
		}
	}
}

func subjectOf(signature string) string {
	i := strings.LastIndexByte(signature, '|')
	return signature[:max(0, i)]
}

// ground finds the support of a finding. Observations that only repeat an entry do not count.
func (m *merge) ground(c *claim) {
	for _, id := range c.Rests {
		o, ok := m.in.Seen[id]
		if ok && !slices.ContainsFunc(c.rests, func(x Seen) bool { return x.ID == o.ID }) {
			c.rests = append(c.rests, o)
		}
	}
	slices.SortStableFunc(c.rests, bySeq)
	c.rests = last(c.rests, maxRests)
	c.due = c.Due
	for _, o := range c.rests {
		c.untrusted = c.untrusted || o.Untrusted
		if c.Due.IsZero() && !o.Due.IsZero() && (c.due.IsZero() || o.Due.Before(c.due)) {
			c.due = plain(o.Due)
		}
	}
	c.untrusted = c.untrusted || m.tainted(c)
	lookedUp := func(o Seen) bool { return isLookUp(o.Sensor) }
	world := slices.ContainsFunc(c.rests, func(o Seen) bool { return !lookedUp(o) })
	c.recalled = !world && (c.recalled || len(c.rests) > 0)
	drop(&c.rests, m.repeats)
	c.new = slices.ContainsFunc(c.rests, func(o Seen) bool { return !lookedUp(o) })
	for _, o := range c.rests {
		if o.pertains(c.Summary) {
			c.related = append(c.related, o)
		}
	}
}

// repeats reports whether o only repeats an entry that does not rest on it, for example a recalled
// or quoted one.
func (m *merge) repeats(o Seen) bool {
	subject := subjectOf(signature(o))
	own := isOwn(o.Sensor) || isLookUp(o.Sensor)
	for id, e := range m.before {
		about := m.state.Aside.About[id]
		if slices.Contains(about.Rests, o.ID) || !own && subject != "" && slices.ContainsFunc(about.Signature, func(s string) bool { return subjectOf(s) == subject }) {
			continue
		}
		for _, s := range append(about.Said, e.Summary) {
			if m.texts.same(m.texts.read(o.Content), m.texts.read(s)) || own && m.texts.names(m.texts.read(s), m.texts.read(o.Content)) {
				return true
			}
		}
	}
	return false
}

// isOwn reports whether a sensor observes Ponder's own output.
func isOwn(sensor string) bool {
	return slices.Contains([]string{"own", deliverySensor, Name}, sensorKind(sensor))
}

func (m *merge) tainted(c *claim) bool {
	return slices.ContainsFunc(c.Reinforces, func(id string) bool { return m.state.Aside.About[id].Untrusted })
}

// IsTopic reports whether text has content words or values; "the" alone has none.
func IsTopic(text string) bool {
	p := newReader(nil).read(text)
	return len(p.words) > 0 || len(p.values) > 0
}
