package subconscious

import (
	"cmp"
	"slices"
	"strings"

	"ponder/internal/textkit"
)

// categories are the lists of entries, in merge order.
var categories = []Category{ActiveThreads, Patterns, Hunches, Insights}

func (c Category) maxEntries() int {
	if c == Insights {
		return 3
	}
	return 5
}

func (m *Mind) categoryEntries(c Category) *[]Entry {
	switch c {
	case Patterns:
		return &m.Patterns
	case Hunches:
		return &m.Hunches
	case Insights:
		return &m.Insights
	}
	return &m.ActiveThreads
}

func (m *Mind) findEntry(id string) (*Entry, Category) {
	for _, c := range categories {
		list := *m.categoryEntries(c)
		for i := range list {
			if list[i].ID == id {
				return &list[i], c
			}
		}
	}
	return nil, ""
}

// dropWhere deletes unwanted elements in place; the list must not be shared.
func dropWhere[T any](list *[]T, unwanted func(T) bool) { *list = slices.DeleteFunc(*list, unwanted) }

// compareStrength orders entries for pruning by strength, importance, last sight and id, lowest first.
func (s State) compareStrength(a, b Entry) int {
	about := s.Internal.Metadata
	return cmp.Or(cmp.Compare(a.Strength, b.Strength), cmp.Compare(about[a.ID].Importance, about[b.ID].Importance), a.LastSeen.Compare(b.LastSeen), compareIDs(a.ID, b.ID))
}

// compareIDs orders ids such as e9 and e10 by number.
func compareIDs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func (m *merge) weakestIndex(list []Entry) (at int) {
	for i := range list {
		if m.state.compareStrength(list[i], list[at]) < 0 {
			at = i
		}
	}
	return at
}

func lastN[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// appendMissing appends missing strings and keeps the last n.
func appendMissing(list []string, n int, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return slices.Clone(lastN(list, n))
}

// Summary returns s as a summary: one line of at most [MaxWords] words without control characters.
// It cuts longer text after a sentence if enough remains, else after a word with an ellipsis.
func Summary(s string) string {
	if len(s) > 16*maxSummary {
		s = s[:16*maxSummary]
	}
	s = textkit.OneLine(s)
	if strings.Count(s, " ") < MaxWords && len(s) <= maxSummary {
		return s
	}
	list := strings.Fields(s)
	n := 0
	for size := 0; n < min(len(list), MaxWords); n++ {
		if size += len(list[n]) + 1; size > maxSummary-len("…") {
			break
		}
	}
	if n == 0 {
		return textkit.TruncateBytes(s, maxSummary)
	}
	for i := n; i > MaxWords/2; i-- {
		if strings.HasSuffix(list[i-1], ".") || strings.HasSuffix(list[i-1], "!") || strings.HasSuffix(list[i-1], "?") {
			return strings.Join(list[:i], " ")
		}
	}
	return strings.TrimRight(strings.Join(list[:n], " "), ",;:-–—…") + "…"
}
