package web

import (
	"context"
	"fmt"
	"net/http"
	"ponder/internal/textkit"
)

// A RawRequest asks for what is at a URL as it comes, and not for a page.
type RawRequest struct {
	URL      string
	ETag     string // of the version that the caller has, or ""
	Modified string // as Last-Modified said of it, or ""
	MaxBytes int64  // what is larger is ErrTooBig; that of the options if zero or more than those allow
}

// A RawAnswer is what a host answered to one, with status 200, or 304 if it has no
// other version.
type RawAnswer struct {
	Status         int
	Body           []byte
	ETag, Modified string
}

// Raw asks for what is at a URL by the rules of [Fetcher.Fetch], whatever its type. It is
// for feeds, calendars and the like: nothing is archived, and nothing is taken from the
// archive. Errors have the host of the URL and no more, for the rest may be a secret.
func (f *Fetcher) Raw(ctx context.Context, r RawRequest) (*RawAnswer, error) {
	if f.broken != nil {
		return nil, fmt.Errorf("fetch: %w", f.broken)
	}
	u, err := f.guard.parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	most := f.limits.bytes
	if r.MaxBytes > 0 {
		most = min(most, r.MaxBytes)
	}
	v := f.visit(&copied{record: record{Final: u.String(), ETag: r.ETag, Modified: r.Modified}})
	v.takes = func(*http.Response) (ration, error) { return ration{most, false}, nil }
	a, err := v.follow(ctx, u)
	if err == nil && a.status != http.StatusOK && a.status != http.StatusNotModified {
		err = &StatusError{Code: a.status, After: a.after}
	}
	if err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", textkit.VisibleLine(u.Host, 100), err)
	}
	return &RawAnswer{Status: a.status, Body: a.body, ETag: short(a.header.Get("ETag")), Modified: short(a.header.Get("Last-Modified"))}, nil
}

// Transport returns what makes the requests of a fetcher. It connects to no other
// addresses than the fetcher does, wherever a request is sent, and leaves all else to who
// uses it.
func (f *Fetcher) Transport() http.RoundTripper { return f.wire }
