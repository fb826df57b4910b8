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

	"ponder/internal/textkit"
	"ponder/llm"
)

// Defaults of [Client].
const (
	defaultHeader = 5 * time.Minute // a local server may read a model from disk first
	defaultIdle   = 3 * time.Minute // some reasoning models are silent while they think
)

// A Client sends the requests of one provider. It never follows a redirect and
// sets no limit on a whole answer's time, only on silences. It is safe for
// concurrent use; its fields are not to be changed.
//
// It sends a request a second time, on a new connection, only if the first went
// out on a kept one that the server then closed at once without a byte of an
// answer. Nearly always the server had closed it before and read nothing; that
// says nothing of the model. Yet it may have read the request, so a model may be
// asked twice and one answer more be billed. RFC 9110, 9.2.2 and RFC 9112, 9.3.1
// allow it of requests that can be repeated without harm, and a model's answer
// changes nothing at the server. No other failure is tried again here.
type Client struct {
	// HTTP does the work; see [HTTP]. Its Timeout and CheckRedirect are not used.
	// Nil is one of the zero value.
	HTTP *http.Client

	// Name is the provider's, the first part of models' names.
	Name string

	// Advice says what a user can do about a class of failure: "set
	// OPENAI_API_KEY". It may be nil and may return "".
	Advice func(llm.Class) string

	// HeaderTimeout is how long an answer may take to begin (0: 5 minutes) and
	// IdleTimeout how long it may be silent after that (0: 3 minutes).
	HeaderTimeout, IdleTimeout time.Duration

	once  sync.Once
	fresh http.RoundTripper // see anew
}

// HTTP returns a client for many long streams to few hosts, with the proxy
// that the environment names.
func HTTP() *http.Client {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		ReadBufferSize:        firstRead, // of each connection, busy or not; what is larger is read past it
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

// Do sends one request and returns the answer if its status is 2xx. The body is
// sent as JSON unless it is nil; a []byte or json.RawMessage is sent as it is. The
// model is the provider's own name for it, for errors, and may be empty.
//
// Every error is an *[llm.Error], also those of the returned body: Cancelled if
// ctx ended, Transient after too long a silence, Truncated if the connection was
// lost. Closing the body before its end closes the connection; see [Finish].
//
// What the answer's headers say is left of rate limits is told to whom ctx names, see
// [llm.WithAllowance].
func (c *Client) Do(ctx context.Context, model, method, address string, header http.Header, body any) (*http.Response, error) {
	call := c.call(ctx, model)
	resp, err := c.send(call, method, address, header, body)
	if err != nil {
		err = call.unsent(err)
		call.release()
		return nil, err
	}
	call.wrap(resp)
	if tell := llm.AllowanceOf(ctx); tell != nil {
		if a, ok := Allowance(resp.Header, time.Now()); ok {
			tell(a)
		}
	}
	if err := c.check(call, resp, header); err != nil {
		_ = resp.Body.Close() // nothing of it is wanted any more
		return nil, err
	}
	return resp, nil
}

func (c *Client) send(call *call, method, address string, header http.Header, body any) (*http.Response, error) {
	data, err := encode(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(call.ctx, method, address, bytes.NewReader(data))
	if err != nil {
		return nil, &llm.Error{Class: llm.BadRequest, Message: "bad address: " + textkit.VisibleLine(cause(err).Error(), maxMessage)}
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
		req.Header.Set("Accept-Encoding", "identity") // a compressed stream is a delayed one
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "ponder")
	}
	if err := hold(call, req); err != nil {
		return nil, err
	}
	return c.trip(req, &call.way)
}

// trip sends a request as an HTTP client does that follows no redirect and has
// no time limit. It is the transport alone that does it, unless there are
// cookies to see to.
func (c *Client) trip(req *http.Request, way *passage) (*http.Response, error) {
	if c.HTTP != nil && c.HTTP.Jar != nil {
		h := *c.HTTP
		h.Timeout = 0
		h.Transport = carrier{c, way}
		h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		return h.Do(req)
	}
	if u := req.URL.User; u != nil && req.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	resp, err := carrier{c, way}.RoundTrip(req)
	var record tls.RecordHeaderError
	if errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/" {
		err = http.ErrSchemeMismatch
	}
	return resp, err
}

