package web

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder/internal/textkit"
	fetching "ponder/knowledge/web"
)

// maxError limits the text of an error, in bytes.
const maxError = 400

// remedies maps errors to remedies.
var remedies = []struct {
	err  error
	says string
}{
	{fetching.ErrRefused, "only public pages can be read: look for the same elsewhere"},
	{fetching.ErrURL, "give a whole address that begins with https://"},
	{fetching.ErrRobots, "the site does not want it read: look for the same elsewhere"},
	{fetching.ErrTooBig, "look for a shorter page on the same"},
	{fetching.ErrType, "look for a page, a text or a PDF on the same"},
	{fetching.ErrTimeout, "try another page, or this one later"},
	{fetching.ErrBusy, "try another page, or this one later"},
	{fetching.ErrBody, "try another page"},
	{fetching.ErrTooManyRedirects, "try another page"},
	{context.DeadlineExceeded, "it took too long: try another page, or this one later"},
}

// withRemedy returns a one-line error with a remedy.
func withRemedy(tool string, err error) error {
	says := "try another page"
	var status *fetching.StatusError
	switch {
	case errors.As(err, &status) && (status.Code == 404 || status.Code == 410):
		says = "there is no such page: search for where it is now"
	case errors.As(err, &status) && (status.Code == 401 || status.Code == 403 || status.Code == 451):
		says = "the site does not show it to us: look for the same elsewhere"
	case errors.As(err, &status):
		says = "try another page, or this one later"
	}
	for _, a := range remedies {
		if errors.Is(err, a.err) {
			says = a.says
			break
		}
	}
	return toolError{fmt.Sprintf("%s: %s; %s", tool, textkit.VisibleLine(strings.TrimPrefix(err.Error(), tool+": "), maxError), says), err}
}

type toolError struct {
	text string
	err  error
}

func (e toolError) Error() string { return e.text }
func (e toolError) Unwrap() error { return e.err }
