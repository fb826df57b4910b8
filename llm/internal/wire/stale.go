package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// staleTime bounds how late a stale connection shows. A server that closes later has read
// the request.
const staleTime = 5 * time.Second

// A connTrace traces a connection. It is safe for concurrent use.
type connTrace struct {
	trace  httptrace.ClientTrace
	reused atomic.Bool  // kept, and no answer byte yet
	sent   atomic.Int64 // when written, in Unix ns, or 0
}

func (p *connTrace) traceContext(ctx context.Context) context.Context {
	p.trace.GotConn = func(i httptrace.GotConnInfo) {
		p.sent.Store(0)
		p.reused.Store(i.Reused)
	}
	p.trace.WroteRequest = func(httptrace.WroteRequestInfo) { p.sent.Store(time.Now().UnixNano()) }
	p.trace.GotFirstResponseByte = func() { p.reused.Store(false) }
	return httptrace.WithClientTrace(ctx, &p.trace)
}

// isStale reports whether the server had probably closed the kept connection.
func (p *connTrace) isStale(err error) bool {
	if !p.reused.Load() || !isClosed(err) {
		return false
	}
	sent := p.sent.Load()
	return sent == 0 || time.Now().UnixNano()-sent < int64(staleTime)
}

// isClosed reports whether the peer closed the connection. The error is net.ErrClosed if
// the transport noticed while it wrote.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "server closed idle connection") // has no type
}

// A retryTransport is a transport that repeats a request after a stale connection.
type retryTransport struct {
	*Client
	trace *connTrace
}

func (c retryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := c.baseTransport()
	resp, err := transport.RoundTrip(req)
	if err == nil {
		return resp, nil
	}
	if !c.trace.isStale(err) || req.Context().Err() != nil {
		return resp, err
	}
	again := req.WithContext(req.Context())
	if req.Body != nil {
		if req.GetBody == nil {
			return nil, err
		}
		body, failed := req.GetBody()
		if failed != nil {
			return nil, err
		}
		again.Body = body
	}
	return c.freshTransport(transport).RoundTrip(again)
}

func (c *Client) baseTransport() http.RoundTripper {
	if c.HTTP != nil && c.HTTP.Transport != nil {
		return c.HTTP.Transport
	}
	return http.DefaultTransport
}

// freshTransport returns transport without kept connections, which may be stale too, if its type is
// known.
func (c *Client) freshTransport(transport http.RoundTripper) http.RoundTripper {
	c.once.Do(func() {
		c.noKeepAlive = transport
		if t, ok := transport.(*http.Transport); ok {
			f := t.Clone()
			f.DisableKeepAlives = true
			if f.TLSClientConfig != nil && slices.Contains(f.TLSClientConfig.NextProtos, "h2") {
				f.ForceAttemptHTTP2 = true // otherwise the clone may not speak h2
			}
			c.noKeepAlive = f
		}
	})
	return c.noKeepAlive
}
