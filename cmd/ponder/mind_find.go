package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

// An entryOf is an entry that is, or once was, on the mind of a subconscious.
type entryOf struct {
	subconscious.Entry
	list subconscious.Category // empty if it is gone
}

// entries returns all entries that there ever were, by id: as they are now, or as they
// were last.
func (m *mindLog) entries(now time.Time) map[string]entryOf {
	all := make(map[string]entryOf)
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
	for _, l := range listsOf(m.State.At(now)) {
		for _, e := range l.list {
			all[e.ID] = entryOf{e, l.name}
		}
	}
	return all
}

// find returns the entry that a user means: an id or the beginning of one. Where several
// begin like that, one that is still there goes before those that are gone.
func (m *mindLog) find(name string, now time.Time) (entryOf, error) {
	all := m.entries(now)
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
		if all[id].list != "" {
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
		return entryOf{}, app.Invalidf("", "there is no entry %q: `ponder mind show` lists them", textkit.Truncate(textkit.OneLine(name), 40))
	}
	return entryOf{}, app.Invalidf("", "%q is the beginning of several ids (%s): write more of it", textkit.Truncate(textkit.OneLine(name), 20), textkit.Truncate(strings.Join(found, ", "), 60))
}

// looksLikeEntry reports whether a word may be the id of an entry, as they are made.
func looksLikeEntry(word string) bool {
	rest := strings.TrimLeft(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz_-")
	return rest != "" && len(rest) < len(word) && strings.Trim(rest, "0123456789") == ""
}
