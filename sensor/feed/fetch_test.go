package feed

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

func fetchWith(client *http.Client) Fetch {
	return func(ctx context.Context, r Request) (*Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
		if err != nil {
			return nil, fmt.Errorf("the address cannot be read: %w", hideURL(err))
		}
		req.Header.Set("User-Agent", "Ponder/1.0")
		req.Header.Set("Accept", "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5")
		if r.ETag != "" {
			req.Header.Set("If-None-Match", r.ETag)
		}
		if r.Modified != "" {
			req.Header.Set("If-Modified-Since", r.Modified)
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, int64(r.MaxBytes)+1))
		if err != nil {
			return nil, err
		}
		return &Response{Status: resp.StatusCode, Body: body, ETag: resp.Header.Get("ETag"), Modified: resp.Header.Get("Last-Modified")}, nil
	}
}
