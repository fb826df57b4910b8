package report

import (
	"ponder/internal/links"
	"ponder/mode/session"
)

// sessionAddresses returns the addresses in the sources of a session and in the words of its user.
func sessionAddresses(v session.View) links.Set {
	known := links.SetOf(v.Session.Question)
	for _, s := range v.Sources {
		known.Add(s.URL, s.Source, s.Title, s.Quote)
	}
	for _, s := range v.Steering {
		known.Add(s.Content)
	}
	return known
}

// knownAddresses is sessionAddresses of a research.
func (r *Research) knownAddresses() links.Set {
	known := links.SetOf(r.Question)
	for _, e := range r.Evidence {
		known.Add(e.URL, e.Source, e.Title, e.Quote)
	}
	return known
}
