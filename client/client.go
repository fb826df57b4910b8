// Package client is a Go client of the native API, which `ponder serve` answers.
//
//	c := client.New("127.0.0.1:8744", os.Getenv("PONDER_TOKEN"))
//	s, err := c.Start(ctx, client.Question{Question: "Why do large projects run late?", Minutes: 10})
//	for u, err := range c.Watch(ctx, s.ID, 0) { ... }
//
// It bears with what goes wrong between it and the server: what could not be reached, or
// asks for patience, is tried again for as long as [Client.Patience], and a request that
// starts work has a key, so that it starts it once. Streams go on behind the last event
// that came. What a server refuses is a [*Problem], which names every field that is
// wrong.
//
// client.go and retry.go send requests, sse.go reads streams and stream.go puts them
// together; the other files have the routes, group by group.
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

// A Client asks one server. Its fields may be set before it is used; then it is safe
// for concurrent use.
type Client struct {
	// HTTP sends requests. That of New follows no redirect, so that the token goes to no
	// other server. It must have no Timeout if streams are read.
	HTTP *http.Client

	// Patience is for how long a request is tried again whose server is not reached or
	// is busy, and for how long a stream may be broken. Zero is DefaultPatience; less
	// than zero tries once.
	Patience time.Duration

	base, token string
}

// DefaultPatience is what a server may take to start again.
const DefaultPatience = 30 * time.Second

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 256 << 20

// New returns a client of the server at an address, such as "127.0.0.1:8744" or
// "https://ponder.example/", which it shows a token, unless that is empty.
func New(address, token string) *Client {
	base := strings.TrimRight(address, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{HTTP: &http.Client{CheckRedirect: refuse}, base: base, token: token}
}

// A call is a request as it is sent, perhaps several times.
type call struct {
	method, path string
	query        url.Values
	body         any    // sent as JSON, unless it is nil
	key          string // the Idempotency-Key
	header       http.Header
}

// get asks a question and reads the answer into out.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.do(ctx, call{method: http.MethodGet, path: path, query: query}, out)
}

// post has something done, once, however often it must be asked for.
func (c *Client) post(ctx context.Context, path string, body, out any) error {
	if body == nil {
		body = struct{}{}
	}
	return c.do(ctx, call{method: http.MethodPost, path: path, body: body, key: newKey()}, out)
}

// newKey returns an Idempotency-Key.
func newKey() string { return rand.Text() }

// remove deletes something. If an answer was lost, what is not there any more was
// deleted.
func (c *Client) remove(ctx context.Context, path string) error {
	lost := false
	err := c.again(ctx, func() error {
		err := c.once(ctx, call{method: http.MethodDelete, path: path}, nil)
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

// do sends a request until it is answered, and reads the answer into out: JSON, or what
// there is if out is a *[]byte.
func (c *Client) do(ctx context.Context, r call, out any) error {
	if err := c.again(ctx, func() error { return c.once(ctx, r, out) }); err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	return nil
}

// once sends a request one time.
func (c *Client) once(ctx context.Context, r call, out any) error {
	resp, err := c.send(ctx, r)
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
			return fmt.Errorf("the answer is not what was expected of ponder: %w", err)
		}
	}
	return nil
}

// send sends a request and returns its answer, which the caller closes. An answer that
// refuses is a [*Problem].
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	req, err := c.request(ctx, r)
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

// request makes a request.
func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
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
		return nil, errors.New("the address of the server is none: write host:port or a URL")
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

// path returns a path whose parts are escaped.
func path(parts ...string) string {
	var b strings.Builder
	b.WriteString("/api")
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}
