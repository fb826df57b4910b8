package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/knowledge/recall"
)

// memoryFinding says whether anything is remembered, and how it is searched.
func (a *cli) memoryFinding(ctx context.Context) finding {
	s, err := a.OpenLibraryReadOnly(ctx)
	if errors.Is(err, app.ErrNothingKnown) {
		return finding{"memory", fine, a.line(app.ErrNothingKnown)}
	}
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	defer s.Close()
	list, err := s.List(ctx, recall.Filter{N: 1})
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	if len(list) == 0 {
		return finding{"memory", fine, a.line(app.ErrNothingKnown)}
	}
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	if e := l.Embedder(); e.Embed != nil {
		return finding{"memory", fine, "searched by words and, with " + e.Model + ", by meaning"}
	}
	if wanted := l.Choices.Of(ponder.Embed).Models; l.Config.Models.Embed != nil && len(wanted) > 0 {
		name, _, _ := strings.Cut(wanted[0], "/")
		_, err := l.Provider(name)
		return finding{"memory", broken, fmt.Sprintf("searched by words only: %s: %v", wanted[0], err)}
	}
	return finding{"memory", fine, "searched by words; to search by meaning too, set models.embed, such as ollama/nomic-embed-text"}
}

// webFinding says how the web is searched.
func (a *cli) webFinding() finding {
	n, err := a.Web(nil)
	if err != nil {
		return finding{"web", broken, err.Error()}
	}
	defer n.Fetcher.Close()
	if n.Searcher == nil {
		return finding{"web", lacking, app.ErrNoSearch.Error()}
	}
	return finding{"web", fine, "searched with " + strings.Join(n.Names, ", ")}
}
