package session

import "ponder/mode/internal/hits"

// from reports whether a passage is from the source that is named.
func (e evidence) from(name string) bool {
	return hits.IsOf(e.Source, name) || e.URL != "" && hits.IsOf(e.URL, name)
}
