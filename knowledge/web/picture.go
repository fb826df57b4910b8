package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/archive"
)

// MaxPicture is the most bytes of a picture that is fetched.
const MaxPicture = 40 << 10

// Picture fetches a small picture, such as the icon of a site, by the rules of
// [Fetcher.Fetch], and returns its bytes. It is in the archive before it is returned.
// What is no picture is ErrType, what is larger ErrTooBig.
func (f *Fetcher) Picture(ctx context.Context, raw string) ([]byte, error) {
	if f.broken != nil {
		return nil, fmt.Errorf("fetch: %w", f.broken)
	}
	body, err := f.picture(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", shown(raw), err)
	}
	return body, nil
}

func (f *Fetcher) picture(ctx context.Context, raw string) ([]byte, error) {
	u, err := f.guard.parse(raw)
	if err != nil {
		return nil, err
	}
	v := f.visit(nil)
	v.takes = pictureRation
	a, err := v.follow(ctx, u)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, &StatusError{Code: a.status, After: a.after}
	}
	if f.o.Archive != nil {
		_, err = f.o.Archive.Put(ctx, archive.Original{Type: mediaType(a.header.Get("Content-Type")), Source: raw, Fetched: f.now(), Bytes: a.body})
	}
	return a.body, err
}

// pictureRation takes pictures, and what does not say what it is.
func pictureRation(resp *http.Response) (ration, error) {
	switch kind := mediaType(resp.Header.Get("Content-Type")); {
	case strings.HasPrefix(kind, "image/"), kind == "", kind == "application/octet-stream", kind == "binary/octet-stream":
		return ration{MaxPicture, false}, nil
	default:
		return ration{}, fmt.Errorf("%w: it is %s", ErrType, textkit.VisibleLine(kind, 80))
	}
}
