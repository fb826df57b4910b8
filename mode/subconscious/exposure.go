package subconscious

// Exposure records the untrusted text that models of roles have read. Roles' notes, hints and
// topics may derive from it without saying so. Showing them to a model therefore exposes that model
// too.
type Exposure struct {
	Rests   []string `json:"rests_on,omitempty"` // ids of the newest 8 observations
	Sources []string `json:"sources,omitempty"`  // where a user can find them
}

func (e Exposure) hasAny() bool { return len(e.Rests)+len(e.Sources) > 0 }

func (e Exposure) clampLimits() Exposure {
	if !e.hasAny() {
		return Exposure{}
	}
	return Exposure{Rests: clampLines(e.Rests, maxRests, maxName), Sources: clampLines(e.Sources, maxSources, maxLine)}
}

func (m *MergeResult) recordExposure(r Report, seen map[string]SeenObservation) {
	if !r.Untrusted || r.WithoutModel {
		return
	}
	e := m.State.Internal.Exposure
	for _, id := range r.Exposed {
		e.Rests = moveToEnd(e.Rests, id)
	}
	for _, source := range sourcesOf(r.Exposed, seen) {
		e.Sources = moveToEnd(e.Sources, source)
	}
	m.State.Internal.Exposure = e.clampLimits()
}

func moveToEnd(list []string, s string) []string {
	out := make([]string, 0, len(list)+1)
	for _, o := range list {
		if o != s {
			out = append(out, o)
		}
	}
	return append(out, s)
}
