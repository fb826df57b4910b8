package report

import (
	"ponder/internal/links"
	"ponder/mode/session"
)

// knownAddresses are the addresses in the sources of a report and in the words of its user. It is a
// [links.Policy]; reports have no remote images.
type knownAddresses map[string]bool

func (knownAddresses) Applies() bool { return true }

func (k knownAddresses) Knows(address string, image bool) bool {
	key, ok := links.Key(address)
	return ok && k[key] && !image
}

func (k knownAddresses) addTexts(texts ...string) {
	for _, text := range texts {
		links.Find(text, func(key string) { k[key] = true })
	}
}

func sessionAddresses(v session.View) knownAddresses {
	known := make(knownAddresses)
	known.addTexts(v.Session.Question)
	for _, s := range v.Sources {
		known.addTexts(s.URL, s.Source, s.Title, s.Quote)
	}
	for _, s := range v.Steering {
		known.addTexts(s.Content)
	}
	return known
}

func (r *Research) knownAddresses() knownAddresses {
	known := make(knownAddresses)
	known.addTexts(r.Question)
	for _, e := range r.Evidence {
		known.addTexts(e.URL, e.Source, e.Title, e.Quote)
	}
	return known
}
