package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/llm"
)

const (
	defaultHeader = 5 * time.Minute // a local server may load the model
	defaultIdle   = 3 * time.Minute // models may reason silently
)

// A Client sends one provider's requests. It follows no redirects and limits only
// silences. It is safe for concurrent use; do not change its fields.
//
// It repeats a request once, on a new connection, if a kept one closed at once without an
// answer. Nearly always the server had closed it before; otherwise a second answer may be
// billed. RFC 9110, 9.2.2 and RFC 9112, 9.3.1 allow that, because answers change nothing
// at the server.
type Client struct {
	// HTTP's Timeout and CheckRedirect are ignored. Nil is the zero value; see [HTTP].
	HTTP *http.Client

	// Name is the first part of model names.
	Name string

	// Advice returns a remedy such as "set OPENAI_API_KEY", or "". It may be nil.
	Advice func(llm.Class) string

	// HeaderTimeout limits the wait for an answer (0: 5 minutes), IdleTimeout each later
	// silence (0: 3 minutes).
	HeaderTimeout, IdleTimeout time.Duration

	once        sync.Once
	noKeepAlive http.RoundTripper // without kept connections
	habits      outputHabits
}

// HTTP returns a client for many long streams to few hosts. It uses the environment's
// proxy.
func HTTP() *http.Client {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:                 netaddr.Proxy,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		ReadBufferSize:        firstRead, // per connection; larger reads bypass it
		WriteBufferSize:       6 << 10,
		MaxIdleConnsPerHost:   2048,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // see send
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return &llm.Error{Class: llm.Unreachable, Message: "the proxy refuses to connect: " + textkit.VisibleLine(resp.Status, maxMessage)}
		},
	}}
}

// Do sends one request and returns a 2xx answer. It encodes body, unless it is nil,
// []byte or json.RawMessage. model is for errors and may be empty.
//
// Every error, also of the body, is an *[llm.Error]: Cancelled by ctx, Transient after a
// silence, Truncated by a broken connection. Closing the body early closes the
// connection; see [Finish].
//
// Do reports rate limits in the headers to [llm.WithAllowance].
func (c *Client) Do(ctx context.Context, model, method, address string, header http.Header, body any) (*http.Response, error) {
	call := c.newCall(ctx, model)
	resp, err := c.sendCall(call, method, address, header, body)
	if err != nil {
		err = call.unsentError(err)
		call.release()
		return nil, err
	}
	call.wrapBody(resp)
	if tell := llm.AllowanceOf(ctx); tell != nil {
		if a, ok := Allowance(resp.Header, time.Now()); ok {
			tell(a)
		}
	}
	if err := c.checkResponse(call, resp, header); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (c *Client) sendCall(call *call, method, address string, header http.Header, body any) (*http.Response, error) {
	data, err := encodeBody(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(call.ctx, method, address, bytes.NewReader(data))
	if err != nil {
		return nil, &llm.Error{Class: llm.BadRequest, Message: "bad address: " + textkit.VisibleLine(stripURL(err).Error(), maxMessage)}
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body == nil {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	} else if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if req.Header.Get("Accept-Encoding") == "" {
		req.Header.Set("Accept-Encoding", "identity") // compression delays a stream
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "ponder")
	}
	if err := holdRequest(call, req); err != nil {
		return nil, err
	}
	return c.sendOnce(req, &call.trace)
}

// sendOnce sends a request without redirects. It avoids http.Client unless there is a cookie
// jar.
func (c *Client) sendOnce(req *http.Request, way *connTrace) (*http.Response, error) {
	if c.HTTP != nil && c.HTTP.Jar != nil {
		h := *c.HTTP
		h.Timeout = 0
		h.Transport = retryTransport{c, way}
		h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		return h.Do(req)
	}
	if u := req.URL.User; u != nil && req.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	resp, err := retryTransport{c, way}.RoundTrip(req)
	var record tls.RecordHeaderError
	if errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/" {
		err = http.ErrSchemeMismatch
	}
	return resp, err
}

func encodeBody(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	case json.RawMessage:
		return b, nil
	}
	return Body(body)
}

func (c *Client) checkResponse(call *call, resp *http.Response, header http.Header) error {
	if c := contentEncoding(resp); c != "" && c != "gzip" {
		return call.annotateError(&llm.Error{Class: llm.Malformed, Status: resp.StatusCode, Message: "the answer has an unrequested encoding: " + textkit.VisibleLine(c, maxMessage)})
	}
	if resp.StatusCode/100 == 2 {
		if IsType(resp, "text/html") {
			return call.annotateError(&llm.Error{Class: llm.Malformed, Message: "the answer is a web page: check the base URL"})
		}
		return nil
	}
	return call.annotateError(c.refusalError(resp, header))
}

// IsType reports whether resp has the content type want, without parameters.
func IsType(resp *http.Response, want string) bool {
	got, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(got), want)
}

func (c *Client) fullName(model string) string {
	if model == "" {
		return c.Name
	}
	return c.Name + "/" + model
}

// adviceOf returns the adapter's remedy, or a common one.
func adviceOf(own func(llm.Class) string, class llm.Class) string {
	if own != nil {
		if says := own(class); says != "" {
			return says
		}
	}
	switch class {
	case llm.TooLong:
		return llm.TooLongAdvice
	case llm.Filtered:
		return "rephrase the question, or use another model"
	}
	return ""
}

const maxSmall = 1 << 20

// Count requests a token count, which the answer has in the field name.
func (c *Client) Count(ctx context.Context, model, address string, header http.Header, body any, name string) (int, error) {
	data, err := c.Fetch(ctx, model, http.MethodPost, address, header, body, maxSmall)
	if err == nil {
		var got map[string]json.RawMessage
		var n Count
		if json.Unmarshal(data, &got) == nil && json.Unmarshal(got[name], &n) == nil && n > 0 {
			return int(n), nil
		}
		err = &llm.Error{Class: llm.Malformed, Message: "the answer has no token count"}
	}
	return 0, RequestInfo{Model: c.fullName(model), Sent: header, Advice: c.Advice}.Attribute(err, llm.Usage{})
}

// Fetch sends one request and returns up to most bytes of its answer. In-band errors lack
// the model; see [RequestInfo.Attribute].
func (c *Client) Fetch(ctx context.Context, model, method, address string, header http.Header, body any, maxBytes int64) ([]byte, error) {
	resp, err := c.Do(ctx, model, method, address, header, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to the end
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes))
	if err != nil {
		return nil, err
	}
	if e := InBandError(data); e != nil {
		return nil, e
	}
	return data, nil
}

func contentEncoding(resp *http.Response) string {
	c := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	switch c {
	case "identity":
		return ""
	case "x-gzip":
		return "gzip"
	}
	return c
}

// unzipBody decodes a body that a proxy may have compressed.
func unzipBody(resp *http.Response) io.ReadCloser {
	if contentEncoding(resp) != "gzip" {
		return resp.Body
	}
	return &gzipBody{ReadCloser: resp.Body}
}

// A gzipBody reads nothing before its first Read.
type gzipBody struct {
	io.ReadCloser
	zip *gzip.Reader
}

func (u *gzipBody) Read(p []byte) (n int, err error) {
	if u.zip == nil {
		if u.zip, err = gzip.NewReader(u.ReadCloser); err != nil {
			return 0, err
		}
	}
	return u.zip.Read(p)
}
