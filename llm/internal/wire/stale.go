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

// staleTime is how soon after a request a connection shows that it had been
// closed before. A server that closes it later has read the request.
const staleTime = 5 * time.Second

// A passage is what is known of the way of a request. The transport may tell it
// from several goroutines.
type passage struct {
	trace  httptrace.ClientTrace
	reused atomic.Bool  // the connection was kept from an earlier call and nothing came on it since
	sent   atomic.Int64 // when the whole request was written, in Unix ns; 0: not yet
}

// follow returns a context with which a request tells its passage.
func (p *passage) follow(ctx context.Context) context.Context {
	p.trace.GotConn = func(i httptrace.GotConnInfo) {
		p.sent.Store(0)
		p.reused.Store(i.Reused)
	}
	p.trace.WroteRequest = func(httptrace.WroteRequestInfo) { p.sent.Store(time.Now().UnixNano()) }
	p.trace.GotFirstResponseByte = func() { p.reused.Store(false) }
	return httptrace.WithClientTrace(ctx, &p.trace)
}

// stale reports whether a request failed because the server had closed a kept
// connection, as far as can be told from here.
func (p *passage) stale(err error) bool {
	if !p.reused.Load() || !closed(err) {
		return false
	}
	sent := p.sent.Load()
	return sent == 0 || time.Now().UnixNano()-sent < int64(staleTime)
}

// closed reports whether an error is of a connection that the other side closed.
// It is net.ErrClosed if the transport saw that while it wrote.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "server closed idle connection") // which has no type
}

// A carrier is a [Client] as a transport: its own, but that a request which
// met a stale connection goes once more, on a new one.
type carrier struct {
	*Client
	way *passage // of the one request
}

// RoundTrip implements http.RoundTripper.
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

// anew returns a transport like the given one that uses no kept connection, for
// others may be stale too. One of an unknown kind stands for itself.
func (c *Client) anew(transport http.RoundTripper) http.RoundTripper {
	c.once.Do(func() {
		c.fresh = transport
		if t, ok := transport.(*http.Transport); ok {
			f := t.Clone()
			f.DisableKeepAlives = true
			if f.TLSClientConfig != nil && slices.Contains(f.TLSClientConfig.NextProtos, "h2") {
				f.ForceAttemptHTTP2 = true // else a clone may offer what it does not speak
			}
			c.fresh = f
		}
	})
	return c.fresh
}
