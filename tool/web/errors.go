package web

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder/internal/textkit"
	fetching "ponder/knowledge/web"
)

// maxError bounds the text of an error, in bytes.
const maxError = 400

// advice says what to do about an error.
var advice = []struct {
	err  error
	says string
}{
	{fetching.ErrRefused, "only public pages can be read: look for the same elsewhere"},
	{fetching.ErrURL, "give a whole address that begins with https://"},
	{fetching.ErrRobots, "the site does not want it read: look for the same elsewhere"},
	{fetching.ErrTooBig, "look for a shorter page on the same"},
	{fetching.ErrType, "look for a page, a text or a PDF on the same"},
	{fetching.ErrTime, "try another page, or this one later"},
	{fetching.ErrBusy, "try another page, or this one later"},
	{fetching.ErrBody, "try another page"},
	{fetching.ErrCircle, "try another page"},
	{context.DeadlineExceeded, "it took too long: try another page, or this one later"},
}

// advised returns an error of one line that says what to do.
func advised(tool string, err error) error {
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
	for _, a := range advice {
		if errors.Is(err, a.err) {
			says = a.says
			break
		}
	}
	return toolError{fmt.Sprintf("%s: %s; %s", tool, textkit.VisibleLine(strings.TrimPrefix(err.Error(), tool+": "), maxError), says), err}
}

// A toolError is an error of one line.
type toolError struct {
	says string
	err  error
}

func (e toolError) Error() string { return e.says }
func (e toolError) Unwrap() error { return e.err }
