package subconscious

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
)

// fade lets entries decay.
func (m *merge) fade() {
	n := m.state.decay(m.now)
	for _, c := range categories {
		for _, e := range *m.state.list(c) {
			if n > 0 {
				m.note(e, c, "decayed", "", fmt.Sprintf("%d minutes passed", n*int(DecayEvery/time.Minute)))
			}
		}
	}
}

// settle finds what becomes of a finding.
func (m *merge) settle(c *claim) {
	before := m.habit(c)
	if why := m.silenced(c); why != "" {
		c.became = suppressed
		return
	}
	said := m.saying(c)
	if _, was := m.before[said]; !m.fresh(c, said) && (was || before) {
		c.became, c.entry = echo, said
		return
	}
	named := m.named(c)
	list := include(nil, maxFindings, named...)
	if said != "" {
		list = include(list, maxFindings, said)
		c.entry = said
	}
	switch {
	case len(list) == 0 && c.weight < LeastAdded, !c.new && c.weight < LeastAdded && said == "":
		c.became = tooLight
	case len(list) == 0:
		m.add(c)
	default:
		c.became = known
		for _, id := range list {
			m.reinforce(c, id, id == said)
		}
		if c.entry == "" {
			c.entry = list[0]
		}
	}
}

// named returns the entries that a finding names, in their order.
func (m *merge) named(c *claim) (list []string) {
	for _, id := range c.Reinforces {
		if e, _ := m.state.find(id); e != nil && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	slices.SortStableFunc(list, byID)
	c.Reinforces = list
	return list
}

// saying returns the entry that says what a finding says, or "".
func (m *merge) saying(c *claim) string {
	for _, list := range categories {
		for _, e := range *m.state.list(list) {
			if e.Strength <= 0 && c.comesUp() { // it has faded since it was found
				continue
			}
			about := m.state.Aside.About[e.ID]
			if m.texts.same(c.text, m.texts.read(e.Summary)) ||
				slices.ContainsFunc(about.Said, func(s string) bool { return m.texts.same(c.text, m.texts.read(s)) }) ||
				m.sameFacts(c, about.Signature) && m.texts.near(c.text, m.texts.read(e.Summary)) {
				return e.ID
			}
		}
	}
	return ""
}

// sameFacts reports whether a finding rests on some facts, and on none but these.
func (m *merge) sameFacts(c *claim, signatures []string) bool {
	return len(c.rests) > 0 && !slices.ContainsFunc(c.rests, func(o Seen) bool { return !slices.Contains(signatures, signature(o)) })
}

// signature names the distinct state of the world that an observation tells of, or ""
// if it tells of none.
func signature(o Seen) string {
	if o.Subject == "" && o.State == "" {
		return ""
	}
	s := textkit.OneLine(o.Sensor + "|" + o.Subject + "|" + strings.ReplaceAll(o.State, "|", "/"))
	if len(s) <= maxSign {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return textkit.Line(o.Sensor, maxName) + "|" + textkit.Line(o.Subject, maxSign/2) + "|" + hex.EncodeToString(sum[:8])
}

// add makes an entry of a finding.
func (m *merge) add(c *claim) {
	category := m.category(c)
	e := Entry{ID: m.id(), Summary: c.Summary, Strength: NewStrength, Created: m.now, LastSeen: m.now}
	list := m.state.list(category)
	*list = append(*list, e)
	m.keep(c, e.ID)
	m.credit[e.ID+" "+c.role.Name] = true
	c.became, c.entry = added, e.ID
	m.note(e, category, "added", c.role.Name, fmt.Sprintf("a new %s of importance %d", cmp.Or(c.Type, "finding"), c.weight))
}

// id returns the id of the next entry.
func (m *merge) id() string {
	for {
		m.state.Aside.Next = m.state.Aside.Next%maxNumber + 1
		id := fmt.Sprintf("e%d", m.state.Aside.Next)
		if e, _ := m.state.find(id); e == nil {
			return id
		}
	}
}

// category returns the list that a finding goes to.
func (m *merge) category(c *claim) Category {
	list := cmp.Or(c.role.Types[c.Type], c.role.Category)
	switch {
	case !slices.Contains(categories, list):
		return ActiveThreads
	case list == Hunches && c.weight >= LeastInsight:
		return Insights
	}
	return list
}

// keep takes down what an entry rests on.
func (m *merge) keep(c *claim, id string) {
	about := m.state.Aside.About[id]
	about.By = include(about.By, maxRoles, c.role.Name)
	for _, o := range c.rests {
		about.Rests = include(about.Rests, maxRests, textkit.Line(o.ID, maxName))
		if s := signature(o); s != "" {
			about.Signature = include(about.Signature, maxRests, s)
		}
	}
	if !c.due.IsZero() {
		about.Due = c.due
	}
	about.Importance = max(about.Importance, c.Importance)
	about.Untrusted = about.Untrusted || c.untrusted
	m.state.Aside.About[id] = about
}

// reinforce makes an entry stronger for a finding that names it or says the same: once
// a tick for each role, and where it rests on something that the entry does not, or is
// of a role that did not see it. What was looked up makes nothing stronger.
func (m *merge) reinforce(c *claim, id string, says bool) {
	e, category := m.state.find(id)
	about := m.state.Aside.About[id]
	if says && e.Summary != c.Summary {
		about.Said = include(about.Said, maxSaid, c.Summary)
		m.state.Aside.About[id] = about
	}
	key := id + " " + c.role.Name
	stale := c.new && slices.Contains(about.By, c.role.Name) && !slices.ContainsFunc(c.rests, func(o Seen) bool { return !slices.Contains(about.Rests, o.ID) })
	if m.credit[key] || stale || c.recalled {
		return
	}
	m.credit[key] = true
	e.Strength, e.LastSeen = min(e.Strength+Reinforcement, MaxStrength), m.now
	m.keep(c, id)
	c.became = reinforced
	why := "names it"
	if says {
		why = "says the same"
	}
	m.note(*e, category, "reinforced", c.role.Name, why+": "+c.Summary)
}

// promote makes insights of hunches that another role confirmed or that are strong.
func (m *merge) promote() {
	var rest []Entry
	for _, e := range m.state.Hunches {
		by := m.state.Aside.About[e.ID].By
		if e.Strength < Confirmed && (len(by) < 2 || e.Strength <= 0) {
			rest = append(rest, e)
			continue
		}
		m.state.Insights = append(m.state.Insights, e)
		why := fmt.Sprintf("its strength reached %d", Confirmed)
		if len(by) > 1 {
			why = "confirmed by " + strings.Join(by[1:], ", ")
		}
		m.note(e, Insights, "moved", "", why)
	}
	m.state.Hunches = rest
}

// sweep removes what came to nothing.
func (m *merge) sweep() {
	for _, c := range categories {
		drop(m.state.list(c), func(e Entry) bool {
			if e.Strength > 0 {
				return false
			}
			m.note(e, c, "removed", "", "nobody saw it again")
			delete(m.state.Aside.About, e.ID)
			return true
		})
	}
}

// prune keeps the lists to their sizes.
func (m *merge) prune() {
	for _, c := range categories {
		for len(*m.state.list(c)) > c.size() {
			m.cut(c, "the list is full")
		}
	}
}

// cut removes the weakest entry of a list.
func (m *merge) cut(c Category, why string) {
	list := m.state.list(c)
	at := m.weakest(*list)
	e := (*list)[at]
	m.note(e, c, "pruned", "", why)
	delete(m.state.Aside.About, e.ID)
	*list = slices.Delete(*list, at, at+1)
}
