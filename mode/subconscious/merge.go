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

func (m *merge) applyDecay() {
	lost := m.state.applyDecay(m.now, 0)
	for _, c := range categories {
		for _, e := range *m.state.categoryEntries(c) {
			if n := lost[e.ID]; n > 0 {
				m.recordChange(e, c, "decayed", "", fmt.Sprintf("%d minutes passed", n*int(DecayEvery/time.Minute)))
			}
		}
	}
}

func (m *merge) mergeClaim(c *claim) {
	before := m.applyHabituation(c)
	if why := m.suppressReason(c); why != "" {
		c.outcome = outcomeSuppressed
		return
	}
	said := m.findSameEntry(c)
	if _, was := m.entriesBefore[said]; !m.hasNewSupport(c, said) && (was || before) {
		c.outcome, c.entry = outcomeEcho, said
		return
	}
	named := m.citedEntries(c)
	list := appendMissing(nil, maxFindings, named...)
	if said != "" {
		list = appendMissing(list, maxFindings, said)
		c.entry = said
	}
	switch {
	case len(list) == 0 && c.weight < MinEntryImportance, !c.isNew && c.weight < MinEntryImportance && said == "":
		c.outcome = outcomeUnimportant
	case len(list) == 0 && len(c.support) == 0:
		c.outcome = outcomeUnsupported
	case len(list) == 0:
		m.addEntry(c)
	default:
		c.outcome = outcomeKnown
		for _, id := range list {
			m.reinforceEntry(c, id, id == said)
		}
		if c.entry == "" {
			c.entry = list[0]
		}
	}
}

func (m *merge) citedEntries(c *claim) (list []string) {
	for _, id := range c.Reinforces {
		if e, _ := m.state.findEntry(id); e != nil && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	slices.SortStableFunc(list, compareIDs)
	c.Reinforces = list
	return list
}

// findSameEntry returns the id of the entry that states the same as c, or "".
func (m *merge) findSameEntry(c *claim) string {
	for _, list := range categories {
		for _, e := range *m.state.categoryEntries(list) {
			if e.Strength <= 0 && c.isReminder() {
				continue
			}
			about := m.state.Internal.Metadata[e.ID]
			if m.texts.isSame(c.text, m.texts.phraseOf(e.Summary)) ||
				slices.ContainsFunc(about.Wordings, func(s string) bool { return m.texts.isSame(c.text, m.texts.phraseOf(s)) }) ||
				m.hasSameFacts(c, about.Signature) && m.texts.isNear(c.text, m.texts.phraseOf(e.Summary)) {
				return e.ID
			}
		}
	}
	return ""
}

// hasSameFacts reports whether c rests on observations whose signatures are all listed.
func (m *merge) hasSameFacts(c *claim, signatures []string) bool {
	return len(c.support) > 0 && !slices.ContainsFunc(c.support, func(o SeenObservation) bool { return !slices.Contains(signatures, signatureOf(o)) })
}

// signatureOf identifies the state of the world that o reports, or is "" if o has none.
func signatureOf(o SeenObservation) string {
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

func (m *merge) addEntry(c *claim) {
	category := m.chooseCategory(c)
	e := Entry{ID: m.nextEntryID(), Summary: c.Summary, Strength: NewStrength, Created: m.now, LastSeen: m.now}
	list := m.state.categoryEntries(category)
	*list = append(*list, e)
	m.state.Internal.Metadata[e.ID] = EntryMetadata{Decayed: m.now}
	m.recordSupport(c, e.ID)
	m.credited[e.ID+" "+c.role.Name] = true
	c.outcome, c.entry = outcomeAdded, e.ID
	m.recordChange(e, category, "added", c.role.Name, fmt.Sprintf("a new %s of importance %d", cmp.Or(c.Type, "finding"), c.weight))
}

func (m *merge) nextEntryID() string {
	for {
		m.state.Internal.Next = m.state.Internal.Next%maxNumber + 1
		id := fmt.Sprintf("e%d", m.state.Internal.Next)
		if e, _ := m.state.findEntry(id); e == nil {
			return id
		}
	}
}

func (m *merge) chooseCategory(c *claim) Category {
	list := cmp.Or(c.role.Types[c.Type], c.role.Category)
	switch {
	case !slices.Contains(categories, list):
		return ActiveThreads
	case list == Hunches && c.weight >= MinInsightImportance:
		return Insights
	}
	return list
}

func (m *merge) recordSupport(c *claim, id string) {
	about := m.state.Internal.Metadata[id]
	about.By = appendMissing(about.By, maxRoles, c.role.Name)
	for _, o := range c.support {
		about.Rests = appendMissing(about.Rests, maxRests, textkit.Line(o.ID, maxName))
		if s := signatureOf(o); s != "" {
			about.Signature = appendMissing(about.Signature, maxRests, s)
		}
	}
	if !c.due.IsZero() {
		about.Due = c.due
	}
	about.Importance = max(about.Importance, c.Importance)
	about.Untrusted = about.Untrusted || c.untrusted
	m.state.Internal.Metadata[id] = about
}

// reinforceEntry strengthens an entry by a finding that names or repeats it and rests on a new observation
// that supports it. Each role counts once a tick.
func (m *merge) reinforceEntry(c *claim, id string, says bool) {
	e, category := m.state.findEntry(id)
	about := m.state.Internal.Metadata[id]
	if says && e.Summary != c.Summary {
		about.Wordings = appendMissing(about.Wordings, maxWordings, c.Summary)
		m.state.Internal.Metadata[id] = about
	}
	key := id + " " + c.role.Name
	if m.credited[key] || !m.reinforces(c, *e) {
		return
	}
	m.credited[key] = true
	e.Strength, e.LastSeen = min(e.Strength+Reinforcement, MaxStrength), m.now
	m.recordSupport(c, id)
	c.outcome = outcomeReinforced
	why := "names it"
	if says {
		why = "states the same"
	}
	m.recordChange(*e, category, "reinforced", c.role.Name, why+": "+c.Summary)
}

// promoteHunches turns hunches into insights if they are strong or a second role confirmed them.
func (m *merge) promoteHunches() {
	var rest []Entry
	for _, e := range m.state.Hunches {
		by := m.state.Internal.Metadata[e.ID].By
		if e.Strength < Confirmed && (len(by) < 2 || e.Strength <= 0) {
			rest = append(rest, e)
			continue
		}
		m.state.Insights = append(m.state.Insights, e)
		why := fmt.Sprintf("its strength reached %d", Confirmed)
		if len(by) > 1 {
			why = "confirmed by " + strings.Join(by[1:], ", ")
		}
		m.recordChange(e, Insights, "moved", "", why)
	}
	m.state.Hunches = rest
}

func (m *merge) removeFaded() {
	for _, c := range categories {
		dropWhere(m.state.categoryEntries(c), func(e Entry) bool {
			if e.Strength > 0 {
				return false
			}
			m.recordChange(e, c, "removed", "", "not observed again")
			delete(m.state.Internal.Metadata, e.ID)
			return true
		})
	}
}

func (m *merge) pruneLists() {
	for _, c := range categories {
		for len(*m.state.categoryEntries(c)) > c.maxEntries() {
			m.pruneWeakest(c, "the list is full")
		}
	}
}

func (m *merge) pruneWeakest(c Category, why string) {
	list := m.state.categoryEntries(c)
	at := m.weakestIndex(*list)
	e := (*list)[at]
	m.recordChange(e, c, "pruned", "", why)
	delete(m.state.Internal.Metadata, e.ID)
	*list = slices.Delete(*list, at, at+1)
}
