package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/completions"
)

func (a *api) registerCompletions() {
	op := a.newOperation(auth.Think, http.MethodPost, completions.Path, "create-completion", "Answer the last message as a stream of chunks", "completions",
		http.StatusNotFound, http.StatusUnprocessableEntity)
	completions.Register(a.huma, op, completions.Config{
		Desk: &compat.Dispatcher{Store: a.Store, Hub: a.Hub, Service: a.Service, Gone: a.gone, Logger: a.Logger},
		Once: func(ctx context.Context, owner, route, key, words string, do func() (string, error)) error {
			_, err := a.runOnce(ctx, onceID{owner, route, key}, words, do)
			return err
		},
	})
}

func (a *api) relatedThreads(ctx context.Context, info ponder.Info) (ids []ponder.ThreadID, err error) {
	list, err := completions.RelatedThreads(ctx, a.Store, info.Owner, info.ID)
	if err != nil {
		return nil, a.apiError(err)
	}
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids, nil
}

func linksTo(ids []ponder.ThreadID, what string) string {
	var links []string
	for _, id := range ids {
		links = append(links, fmt.Sprintf(`</api/threads/%s/%s>; rel="related"`, url.PathEscape(string(id)), what))
	}
	return strings.Join(links, ", ")
}
