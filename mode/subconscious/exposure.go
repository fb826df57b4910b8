package subconscious

// Exposure records the untrusted text that models of roles have read. Roles' notes, hints and
// topics may derive from it without saying so. Showing them to a model therefore exposes that model
// too.
type Exposure struct {
	Rests   []string `json:"rests_on,omitempty"` // ids of the newest 8 observations
	Sources []string `json:"sources,omitempty"`  // where a user can find them
}

func (e Exposure) any() bool { return len(e.Rests)+len(e.Sources) > 0 }

func (e Exposure) bounded() Exposure {
	if !e.any() {
		return Exposure{}
	}
	return Exposure{Rests: lines(e.Rests, maxRests, maxName), Sources: lines(e.Sources, maxSources, maxLine)}
}

func (m *Merged) expose(r Report, seen map[string]Seen) {
	if !r.Untrusted || r.Unaided {
		return
	}
	e := m.State.Aside.Exposure
	for _, id := range r.Exposed {
		e.Rests = newestOf(e.Rests, id)
	}
	for _, source := range sourcesOf(r.Exposed, seen) {
		e.Sources = newestOf(e.Sources, source)
	}
	m.State.Aside.Exposure = e.bounded()
}

func newestOf(list []string, s string) []string {
	out := make([]string, 0, len(list)+1)
	for _, o := range list {
		if o != s {
			out = append(out, o)
		}
	}
	return append(out, s)
}
