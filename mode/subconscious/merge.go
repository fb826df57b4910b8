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

// saying returns the id of the entry that states the same as c, or "".
func (m *merge) saying(c *claim) string {
	for _, list := range categories {
		for _, e := range *m.state.list(list) {
			if e.Strength <= 0 && c.comesUp() {
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

// sameFacts reports whether c rests on observations whose signatures are all listed.
func (m *merge) sameFacts(c *claim, signatures []string) bool {
	return len(c.rests) > 0 && !slices.ContainsFunc(c.rests, func(o Seen) bool { return !slices.Contains(signatures, signature(o)) })
}

// signature identifies the state of the world that o reports, or is "" if o has none.
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

func (m *merge) id() string {
	for {
		m.state.Aside.Next = m.state.Aside.Next%maxNumber + 1
		id := fmt.Sprintf("e%d", m.state.Aside.Next)
		if e, _ := m.state.find(id); e == nil {
			return id
		}
	}
}

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

// reinforce strengthens an entry by a finding that names or repeats it. Each role counts once a
// tick, and only with new support or as a new witness. Look-ups strengthen nothing.
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

// promote turns hunches into insights if they are strong or a second role confirmed them.
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

func (m *merge) prune() {
	for _, c := range categories {
		for len(*m.state.list(c)) > c.size() {
			m.cut(c, "the list is full")
		}
	}
}

func (m *merge) cut(c Category, why string) {
	list := m.state.list(c)
	at := m.weakest(*list)
	e := (*list)[at]
	m.note(e, c, "pruned", "", why)
	delete(m.state.Aside.About, e.ID)
	*list = slices.Delete(*list, at, at+1)
}
