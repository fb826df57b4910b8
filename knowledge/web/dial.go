package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"ponder/internal/textkit"
	"strings"
	"syscall"
)

// transport returns what makes the connections of a fetcher. It uses no proxy:
// a proxy would connect where nobody looks.
func (f *Fetcher) transport() *http.Transport {
	return &http.Transport{
		DialContext:            f.dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // we unpack, within bounds
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        f.limits.total,
		TLSHandshakeTimeout:    2 * f.limits.headers,
		MaxResponseHeaderBytes: f.limits.headerBytes,
		WriteBufferSize:        4 << 10,
		ReadBufferSize:         8 << 10,
	}
}

// dial connects to a host. Each of the addresses that its name stands for is
// checked when it is about to be connected to, and in no other way.
func (f *Fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout:  2 * f.limits.headers, // the exchange ends sooner, and says why
		Resolver: f.resolver,
		ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error {
			return f.guard.connect(strings.ToLower(host), to)
		},
	}
	return d.DialContext(ctx, network, address)
}

// explain says in plain words what went wrong below HTTP.
func explain(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, ErrRefused):
		return refused(err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return plainError{"no host has the name " + textkit.VisibleLine(dns.Name, 80), err}
	case errors.As(err, &dns):
		return plainError{"name of the host cannot be looked up: " + textkit.VisibleLine(dns.Err, 80), err}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return plainError{"host hung up without an answer", err}
	case errors.As(err, &op) && op.Op == "dial":
		return plainError{"host cannot be reached: " + textkit.VisibleLine(op.Err.Error(), 80), err}
	}
	return plainError{"host did not answer as it should: " + textkit.VisibleLine(words(err), longest), err}
}

// words returns what an error of the standard library says, without the places
// in it that say so.
func words(err error) string {
	s := err.Error()
	for _, prefix := range []string{"net/http: HTTP/1.x transport connection broken: ", "net/http: ", "http: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// refused returns what the guard said, without what the dialer put around it.
func refused(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.HasPrefix(e.Error(), ErrRefused.Error()) {
			return e
		}
	}
	return err
}