func encode(body any) ([]byte, error) {
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

// check returns an error if the answer is not one to read on.
func (c *Client) check(call *call, resp *http.Response, header http.Header) error {
	if c := coding(resp); c != "" && c != "gzip" {
		return call.fail(&llm.Error{Class: llm.Malformed, Status: resp.StatusCode, Message: "the answer is encoded as nobody asked: " + textkit.VisibleLine(c, maxMessage)})
	}
	if resp.StatusCode/100 == 2 {
		if IsType(resp, "text/html") {
			return call.fail(&llm.Error{Class: llm.Malformed, Message: "the answer is a web page: is the base URL right?"})
		}
		return nil
	}
	return call.fail(c.refusal(resp, header))
}

// IsType reports whether an answer's content type is the given one, whatever
// its parameters.
func IsType(resp *http.Response, want string) bool {
	got, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(got), want)
}

// full returns a model's full name.
func (c *Client) full(model string) string {
	if model == "" {
		return c.Name
	}
	return c.Name + "/" + model
}

// adviceOf returns what a user can do about a class of failure: what the adapter says, or
// what is the same with all of them.
func adviceOf(own func(llm.Class) string, class llm.Class) string {
	if own != nil {
		if says := own(class); says != "" {
			return says
		}
	}
	switch class {
	case llm.TooLong:
		return "give it less to read, or ask a model that reads more"
	case llm.Filtered:
		return "word it otherwise, or ask another model"
	}
	return ""
}

// maxSmall bounds an answer of a few numbers, in bytes.
const maxSmall = 1 << 20

// Count asks how many tokens a request has, and returns the number that the answer has
// under a name.
func (c *Client) Count(ctx context.Context, model, address string, header http.Header, body any, name string) (int, error) {
	data, err := c.Fetch(ctx, model, http.MethodPost, address, header, body, maxSmall)
	if err == nil {
		var got map[string]json.RawMessage
		var n Count
		if json.Unmarshal(data, &got) == nil && json.Unmarshal(got[name], &n) == nil && n > 0 {
			return int(n), nil
		}
		err = &llm.Error{Class: llm.Malformed, Message: "the answer has no count of tokens"}
	}
	return 0, Ask{Model: c.full(model), Sent: header, Advice: c.Advice}.Blame(err, llm.Usage{})
}

// Fetch sends one request and returns its whole answer, up to a number of bytes, unless
// that is an error. Errors of the answer name no model, see [Ask.Blame].
func (c *Client) Fetch(ctx context.Context, model, method, address string, header http.Header, body any, most int64) ([]byte, error) {
	resp, err := c.Do(ctx, model, method, address, header, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to the end
	data, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, err
	}
	if e := InBand(data); e != nil {
		return nil, e
	}
	return data, nil
}

// coding returns how the body of an answer is encoded, or nothing.
func coding(resp *http.Response) string {
	c := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	switch c {
	case "identity":
		return ""
	case "x-gzip":
		return "gzip"
	}
	return c
}

// unzipped returns the body of an answer as it was before it was encoded. None is asked to
// be, but a proxy may do as it likes.
func unzipped(resp *http.Response) io.ReadCloser {
	if coding(resp) != "gzip" {
		return resp.Body
	}
	return &unzipper{ReadCloser: resp.Body}
}

// An unzipper reads what gzip has compressed, from its first Read on.
type unzipper struct {
	io.ReadCloser
	zip *gzip.Reader
}

func (u *unzipper) Read(p []byte) (n int, err error) {
	if u.zip == nil {
		if u.zip, err = gzip.NewReader(u.ReadCloser); err != nil {
			return 0, err
		}
	}
	return u.zip.Read(p)
}
