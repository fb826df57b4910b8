// Package anthropic speaks the language of Anthropic's Messages API: /v1/messages, with
// thinking blocks and tools of the client, and the counting of tokens.
//
// anthropic.go has the routes and errors, ask.go reads requests, answer.go makes messages
// of what comes, and stream.go sends them as they come.
package anthropic

import (
	"net/http"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/llm"
)

// An api is the handlers.
type api struct{ desk *compat.Desk }

// New returns the handlers by their patterns.
func New(desk *compat.Desk) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{
		"POST /v1/messages":              a.handle(auth.Think, a.messages),
		"POST /v1/messages/count_tokens": a.handle(auth.Read, a.count),
	}
}

// handle returns a handler that checks what the caller may do. Each answer has an id.
func (a *api) handle(s auth.Scope, h compat.Handler) http.Handler {
	named := func(w http.ResponseWriter, r *http.Request, owner string) error {
		w.Header().Set("Request-Id", ponder.NewID("req"))
		return h(w, r, owner)
	}
	return a.desk.Handle(s, named, func(w http.ResponseWriter, f *compat.Fault) { Refuse(w, f.Status, f.Detail) })
}

// Refuse answers with an error as Anthropic does.
func Refuse(w http.ResponseWriter, status int, detail string) {
	h := w.Header()
	if h.Get("Request-Id") == "" {
		h.Set("Request-Id", ponder.NewID("req"))
	}
	if status == http.StatusBadGateway {
		h.Set("X-Should-Retry", "false") // of what a model failed at, the same request is told the same
	}
	_ = compat.Reply(w, status, map[string]any{
		"type": "error", "error": failure{kindOf(status), detail}, "request_id": h.Get("Request-Id"),
	})
}

// A failure is why there is no answer.
type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// kindOf returns the type of the error of a status.
func kindOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// count answers how many tokens a request has, about.
func (a *api) count(w http.ResponseWriter, r *http.Request, owner string) error {
	var in body
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	ask, err := a.ask(owner, &in)
	if err != nil {
		return err
	}
	req := llm.Request{System: ask.System, Messages: ask.Messages, Tools: ask.Tools}
	return compat.Reply(w, http.StatusOK, map[string]int{"input_tokens": (req.Size() + bytesOfToken - 1) / bytesOfToken})
}

// bytesOfToken is about how many bytes of English a token has.
const bytesOfToken = 4
