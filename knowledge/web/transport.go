package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"ponder/internal/netaddr"
	"ponder/internal/textkit"
)

const maxURL = netaddr.MaxURL

// CheckAllow checks an entry of [Options.Allow].
func CheckAllow(entry string) error { return netaddr.CheckAllow(entry) }

// newTransport uses no proxy, since a proxy would connect unchecked.
func (f *Fetcher) newTransport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return f.guard.DialContext(ctx, 2*f.limits.headers, f.resolver, network, address) // the timer of the exchange gives the better error
		},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // readBody decompresses within bounds
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        f.limits.total,
		TLSHandshakeTimeout:    2 * f.limits.headers,
		MaxResponseHeaderBytes: f.limits.headerBytes,
		WriteBufferSize:        4 << 10,
		ReadBufferSize:         8 << 10,
	}
}

func explainError(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, ErrRefused):
		return unwrapRefusal(err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return plainError{"unknown host " + textkit.VisibleLine(dns.Name, 80), err}
	case errors.As(err, &dns):
		return plainError{"host name lookup failed: " + textkit.VisibleLine(dns.Err, 80), err}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return plainError{"host closed the connection without an answer", err}
	case errors.As(err, &op) && op.Op == "dial":
		return plainError{"connection to host failed: " + textkit.VisibleLine(op.Err.Error(), 80), err}
	}
	return plainError{"invalid answer of host: " + textkit.VisibleLine(trimHTTPPrefix(err), maxMessage), err}
}

// trimHTTPPrefix removes prefixes of net/http.
func trimHTTPPrefix(err error) string {
	s := err.Error()
	for _, prefix := range []string{"net/http: HTTP/1.x transport connection broken: ", "net/http: ", "http: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// unwrapRefusal removes the dialer's wrapping.
func unwrapRefusal(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.HasPrefix(e.Error(), ErrRefused.Error()) {
			return e
		}
	}
	return err
}
