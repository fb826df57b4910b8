package session

import "ponder/mode/internal/lookup"

// from reports whether a passage is from the source that is named.
func (e evidence) from(name string) bool {
	return lookup.IsOf(e.Source, name) || e.URL != "" && lookup.IsOf(e.URL, name)
}
