package structured

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ponder/llm"
)

const (
	maxDepth    = 2
	maxElements = 64
)

type tree struct {
	members map[string]any // as fit returns them
	size    int            // bytes of values with members
}

// readJSON concatenates lists of records; of other members the first wins. Of an answer and its
// correction only the last counts.
func (f *form) readJSON(text string) (t tree) {
	t.members = make(map[string]any)
	values, err := llm.RepairAll(text)
	if err != nil {
		return t
	}
	for _, js := range values {
		v, err := llm.ParseValue(js)
		if err != nil {
			continue
		}
		if found := f.findMembers(v, 0); len(found) > 0 {
			if f.isCorrection(t.members, found) {
				t.members = make(map[string]any)
			}
			mergeMembers(t.members, found)
			t.size += len(js)
		}
	}
	return t
}

// isCorrection reports whether an answer replaces the one before it: it has a text as its first
// member, or all required members with one that is no list and was given before.
func (f *form) isCorrection(before, found map[string]any) (again bool) {
	if first := f.members[0]; first.kind == textKind {
		return found[first.name] != nil
	}
	for _, m := range f.members {
		if found[m.name] == nil && !m.optional {
			return false
		}
		isList := m.kind == listKind || m.kind == recordsKind
		again = again || !isList && found[m.name] != nil && before[m.name] != nil
	}
	return again
}

// mergeMembers adds missing members and records.
func mergeMembers(members, others map[string]any) {
	for name, v := range others {
		if more, ok := v.([]any); ok {
			had, _ := members[name].([]any)
			v = append(append([]any{}, had...), more...)
		} else if _, had := members[name]; had {
			continue
		}
		members[name] = v
	}
}

// findMembers returns the members in an object, a record of the first list, or a container of
// such. Inner objects win.
func (f *form) findMembers(v any, depth int) map[string]any {
	found, first := make(map[string]any), f.members[0]
	if depth > maxDepth {
		return found
	}
	switch v := parseInner(v).(type) {
	case map[string]any:
		if first.kind == recordsKind {
			if r := first.elementRecord.bareRecord(v); r != nil {
				return map[string]any{first.name: []any{r}}
			}
		}
		rest := maps.Clone(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if object, ok := parseInner(v[name]).(map[string]any); ok {
				if within := f.findMembers(object, depth+1); len(within) > 0 {
					mergeMembers(found, within)
					delete(rest, name)
				}
			}
		}
		mergeMembers(found, f.fitMembers(rest))
	case []any:
		if len(v) == 0 && depth == 0 && first.kind == recordsKind {
			found[first.name] = v
		}
		for _, e := range v[:min(len(v), maxElements)] {
			if s, ok := e.(string); ok && depth == 0 && first.kind == recordsKind && strings.Contains(s, " ") {
				mergeMembers(found, map[string]any{first.name: []any{first.elementRecord.headRecord(s)}})
			} else {
				mergeMembers(found, f.findMembers(e, depth+1))
			}
		}
	}
	return found
}

// parseInner parses a text that is JSON; it returns other values unchanged.
func parseInner(v any) any {
	s, ok := v.(string)
	if !ok || !IsJSON(s) {
		return v
	}
	js, err := llm.Repair(s)
	if err != nil {
		return v
	}
	value, err := llm.ParseValue(js)
	if err != nil {
		return v
	}
	return value
}

// IsJSON reports whether text starts like a JSON answer.
func IsJSON(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "｛") || strings.HasPrefix(text, "［｛") || strings.HasPrefix(text, "[{") || strings.HasPrefix(text, `["`)
}

// bareRecord returns a record with the head and another member, or only the head; else nil.
func (r *record) bareRecord(o map[string]any) map[string]any {
	found := r.fitMembers(o)
	if _, ok := found[r.head.name]; ok && (len(found) > 1 || len(o) == 1) {
		return found
	}
	return nil
}

func (r *record) headRecord(s string) map[string]any { return map[string]any{r.head.name: s} }

func (r *record) fitMembers(o map[string]any) map[string]any {
	given, found := make(map[string]any, len(o)), make(map[string]any, len(o))
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if key := labelKey(name); given[key] == nil {
			given[key] = o[name]
		}
	}
	for _, m := range r.members {
		for _, name := range m.names {
			if v, ok := given[name]; ok {
				if v = m.fitValue(v); v != nil {
					found[m.name] = v
					break
				}
			}
		}
	}
	return found
}

// fitValue converts v to the member's kind, or returns nil.
func (m *member) fitValue(v any) any {
	switch m.kind {
	case textKind:
		if s := joinText(v, "\n\n"); strings.TrimSpace(s) != "" {
			return s
		}
	case numberKind:
		if x, ok := m.parseNumber(v); ok {
			return x
		}
	case integerKind:
		if x, ok := m.parseNumber(v); ok {
			return math.Round(min(max(x, -1e6), 1e6))
		}
	case boolKind:
		return parseBool(v)
	case listKind:
		return toTexts(v)
	case recordsKind:
		return m.elementRecord.toRecords(v)
	}
	return nil
}

// toRecords converts a list, a record, or pairs to records.
func (r *record) toRecords(v any) any {
	all := []any{}
	switch v := parseInner(v).(type) {
	case string:
		return append(all, r.headRecord(v))
	case []any:
		for _, e := range v[:min(len(v), maxElements)] {
			switch e := e.(type) {
			case string:
				all = append(all, r.headRecord(e))
			case map[string]any:
				if found := r.fitMembers(e); found[r.head.name] != nil {
					all = append(all, found)
				}
			}
		}
	case map[string]any:
		if found := r.bareRecord(v); found != nil {
			return append(all, found)
		}
		return append(all, r.pairRecords(v)...)
	case nil:
	default:
		return nil
	}
	return all
}

// pairRecords makes records of name and value.
func (r *record) pairRecords(o map[string]any) (all []any) {
	if len(r.members) != 2 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if v := r.members[1].fitValue(o[name]); v != nil {
			all = append(all, map[string]any{r.members[0].name: name, r.members[1].name: v})
		}
	}
	return all[:min(len(all), maxElements)]
}

func toTexts(v any) any {
	all := []string{}
	switch v := v.(type) {
	case string:
		all = append(all, Items(v)...)
	case []any:
		for _, e := range v[:min(len(v), maxElements)] {
			if o, ok := e.(map[string]any); ok {
				for _, name := range []string{"query", "text"} {
					if s, ok := o[name].(string); ok {
						e = s
					}
				}
			}
			if s := joinText(e, ": "); s != "" {
				all = append(all, TrimBullet(s))
			}
		}
	case nil:
	default:
		return nil
	}
	return all
}

func joinText(v any, between string) string {
	var all []string
	switch v := v.(type) {
	case string:
		return v
	case float64, bool:
		return fmt.Sprint(v)
	case []any:
		for _, e := range v[:min(len(v), maxElements)] {
			if _, deeper := e.([]any); !deeper {
				all = append(all, joinText(e, between))
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch e := v[name].(type) {
			case string, bool:
				all = append(all, fmt.Sprint(e))
			}
		}
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" }), between)
}

func parseBool(v any) any {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		word := labelKey(strings.Fields(v + " -")[0])
		if slices.Contains([]string{"true", "yes", "enough"}, word) {
			return true
		}
		if slices.Contains([]string{"false", "no", "not", "none"}, word) {
			return false
		}
	}
	return nil
}
