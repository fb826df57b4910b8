package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"ponder/internal/app"
	"ponder/internal/compat"

	"github.com/danielgtaylor/huma/v2"
)

// problem answers with a problem document.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// failed returns what a caller is told of an error: what he can mend in its own words,
// and of others only that something failed, which the log says.
func (a *api) failed(err error) error { return a.failedIn("body", err) }

// failedIn is failed of a request whose fields are in a part of it.
func (a *api) failedIn(part string, err error) error {
	var answered huma.StatusError
	if err == nil || errors.As(err, &answered) {
		return err
	}
	e := app.Public(err)
	if e.Code == app.Internal {
		a.Logger.Error("request failed", "error", err)
	}
	if e.Field == "" {
		return huma.NewError(compat.StatusOf(e.Code), e.Message)
	}
	return huma.NewError(compat.StatusOf(e.Code), e.Message, &huma.ErrorDetail{Message: e.Message, Location: part + "." + e.Field})
}
