package main

import (
	"context"
	"log/slog"
	"maps"
	"net/http"

	"ponder/internal/dialect"
	"ponder/internal/dialect/aisdk"
	"ponder/internal/dialect/anthropic"
	"ponder/internal/dialect/ollama"
	"ponder/internal/dialect/openai"
	"ponder/internal/service"
)

var _ service.Dialects = (*server)(nil)

// languages returns what the server answers in the languages of other clients, by
// pattern, until ctx is done.
func (s *server) languages(ctx context.Context) map[string]http.Handler {
	desk := &dialect.Desk{Store: s.log, Hub: s.hub, Service: s, Aliases: s.cfg.Serve.Aliases, Gone: ctx, Logger: slog.Default()}
	all := make(map[string]http.Handler)
	for _, routes := range []map[string]http.Handler{
		openai.New(desk),
		aisdk.New(desk),
		ollama.New(desk),
		anthropic.New(desk),
	} {
		maps.Copy(all, routes)
	}
	return all
}
