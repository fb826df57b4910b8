package llmtest

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// A kind is what is wrong with a request or with the server. Each dialect has
// its own status and words for it.
type kind string

const (
	badRequest  kind = "bad request"
	wrongKey    kind = "wrong key"
	noCredit    kind = "no credit"
	noModel     kind = "no model"
	tooLong     kind = "too long"
	filtered    kind = "filtered"
	rateLimited kind = "rate limited"
	serverError kind = "server error"
	badGateway  kind = "bad gateway"
	unavailable kind = "unavailable"
	overloaded  kind = "overloaded"
	page        kind = "page"
)

// A failure is an error to answer with.
type failure struct {
	kind        kind
	message     string // "" for the provider's usual words
	param       string // of a bad request, where the dialect names it
	model       string
	tokens      int // of a prompt that is too long
	limit       int
	status      int // 0 for the provider's usual one
	contentType string
	retry       time.Duration // when to try again
}

// A RetryForm is how a server says when to try again.
type RetryForm string

// The forms. The zero value is the provider's own.
const (
	RetrySeconds  RetryForm = "seconds"  // Retry-After: 2
	RetryFraction RetryForm = "fraction" // Retry-After: 1.5
	RetryMillis   RetryForm = "millis"   // retry-after-ms: 1500
	RetryDate     RetryForm = "date"     // Retry-After: Wed, 21 Oct 2015 07:28:00 GMT
	RetryBody     RetryForm = "body"     // in the body alone
	RetryNever    RetryForm = "never"    // x-should-retry: false
	RetryUnsaid   RetryForm = "unsaid"
)

// retryHeaders says when to try again.
func retryHeaders(h http.Header, form RetryForm, after time.Duration) {
	seconds := strconv.Itoa(int(math.Ceil(after.Seconds())))
	switch form {
	case RetrySeconds:
		h.Set("Retry-After", seconds)
	case RetryFraction:
		h.Set("Retry-After", strconv.FormatFloat(after.Seconds(), 'f', -1, 64))
	case RetryMillis:
		h.Set("Retry-After-Ms", strconv.FormatInt(after.Milliseconds(), 10))
		h.Set("Retry-After", seconds)
	case RetryDate:
		h.Set("Retry-After", time.Now().Add(after+time.Second-1).UTC().Format(http.TimeFormat))
	case RetryNever:
		h.Set("X-Should-Retry", "false")
	}
}

const gatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"

const loginPage = "<!DOCTYPE html>\n<html><head><title>Sign in to the network</title></head><body><form method=\"post\"></form></body></html>\n"

// fail refuses the exchange with what the kind of failure needs.
func (x *exchange) fail(f failure) {
	f.model = x.rec.Model
	switch f.kind {
	case badGateway:
		x.rec.Status = http.StatusBadGateway
		x.send(http.StatusBadGateway, "text/html", []byte(gatewayPage))
		return
	case page:
		x.send(http.StatusOK, "text/html; charset=utf-8", []byte(loginPage))
		return
	case rateLimited, overloaded:
		if f.retry == 0 && f.kind == rateLimited {
			f.retry = time.Second
		}
	case tooLong:
		f.limit = cmp.Or(f.limit, 8192)
		f.tokens = max(f.tokens, f.limit+1)
	}
	x.refuse(f)
}

// said returns the failure's message, or else the usual one.
func (f failure) said(usual string, args ...any) string {
	if f.message != "" {
		return f.message
	}
	return fmt.Sprintf(usual, args...)
}
