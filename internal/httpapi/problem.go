package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/llm"
)

// problem answers with a problem document.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// failed returns what a caller is told of an error: what he can mend in its own words,
// and of others only that something failed, which the log says.
func (a *api) failed(err error) error {
	var known *Error
	var refused *llm.Error
	var answered huma.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return err
	case errors.As(err, &known):
		if known.Field == "" {
			return huma.NewError(known.Status, known.Detail)
		}
		return huma.NewError(known.Status, known.Detail, &huma.ErrorDetail{Message: known.Detail, Location: "body." + known.Field})
	case errors.Is(err, ponder.ErrNoThread), errors.Is(err, ponder.ErrNoEvent), errors.Is(err, ponder.ErrNoRun):
		return huma.Error404NotFound("it is not there any more")
	case errors.Is(err, ponder.ErrEnded):
		return huma.Error409Conflict("it has ended")
	case errors.Is(err, ponder.ErrFull), errors.Is(err, ponder.ErrReadOnly):
		return huma.NewError(http.StatusInsufficientStorage, "the database cannot be written to now: free some space, or make it writable")
	case errors.Is(err, ponder.ErrDamaged):
		return huma.Error500InternalServerError("the database is damaged: restore a backup of it")
	case errors.Is(err, ErrNotReady), errors.As(err, &refused):
		return huma.Error503ServiceUnavailable(clip(err.Error(), 300))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return huma.Error503ServiceUnavailable("the server stops, or was too slow: try again")
	}
	a.Logger.Error("request failed", "error", err)
	return huma.Error500InternalServerError("something failed in the server: its log says what")
}

// clip shortens text of others, which may be long and odd, for a message.
func clip(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "..."
	}
	return text
}
