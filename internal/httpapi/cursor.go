package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/auth"
)

// A Page is which part of a list is wanted.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"how many at most"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the page before"`
}

// cursorOf returns a position as a cursor, of which callers need not know the form.
func cursorOf(p ponder.Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.Created.UnixMicro(), 10) + " " + string(p.ID)))
}

// positionOf reads a cursor.
func positionOf(cursor string) (ponder.Position, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(text), " ")
	micros, errAt := strconv.ParseInt(at, 10, 64)
	if err != nil || errAt != nil || !ok || id == "" {
		return ponder.Position{}, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "query.cursor", Message: "it is no next_cursor of a page", Value: cursor})
	}
	return ponder.Position{Created: time.UnixMicro(micros).UTC(), ID: ponder.ThreadID(id)}, nil
}

// list returns a page of the threads of whoever asks, the newest first, and the cursor
// of the next page; empty if this is the last.
func (a *api) list(ctx context.Context, in Page, f ponder.Filter) (list []ponder.Info, next string, err error) {
	if in.Cursor != "" {
		if f.Before, err = positionOf(in.Cursor); err != nil {
			return nil, "", err
		}
	}
	if f.Owner = auth.CallerOf(ctx).Owner; f.Owner == "" { // to a filter, that is everybody
		return nil, "", nil
	}
	f.Limit = in.Limit + 1
	if list, err = a.Store.List(ctx, f); err != nil {
		return nil, "", a.failed(err)
	}
	if len(list) > in.Limit {
		list = list[:in.Limit]
		next = cursorOf(list[in.Limit-1].Position())
	}
	return list, next, nil
}

// linkTo returns the header that leads to the next page, or "".
func linkTo(path string, query url.Values, next string) string {
	if next == "" {
		return ""
	}
	for name := range query {
		if query.Get(name) == "" {
			query.Del(name)
		}
	}
	query.Set("cursor", next)
	return fmt.Sprintf(`<%s?%s>; rel="next"`, path, query.Encode())
}
