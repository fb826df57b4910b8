// Package client is a Go client of the native API of `ponder serve`.
//
//	c := client.New("127.0.0.1:8744", os.Getenv("PONDER_TOKEN"))
//	s, err := c.Start(ctx, client.Question{Question: "Why do large projects run late?", Minutes: 10})
//	for u, err := range c.Watch(ctx, s.ID, 0) { ... }
//
// The client handles network failures. It retries requests that do not reach the server, or
// that the server defers, for [Client.RetryTime]. A request that starts work has an
// idempotency key, so that the server starts the work once. Streams reconnect after the
// last received event. If the server refuses a request, the error is a [*Problem] that
// names every invalid field.
//
// client.go and retry.go send requests, sse.go parses streams and stream.go follows them.
// The other files have the routes by group.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Client sends requests to one server. Callers may set its fields before the first use.
// It is then safe for concurrent use.
type Client struct {
	// HTTP sends requests. The one from New follows no redirect, so that no other server
	// gets the token. For streams it must have no Timeout.
	HTTP *http.Client

	// RetryTime limits the retries of a request whose server is unreachable or busy, and the
	// time for which a stream may be disconnected. Zero is DefaultRetryTime; a negative
	// value disables retries.
	RetryTime time.Duration

	base, token string
}

// DefaultRetryTime covers a restart of the server.
const DefaultRetryTime = 30 * time.Second

// maxAnswer limits the size of an answer, in bytes.
const maxAnswer = 256 << 20

// New returns a client of the server at an address, such as "127.0.0.1:8744" or
// "https://ponder.example/". The client sends the token, unless it is empty.
func New(address, token string) *Client {
	base := strings.TrimRight(address, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{HTTP: &http.Client{CheckRedirect: refuse}, base: base, token: token}
}

// A call is a repeatable request.
type call struct {
	method, path string
	query        url.Values
	body         any    // encoded as JSON; nil for none
	key          string // the Idempotency-Key
	header       http.Header
}

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.sendRetrying(ctx, call{method: http.MethodGet, path: path, query: query}, out)
}

// post sends a POST request with an idempotency key, so that retries have one effect.
func (c *Client) post(ctx context.Context, path string, body, out any) error {
	if body == nil {
		body = struct{}{}
	}
	return c.sendRetrying(ctx, call{method: http.MethodPost, path: path, body: body, key: newKey()}, out)
}

func newKey() string { return rand.Text() }

// sendDelete sends a DELETE request. A 404 after a lost answer counts as success.
func (c *Client) sendDelete(ctx context.Context, path string) error {
	lost := false
	err := c.retry(ctx, func() error {
		err := c.sendOnce(ctx, call{method: http.MethodDelete, path: path}, nil)
		var p *Problem
		if errors.As(err, &p) && p.Status == http.StatusNotFound && lost {
			return nil
		}
		lost = lost || err != nil && p == nil
		return err
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", http.MethodDelete, path, err)
	}
	return nil
}

// sendRetrying sends a request, with retries, and reads the answer into out: JSON, or the raw bytes
// if out is a *[]byte.
func (c *Client) sendRetrying(ctx context.Context, r call, out any) error {
	if err := c.retry(ctx, func() error { return c.sendOnce(ctx, r, out) }); err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	return nil
}

func (c *Client) sendOnce(ctx context.Context, r call, out any) error {
	resp, err := c.sendRequest(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	js, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch raw, plain := out.(*[]byte); {
	case err != nil:
		return lostError{err}
	case len(js) > maxAnswer:
		return fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	case plain:
		*raw = js
	case out != nil:
		if err := json.Unmarshal(js, out); err != nil {
			return fmt.Errorf("read the answer of the server: %w", err)
		}
	}
	return nil
}

// sendRequest sends a request and returns its answer, which the caller must close. It returns a
// [*Problem] for a status of 300 or more.
func (c *Client) sendRequest(ctx context.Context, r call) (*http.Response, error) {
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			resp.Body.Close()
		}
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, lostError{err}
	case resp.StatusCode >= http.StatusMultipleChoices:
		defer resp.Body.Close()
		return nil, problemOf(resp)
	}
	return resp, nil
}

func (c *Client) newRequest(ctx context.Context, r call) (*http.Request, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		js, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(js)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, errors.New("the address of the server is invalid; use host:port or a URL")
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// apiPath returns an API path with escaped parts.
func apiPath(parts ...string) string {
	var b strings.Builder
	b.WriteString("/api")
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}
