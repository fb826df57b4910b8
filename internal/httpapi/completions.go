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

func (a *api) completions() {
	op := a.operation(auth.Think, http.MethodPost, completions.Path, "create-completion", "Answer the last message, as a stream of chunks", "completions",
		http.StatusNotFound, http.StatusUnprocessableEntity)
	completions.Register(a.huma, op, completions.Config{
		Desk: &compat.Desk{Store: a.Store, Hub: a.Hub, Service: a.Service, Gone: a.gone, Logger: a.Logger},
		Once: func(ctx context.Context, owner, route, key, words string, do func() (string, error)) error {
			_, err := a.once(ctx, onceID{owner, route, key}, words, do)
			return err
		},
	})
}

func (a *api) idsBeside(ctx context.Context, info ponder.Info) (ids []ponder.ThreadID, err error) {
	list, err := completions.Beside(ctx, a.Store, info.Owner, info.ID)
	if err != nil {
		return nil, a.failed(err)
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
