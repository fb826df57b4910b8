package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder"
	"ponder/knowledge/recall"
)

// memoryFinding says whether anything is remembered, and how it is searched.
func (a *cli) memoryFinding(ctx context.Context) finding {
	s, err := a.shelfToRead(ctx)
	if errors.Is(err, errNothingKnown) {
		return finding{"memory", fine, errNothingKnown.Error()}
	}
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	defer s.close()
	list, err := s.List(ctx, recall.Filter{N: 1})
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	if len(list) == 0 {
		return finding{"memory", fine, errNothingKnown.Error()}
	}
	l, err := a.lineup(ctx, "")
	if err != nil {
		return finding{"memory", broken, err.Error()}
	}
	if e := l.embedder(); e.Embed != nil {
		return finding{"memory", fine, "searched by words and, with " + e.Model + ", by meaning"}
	}
	if wanted := l.choices.Of(ponder.Embed).Models; l.cfg.Models.Embed != nil && len(wanted) > 0 {
		name, _, _ := strings.Cut(wanted[0], "/")
		_, err := l.provider(name)
		return finding{"memory", broken, fmt.Sprintf("searched by words only: %s: %v", wanted[0], err)}
	}
	return finding{"memory", fine, "searched by words; to search by meaning too, set models.embed, such as ollama/nomic-embed-text"}
}

// webFinding says how the web is searched.
func (a *cli) webFinding() finding {
	n, err := a.web(nil)
	if err != nil {
		return finding{"web", broken, err.Error()}
	}
	defer n.fetcher.Close()
	if n.searcher == nil {
		return finding{"web", lacking, errNoSearch.Error()}
	}
	return finding{"web", fine, "searched with " + strings.Join(n.names, ", ")}
}
