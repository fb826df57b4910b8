package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"time"

	"ponder/llm"
)

// leastHint is the least time that what is left of a limit is taken for a time to wait: for
// less, a back-off is wiser.
const leastHint = time.Second

// maxErrorBody bounds what is read of a failed answer, in bytes. What is JSON can be
// understood as a whole only.
const maxErrorBody = 1 << 20

// refusal turns an answer that is not 2xx into an error.
func (c *Client) refusal(resp *http.Response, sent http.Header) *llm.Error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var broken *llm.Error
	if errors.As(err, &broken) && broken.Class == llm.Cancelled {
		return broken
	}
	f, _ := parseFault(data, true)
	e := f.err(resp.StatusCode)
	if resp.StatusCode/100 == 3 {
		e.Class, e.Message, e.Advice = llm.NotFound, "the server redirects elsewhere", "correct the base URL"
	}
	if again := resp.Header.Get("x-should-retry"); again == "true" && e.Class == llm.BadRequest {
		e.Class = llm.Transient
	}
	e.RetryAfter = RetryAfter(resp.Header, data, time.Now())
	if a, ok := Allowance(resp.Header, time.Now()); ok && a.Requests == 0 && a.After >= leastHint && e.Class == llm.RateLimited && e.RetryAfter == 0 {
		e.RetryAfter = a.After
	}
	e.Message = redact(e.Message, secrets(sent))
	if e.Class == llm.Auth && e.Message == keyRejected && len(secrets(sent)) == 0 {
		e.Message = "no key given"
	}
	return e
}

// untrusted reports whether a TLS connection failed for what the server is.
func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &header) || errors.As(err, &authority) ||
		errors.As(err, &host) || errors.Is(err, http.ErrSchemeMismatch)
}
