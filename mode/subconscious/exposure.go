package subconscious

// An Exposure is what of strangers the models of roles were shown. What roles keep to
// themselves (notes, hints, topics) may come from it, and says not so: who is shown that
// is shown what strangers wrote.
type Exposure struct {
	Rests   []string `json:"rests_on,omitempty"` // ids of the newest observations, at most 8
	Sources []string `json:"sources,omitempty"`  // of these, where a user can look
}

func (e Exposure) any() bool { return len(e.Rests)+len(e.Sources) > 0 }

func (e Exposure) bounded() Exposure {
	if !e.any() {
		return Exposure{}
	}
	return Exposure{Rests: lines(e.Rests, maxRests, maxName), Sources: lines(e.Sources, maxSources, maxLine)}
}

// expose takes down what strangers wrote that the role of a report was shown.
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

// newestOf returns a list with something as its newest.
func newestOf(list []string, s string) []string {
	out := make([]string, 0, len(list)+1)
	for _, o := range list {
		if o != s {
			out = append(out, o)
		}
	}
	return append(out, s)
}
