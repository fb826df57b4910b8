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
	"ponder/internal/access"
)

// A Page is which part of a list is wanted.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"how many at most"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the page before"`
}

// A place is that of a thread in a list, the newest first.
type place struct {
	created time.Time
	id      ponder.ThreadID
}

// String returns the place as a cursor, of which callers need not know the form.
func (p place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.created.UnixMicro(), 10) + " " + string(p.id)))
}

// placeOf reads a cursor.
func placeOf(cursor string) (place, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(text), " ")
	micros, errAt := strconv.ParseInt(at, 10, 64)
	if err != nil || errAt != nil || !ok {
		return place{}, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "query.cursor", Message: "it is no next_cursor of a page", Value: cursor})
	}
	return place{time.UnixMicro(micros), ponder.ThreadID(id)}, nil
}

// before reports whether a thread stands behind the place in a list.
func (p place) before(info ponder.Info) bool {
	if c := info.Created.UnixMicro() - p.created.UnixMicro(); c != 0 {
		return c < 0
	}
	return info.ID < p.id
}

// list returns a page of the threads of whoever asks, the newest first, and the cursor
// of the next page; empty if this is the last.
func (a *api) list(ctx context.Context, in Page, f ponder.Filter, want func(ponder.Info) bool) (list []ponder.Info, next string, err error) {
	var from place
	if in.Cursor != "" {
		if from, err = placeOf(in.Cursor); err != nil {
			return nil, "", err
		}
	}
	f.Owner = access.CallerOf(ctx).Owner
	if in.Cursor == "" && want == nil {
		f.Limit = in.Limit + 1
	}
	all, err := a.Store.List(ctx, f)
	if err != nil {
		return nil, "", a.failed(err)
	}
	for _, info := range all {
		if info.Owner != f.Owner || in.Cursor != "" && !from.before(info) || want != nil && !want(info) {
			continue
		}
		if len(list) == in.Limit {
			last := list[len(list)-1]
			return list, place{last.Created, last.ID}.String(), nil
		}
		list = append(list, info)
	}
	return list, "", nil
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
