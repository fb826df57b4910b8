package server

import (
	"context"
	"log/slog"
	"net/http"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/a2a"
	"ponder/internal/compat/agui"
	"ponder/internal/compat/aisdk"
	"ponder/internal/compat/anthropic"
	"ponder/internal/compat/mcp"
	"ponder/internal/compat/ollama"
	"ponder/internal/compat/openai"
	"ponder/internal/compat/responses"
	"ponder/internal/netaddr"
	"ponder/internal/webhook"
)

var _ app.ProtocolService = (*app.Service)(nil)

// A Protocol is a client protocol: its routes and the format of its refusals.
type Protocol struct {
	routes map[string]http.Handler
	refuse func(w http.ResponseWriter, status int, detail string)
}

// protocols returns the client protocols, which serve until ctx ends.
func (s *Server) protocols(ctx context.Context) []Protocol {
	desk := &compat.Dispatcher{Store: s.Public, Hub: s.Hub, Service: s, Aliases: s.Settings.Serve.Aliases, Gone: ctx, Since: s.Since, Logger: slog.Default()}
	private, _ := netaddr.NewGuard(s.Settings.Serve.Allow) // app.AuthConfig has checked it
	hooks := webhook.NewClient(private)
	s.hooks = &responses.Hooks{Records: s.DB, Client: hooks, Guard: private}
	openaiRefuse := func(w http.ResponseWriter, status int, detail string) {
		openai.Refuse(w, &compat.APIError{Status: status, Detail: detail})
	}
	s.agents = a2a.New(a2a.Config{Desk: desk, Records: s.DB, Version: s.Version, Client: hooks, Guard: private})
	return []Protocol{
		{openai.New(desk), openaiRefuse},
		{responses.New(desk, s.hooks), openaiRefuse},
		{aisdk.New(desk), aisdk.Refuse},
		{ollama.New(desk), ollama.Refuse},
		{anthropic.New(desk), anthropic.Refuse},
		{mcp.New(mcp.Config{Desk: desk, Hosts: s.Hosts, Version: s.Version}).Routes(), mcp.Refuse},
		{s.agents.Routes(), a2a.Refuse},
		{agui.New(desk), agui.Refuse},
	}
}

// MountProtocols returns the routes of the protocols, and a function that writes the guard's refusals on
// these routes.
func MountProtocols(list []Protocol) (routes map[string]http.Handler, refuse func(http.ResponseWriter, *http.Request, *auth.Refusal) bool) {
	routes = make(map[string]http.Handler)
	mux, of := http.NewServeMux(), make(map[string]Protocol)
	for _, l := range list {
		for pattern, h := range l.routes {
			if _, taken := routes[pattern]; !taken {
				mux.Handle(pattern, h)
				routes[pattern], of[pattern] = h, l
			}
		}
	}
	return routes, func(w http.ResponseWriter, r *http.Request, why *auth.Refusal) bool {
		_, pattern := mux.Handler(r)
		l, ok := of[pattern]
		if ok {
			l.refuse(w, why.Status, why.Detail)
		}
		return ok
	}
}
