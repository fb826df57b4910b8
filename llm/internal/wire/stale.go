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

// staleTime is the maximum delay after which a closed connection counts as stale. A
// server that closes it later has read the request.
const staleTime = 5 * time.Second

// A passage traces a request's connection. The transport may update it from several
// goroutines.
type passage struct {
	trace  httptrace.ClientTrace
	reused atomic.Bool  // kept from an earlier call, and no answer byte since
	sent   atomic.Int64 // Unix ns when the whole request was written, or 0
}

// follow returns a context that traces the request in p.
func (p *passage) follow(ctx context.Context) context.Context {
	p.trace.GotConn = func(i httptrace.GotConnInfo) {
		p.sent.Store(0)
		p.reused.Store(i.Reused)
	}
	p.trace.WroteRequest = func(httptrace.WroteRequestInfo) { p.sent.Store(time.Now().UnixNano()) }
	p.trace.GotFirstResponseByte = func() { p.reused.Store(false) }
	return httptrace.WithClientTrace(ctx, &p.trace)
}

// stale reports whether a request probably failed because the server had closed a kept
// connection.
func (p *passage) stale(err error) bool {
	if !p.reused.Load() || !closed(err) {
		return false
	}
	sent := p.sent.Load()
	return sent == 0 || time.Now().UnixNano()-sent < int64(staleTime)
}

// closed reports whether the peer closed the connection. The error is net.ErrClosed if
// the transport noticed while it wrote.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "server closed idle connection") // has no type
}

// A carrier is a [Client]'s transport that repeats a request on a new connection after a
// stale one.
type carrier struct {
	*Client
	way *passage
}

func (c carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := c.transport()
	resp, err := transport.RoundTrip(req)
	if err == nil {
		return resp, nil
	}
	if !c.way.stale(err) || req.Context().Err() != nil {
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
	return c.anew(transport).RoundTrip(again)
}

func (c *Client) transport() http.RoundTripper {
	if c.HTTP != nil && c.HTTP.Transport != nil {
		return c.HTTP.Transport
	}
	return http.DefaultTransport
}

// anew returns a copy of transport without kept connections, which may be stale too. It
// returns unknown transports unchanged.
func (c *Client) anew(transport http.RoundTripper) http.RoundTripper {
	c.once.Do(func() {
		c.fresh = transport
		if t, ok := transport.(*http.Transport); ok {
			f := t.Clone()
			f.DisableKeepAlives = true
			if f.TLSClientConfig != nil && slices.Contains(f.TLSClientConfig.NextProtos, "h2") {
				f.ForceAttemptHTTP2 = true // otherwise a clone may offer h2 without support
			}
			c.fresh = f
		}
	})
	return c.fresh
}
