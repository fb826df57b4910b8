package web

import (
	"context"
	"fmt"
	"net/http"
)

// Raw fetches what is at a URL by the rules of [Fetcher.Fetch], and returns its bytes as
// they came, at most MaxBytes of them: what is larger is ErrTooBig. It is for what is no
// page, such as a feed or a calendar: nothing is archived, and nothing is taken from the
// archive. Errors have the host of the URL and no more, for the rest may be a secret.
func (f *Fetcher) Raw(ctx context.Context, raw string) ([]byte, error) {
	if f.broken != nil {
		return nil, fmt.Errorf("fetch: %w", f.broken)
	}
	u, err := f.guard.parse(raw)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	v := f.visit(nil)
	v.takes = func(*http.Response) (ration, error) { return ration{f.limits.bytes, false}, nil }
	a, err := v.follow(ctx, u)
	if err == nil && a.status != http.StatusOK {
		err = &StatusError{Code: a.status, After: a.after}
	}
	if err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", oneLine(u.Host, 100), err)
	}
	return a.body, nil
}
