package mindlog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

// An Entry is a present or former entry of a subconscious.
type Entry struct {
	subconscious.Entry
	List subconscious.Category
}

// allEntries returns all present and former entries by id, with their newest content.
func (m *Log) allEntries(now time.Time) map[string]Entry {
	all := make(map[string]Entry)
	for _, t := range m.Ticks {
		for _, c := range t.Changes {
			e := all[c.Entry]
			if c.Entry == "" {
				continue
			}
			if e.ID == "" {
				e.ID, e.Created = c.Entry, t.At
			}
			if c.Summary != "" {
				e.Summary = c.Summary
			}
			if c.By != "" {
				e.LastSeen = t.At
			}
			all[c.Entry] = e
		}
	}
	for _, l := range listsOf(m.State.DecayTo(now)) {
		for _, e := range l.entries {
			all[e.ID] = Entry{e, l.name}
		}
	}
	return all
}

// Find returns the entry of an id or its prefix. If several match, a present entry precedes
// former ones.
func (m *Log) Find(name string, now time.Time) (Entry, error) {
	all := m.allEntries(now)
	name = strings.ToLower(strings.TrimSpace(name))
	if e, ok := all[name]; ok && name != "" {
		return e, nil
	}
	var found, here []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if name == "" || !strings.HasPrefix(strings.ToLower(id), name) {
			continue
		}
		found = append(found, id)
		if all[id].List != "" {
			here = append(here, id)
		}
	}
	if len(found) > 1 && len(here) > 0 {
		found = here
	}
	switch len(found) {
	case 1:
		return all[found[0]], nil
	case 0:
		return Entry{}, app.NotFoundf("entry_id", "entry %q does not exist", textkit.Truncate(textkit.OneLine(name), 40))
	}
	return Entry{}, app.Invalidf("", "ambiguous id prefix %q (%s); add more characters", textkit.Truncate(textkit.OneLine(name), 20), textkit.Truncate(strings.Join(found, ", "), 60))
}

func looksLikeEntry(word string) bool {
	rest := strings.TrimLeft(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz_-")
	return rest != "" && len(rest) < len(word) && strings.Trim(rest, "0123456789") == ""
}

type Explanation struct {
	subconscious.Entry
	List   subconscious.Category `json:"category,omitempty"`
	Events []Reason              `json:"events"`
}

// Explain explains an entry: see [Log.Find].
func (m *Log) Explain(name string, now time.Time) (Explanation, error) {
	e, err := m.Find(name, now)
	return Explanation{e.Entry, e.List, m.entryReasons(e.ID)}, err
}

func (x Explanation) Text() string {
	const form = "2006-01-02 15:04"
	where := "gone"
	if x.List != "" {
		where = fmt.Sprintf("in %s, strength %d", x.List, x.Strength)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s, since %s\n\n", x.ID, textkit.OneLine(x.Summary), where, x.Created.Local().Format(form))
	for _, r := range x.Events {
		fmt.Fprintf(&b, "%s  %s\n", r.At.Local().Format(form), textkit.OneLine(r.lineText()))
	}
	return b.String()
}

// A Reason is an event about an entry.
type Reason struct {
	Seq          ponder.Seq `json:"seq"`
	ID           string     `json:"event_id"`
	At           time.Time  `json:"at"`
	Type         string     `json:"type"` // observation, finding, change, escalation, decision, resolved, forgotten, rolled_back
	By           string     `json:"by,omitempty"`
	Text         string     `json:"text"`
	Did          string     `json:"did,omitempty"`
	Why          string     `json:"why,omitempty"`
	Strength     int        `json:"strength,omitempty"` // after a change
	Importance   int        `json:"importance,omitempty"`
	Observations []string   `json:"rests_on,omitempty"`
	Source       string     `json:"source,omitempty"`
	Untrusted    bool       `json:"untrusted,omitempty"`
	Tick         int        `json:"tick,omitempty"`
}

func (m *Log) entryReasons(entry string) []Reason {
	ticks := make(map[ponder.Seq]subconscious.MergedTick)
	for _, t := range m.Ticks {
		ticks[t.Seq] = t
	}
	list := []Reason{}
	raised := make(map[string]bool) // escalations about it
	seen := make(map[string]bool)
	for _, ev := range m.events {
		r := Reason{Seq: ev.Seq, ID: ev.ID, At: ev.Time, Type: ev.Body.Type()}
		switch b := ev.Body.(type) {
		case ponder.Finding:
			if b.Entry == entry {
				list = append(m.addObservations(list, b.Observations, seen), r.withFinding(b))
			}
		case ponder.Subconscious:
			for _, c := range ticks[ev.Seq].Changes {
				if c.Entry == entry {
					list = append(m.addObservations(list, c.Rests, seen), r.withChange(c, ticks[ev.Seq].Number))
				}
			}
		case ponder.Escalation:
			if raised[b.ID] = raised[b.ID] || slices.Contains(b.Entries, entry); raised[b.ID] {
				list = append(list, r.withEscalation(b))
			}
		case ponder.Resolution:
			if b.Ref == entry {
				r.Type, r.Text = userRow(ev, b).Kind, b.Content
				list = append(list, r)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Reason) int { return int(a.Seq - b.Seq) })
	return list
}

// addObservations appends the observations of ids, each once.
func (m *Log) addObservations(list []Reason, ids []string, had map[string]bool) []Reason {
	for _, id := range ids {
		ev, ok := m.observations[id]
		if !ok || had[id] {
			continue
		}
		o, _ := ev.Body.(ponder.Observation)
		had[id] = true
		list = append(list, Reason{Seq: ev.Seq, ID: ev.ID, At: ev.Time, Type: "observation", By: o.Sensor, Text: o.Content, Source: o.Source, Untrusted: o.Untrusted})
	}
	return list
}

func (r Reason) withFinding(b ponder.Finding) Reason {
	r.By, r.Text, r.Importance, r.Observations, r.Untrusted, r.Did = b.By, b.Content, b.Importance, b.Observations, b.Untrusted, b.MergeResult
	return r
}

func (r Reason) withChange(c subconscious.Change, tick int) Reason {
	r.Type, r.By, r.Text, r.Did, r.Why, r.Strength, r.Observations, r.Tick = "change", c.By, c.Summary, c.Effect, c.Why, c.Strength, c.Rests, tick
	return r
}

func (r Reason) withEscalation(b ponder.Escalation) Reason {
	r.Text, r.Why, r.Importance, r.Untrusted = b.Content, b.Reason, b.Importance, b.Untrusted
	if b.Outcome != "" {
		r.Type, r.Did, r.By = "decision", b.Outcome, b.Model
	}
	return r
}

func (r Reason) lineText() string {
	switch r.Type {
	case "observation":
		text := r.By + " saw: " + r.Text
		if r.Source != "" {
			text += " [" + r.Source + "]"
		}
		if r.Untrusted {
			text += " (from text by others)"
		}
		return text
	case "finding":
		return fmt.Sprintf("%s found: %s (importance %d; %s)", r.By, r.Text, r.Importance, r.Did)
	case "change":
		return fmt.Sprintf("tick %d: %s", r.Tick, changeText(subconscious.Change{Entry: "", Effect: r.Did, By: r.By, Why: r.Why, Strength: r.Strength}))
	case "escalation":
		return fmt.Sprintf("escalated: %s (%s)", escalationText(ponder.Escalation{Content: r.Text}), r.Why)
	case "decision":
		return fmt.Sprintf("decided, %s: %s", r.Did, r.Text)
	}
	return fmt.Sprintf("you: %s %s", r.Type, r.Text)
}
