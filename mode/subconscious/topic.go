package subconscious

import (
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
)

// habituation is the time in which a topic regains one importance.
const habituation = time.Hour

// applyHabituation sets the weight of a finding: its importance minus the role's recent repeats. It reports
// whether there were any.
func (m *merge) applyHabituation(c *claim) bool {
	c.weight = c.Importance
	list := m.state.Internal.Topics
	at := slices.IndexFunc(list, func(t Topic) bool {
		return t.Role == c.role.Name && (t.Text == c.Summary || t.recentRepeats(m.now) > 0 && m.texts.isSame(c.text, m.texts.phraseOf(t.Text)))
	})
	t := Topic{Role: c.role.Name, Text: c.Summary, Last: m.now}
	if at >= 0 {
		t = list[at]
		m.state.Internal.Topics = slices.Delete(list, at, at+1)
		back := t.Times - t.recentRepeats(m.now)
		if t.Times -= back; t.Times == 0 {
			t.Last = m.now
		} else {
			t.Last = t.Last.Add(time.Duration(back) * habituation)
		}
		c.weight = max(0, c.weight-t.Times)
	}
	had := t.Times > 0
	t.Times = min(t.Times+1, maxTimes)
	m.state.Internal.Topics = lastN(append(m.state.Internal.Topics, t), maxTopics)
	return had
}

func (t Topic) recentRepeats(now time.Time) int {
	back := int(clamp(now.Sub(t.Last)/habituation, 0, maxTimes))
	return max(0, t.Times-back)
}

// suppressReason returns why a finding is suppressed, or "": its topic is settled and it has no newer
// support.
func (m *merge) suppressReason(c *claim) string {
	for i, t := range m.state.Internal.Settled {
		topic := m.texts.phraseOf(t.Text)
		if !m.texts.isSame(topic, c.text) && !m.texts.coversTopic(topic, c.text) && !(m.hasSameFacts(c, t.Signature) && m.texts.isNear(topic, c.text)) {
			continue
		}
		switch {
		case t.Forgotten:
			return "the user forgot the topic"
		case !slices.ContainsFunc(c.topicSupport(m.settledSignatures[i]), t.isNew):
			return "the topic is resolved"
		}
	}
	return ""
}

// topicSupport returns the support that is relevant to c or shares a subject with signatures.
func (c *claim) topicSupport(signatures []string) (list []SeenObservation) {
	for _, o := range c.support {
		subject := subjectOf(signatureOf(o))
		known := subject != "" && slices.ContainsFunc(signatures, func(s string) bool { return subjectOf(s) == subject })
		if known || slices.ContainsFunc(c.relevant, func(x SeenObservation) bool { return x.ID == o.ID }) {
			list = append(list, o)
		}
	}
	return list
}

// reinforces reports whether c rests on a new observation that supports an entry for the first time. It
// must be relevant to the finding or the entry, or share a subject with the entry.
func (m *merge) reinforces(c *claim, e Entry) bool {
	about := m.state.Internal.Metadata[e.ID]
	related := c.topicSupport(about.Signature)
	return slices.ContainsFunc(c.support, func(o SeenObservation) bool {
		relevant := o.isRelevantTo(e.Summary) || slices.ContainsFunc(related, func(x SeenObservation) bool { return x.ID == o.ID })
		return o.isNews() && relevant && !slices.Contains(about.Rests, textkit.Line(o.ID, maxName))
	})
}

func (m *merge) hasNewSupport(c *claim, said string) bool {
	about := c.topicSupport(m.state.Internal.Metadata[said].Signature)
	return slices.ContainsFunc(about, SeenObservation.isNews)
}

// isNew reports whether o is a fact newer than the resolution. Look-ups are not.
func (t SettledTopic) isNew(o SeenObservation) bool {
	s := signatureOf(o)
	return o.isNews() && o.At.After(t.At) && (s == "" || !slices.Contains(t.Signature, s))
}

// rearmTopics forgets a settled topic's known states once its subject has changed, so that their return
// is news.
func (m *merge) rearmTopics() {
	for i := range m.state.Internal.Settled {
		t := &m.state.Internal.Settled[i]
		if t.Forgotten || len(t.Signature) == 0 {
			continue
		}
		for _, o := range m.in.Seen {
			s := signatureOf(o)
			if subject := subjectOf(s); subject != "" && t.isNew(o) {
				dropWhere(&t.Signature, func(known string) bool { return subjectOf(known) == subject })
			}
		}
	}
}

func subjectOf(signature string) string {
	i := strings.LastIndexByte(signature, '|')
	return signature[:max(0, i)]
}

// findSupport finds the support of a finding. Observations that only repeat an entry do not count.
func (m *merge) findSupport(c *claim) {
	for _, id := range c.Rests {
		o, ok := m.in.Seen[id]
		if ok && !slices.ContainsFunc(c.support, func(x SeenObservation) bool { return x.ID == o.ID }) {
			c.support = append(c.support, o)
		}
	}
	slices.SortStableFunc(c.support, compareSeq)
	c.support = lastN(c.support, maxRests)
	c.due = c.Due
	for _, o := range c.support {
		c.untrusted = c.untrusted || o.Untrusted
		if c.Due.IsZero() && !o.Due.IsZero() && (c.due.IsZero() || o.Due.Before(c.due)) {
			c.due = storableTime(o.Due)
		}
	}
	c.untrusted = c.untrusted || m.reinforcesTainted(c)
	lookedUp := func(o SeenObservation) bool { return isLookUp(o.Sensor) }
	world := slices.ContainsFunc(c.support, func(o SeenObservation) bool { return !lookedUp(o) })
	c.onlyLookUps = !world && (c.onlyLookUps || len(c.support) > 0)
	dropWhere(&c.support, m.isRepetition)
	c.isNew = slices.ContainsFunc(c.support, SeenObservation.isNews)
	for _, o := range c.support {
		if o.isRelevantTo(c.Summary) {
			c.relevant = append(c.relevant, o)
		}
	}
}

// isRepetition reports whether o only repeats an entry that does not rest on it, for example a recalled
// or quoted one.
func (m *merge) isRepetition(o SeenObservation) bool {
	subject := subjectOf(signatureOf(o))
	own := isOwnSensor(o.Sensor) || isLookUp(o.Sensor)
	for id, e := range m.entriesBefore {
		about := m.state.Internal.Metadata[id]
		if slices.Contains(about.Rests, o.ID) || !own && subject != "" && slices.ContainsFunc(about.Signature, func(s string) bool { return subjectOf(s) == subject }) {
			continue
		}
		for _, s := range append(about.Wordings, e.Summary) {
			if m.texts.isSame(m.texts.phraseOf(o.Content), m.texts.phraseOf(s)) || own && m.texts.coversTopic(m.texts.phraseOf(s), m.texts.phraseOf(o.Content)) {
				return true
			}
		}
	}
	return false
}

// isOwnSensor reports whether a sensor observes Ponder's own output.
func isOwnSensor(sensor string) bool {
	return slices.Contains([]string{"own", deliverySensor, Name}, sensorKind(sensor))
}

func (m *merge) reinforcesTainted(c *claim) bool {
	return slices.ContainsFunc(c.Reinforces, func(id string) bool { return m.state.Internal.Metadata[id].Untrusted })
}

// IsTopic reports whether text has content words or values; "the" alone has none.
func IsTopic(text string) bool {
	p := newReader(nil).phraseOf(text)
	return len(p.words) > 0 || len(p.values) > 0
}
