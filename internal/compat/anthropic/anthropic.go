// Package anthropic serves Anthropic's Messages API with thinking blocks, client tools and token counts.
//
// anthropic.go has the routes and errors, ask.go parses requests, block.go their content, thread.go keeps message
// threads, answer.go writes responses.
package anthropic

import (
	"net/http"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/llm"
)

type api struct{ desk *compat.Dispatcher }

// New returns the handlers by pattern.
func New(desk *compat.Dispatcher) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{
		"POST /v1/messages":              a.newHandler(auth.Think, a.handleMessages),
		"POST /v1/messages/count_tokens": a.newHandler(auth.Read, a.countTokens),
	}
}

// newHandler adds a Request-Id.
func (a *api) newHandler(s auth.Scope, h compat.Handler) http.Handler {
	named := func(w http.ResponseWriter, r *http.Request, owner string) error {
		w.Header().Set("Request-Id", ponder.NewID("req"))
		return h(w, r, owner)
	}
	return a.desk.Handle(s, named, replyError)
}

// Refuse writes an error in Anthropic's form.
func Refuse(w http.ResponseWriter, status int, detail string) {
	replyError(w, &compat.APIError{Status: status, Detail: detail})
}

func replyError(w http.ResponseWriter, f *compat.APIError) {
	h := w.Header()
	if h.Get("Request-Id") == "" {
		h.Set("Request-Id", ponder.NewID("req"))
	}
	f.SetRetryAfter(h)
	if f.IsPermanent() && f.Status >= http.StatusInternalServerError { // clients repeat no others
		h.Set("X-Should-Retry", "false")
	}
	_ = compat.Reply(w, f.Status, map[string]any{"type": "error", "error": failureOf(f), "request_id": h.Get("Request-Id")})
}

type failure struct {
	Type    string         `json:"type"`
	Message string         `json:"message"`
	Details *failureDetail `json:"details,omitempty"`
}

type failureDetail struct {
	Code string `json:"error_code"`
}

func failureOf(f *compat.APIError) failure {
	out := failure{Type: errorType(f.Status), Message: f.Detail}
	if f.Code != "" {
		out.Details = &failureDetail{f.Code}
	}
	return out
}

func errorType(status int) string {
	switch status {
	case http.StatusPaymentRequired:
		return "billing_error"
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

// countTokens returns an estimate of the tokens.
func (a *api) countTokens(w http.ResponseWriter, r *http.Request, owner string) error {
	var in body
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	ask, err := a.newRequest(r.Context(), owner, &in)
	if err != nil {
		return err
	}
	req := llm.Request{System: ask.System, Messages: ask.Messages, Tools: ask.Tools}
	return compat.Reply(w, http.StatusOK, map[string]int{"input_tokens": (req.Size() + bytesOfToken - 1) / bytesOfToken})
}

// bytesOfToken is a rough average for English.
const bytesOfToken = 4
