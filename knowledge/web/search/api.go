package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"ponder/internal/limitio"
	"ponder/internal/textkit"
	"strconv"
	"strings"
	"time"
)

// A Service configures a search engine. The zero value is the public one.
type Service struct {
	Key string

	// URL is the base without the API's path. User name and password are sent as basic
	// authentication.
	URL string

	// Client makes the requests; the default uses no proxy. Redirects are never
	// followed, since requests have keys.
	Client *http.Client
}

const maxAnswer = 8 << 20

var (
	// ErrBusy reports that a provider refuses requests for now.
	ErrBusy = errors.New("provider is rate-limited")

	// ErrAnswer reports an invalid answer.
	ErrAnswer = errors.New("invalid answer")

	// ErrTooBig reports a too long answer.
	ErrTooBig = errors.New("answer is too long")
)

// A StatusError is an engine's refusal.
type StatusError struct {
	Status  int
	Message string        // the engine's message in a line, without the key
	Retry   time.Duration // requested pause, or zero
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("status %d", e.Status)
	if word := http.StatusText(e.Status); word != "" {
		s += " " + strings.ToLower(word)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Retry > 0 {
		s += fmt.Sprintf("; try again in %v", e.Retry.Round(time.Second))
	}
	return s
}

type api struct {
	Service
	base   *url.URL
	err    error // of the URL
	header http.Header
	client *http.Client
}

// newAPI returns a service with a default address and headers.
func newAPI(s Service, public string, header http.Header) api {
	a := api{Service: s, header: header}
	base, err := url.Parse(cmp.Or(strings.TrimSpace(s.URL), public))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		a.err = errors.New("its address is not an http or https URL")
		return a
	}
	a.base = base
	client := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10}}
	if s.Client != nil {
		client = *s.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.client = &client
	return a
}

func (a api) getJSON(ctx context.Context, path string, params url.Values, to any) error {
	return a.doRequest(ctx, http.MethodGet, path+"?"+params.Encode(), nil, to)
}

func (a api) postJSON(ctx context.Context, path string, body, to any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.doRequest(ctx, http.MethodPost, path, b, to)
}

func (a api) doRequest(ctx context.Context, method, path string, body []byte, to any) error {
	req, err := a.newRequest(ctx, method, path, body)
	if err != nil {
		return err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return a.hideURL(err)
	}
	defer resp.Body.Close()
	b, err := limitio.ReadAll(resp.Body, maxAnswer)
	switch {
	case resp.StatusCode != http.StatusOK:
		return a.refusalError(resp, b)
	case errors.Is(err, limitio.ErrTooLarge):
		return ErrTooBig
	case err != nil:
		return a.hideURL(err)
	}
	var odd *json.UnmarshalTypeError
	switch err := json.Unmarshal(b, to); {
	case errors.As(err, &odd):
		return errWrongType
	case err != nil:
		return ErrAnswer // details would quote the answer
	}
	return nil
}

// errWrongType reports a value of a wrong type; the others are read.
var errWrongType = errors.New("a part of the answer has a wrong type")

// checkResults returns the results of a valid answer. A missing list is invalid, an empty
// one valid.
func checkResults(list []Result, there bool, err error) ([]Result, error) {
	switch {
	case errors.Is(err, errWrongType) && len(list) > 0:
		return list, nil
	case err == nil && !there, errors.Is(err, errWrongType):
		return nil, ErrAnswer
	case err != nil:
		return nil, err
	}
	return list, nil
}

func (a api) newRequest(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	if a.err != nil {
		return nil, a.err
	}
	base := *a.base
	base.User, base.RawQuery, base.Fragment = nil, "", ""
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(base.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its address is not an http or https URL")
	}
	req.Header = a.header.Clone()
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ponder")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if u := a.base.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	return req, nil
}

// hideURL removes the address, which has the query.
func (a api) hideURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("no answer: %s", a.scrubSecrets(err.Error()))
}

// scrubSecrets returns a message in a line, without secrets.
func (a api) scrubSecrets(s string) string {
	s = textkit.Prefix(s, 4<<10)
	secrets := []string{a.Key}
	if a.base != nil && a.base.User != nil {
		password, _ := a.base.User.Password()
		secrets = append(secrets, password)
	}
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "***")
			s = strings.ReplaceAll(s, url.QueryEscape(secret), "***")
		}
	}
	return textkit.PrefixLine(s, 200)
}

func (a api) refusalError(resp *http.Response, body []byte) error {
	e := &StatusError{Status: resp.StatusCode, Message: a.scrubSecrets(errorMessage(body)), Retry: retryAfter(resp.Header)}
	if resp.StatusCode/100 == 3 {
		e.Message = "redirects are not followed"
	}
	return e
}

// errorMessage returns the message in an engine's error, or "".
func errorMessage(body []byte) string {
	var b struct {
		Error   json.RawMessage
		Detail  json.RawMessage
		Message string
	}
	if json.Unmarshal(body, &b) != nil {
		return ""
	}
	text := func(raw json.RawMessage) string {
		var s string
		var o struct{ Detail, Error, Message, Code string }
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
		if json.Unmarshal(raw, &o) == nil {
			return cmp.Or(o.Detail, o.Error, o.Message, o.Code)
		}
		return ""
	}
	return cmp.Or(text(b.Error), text(b.Detail), b.Message)
}

// retryAfter reads seconds, a time, or Brave's list of quotas.
func retryAfter(h http.Header) time.Duration {
	const most = 24 * time.Hour
	if s := strings.TrimSpace(h.Get("Retry-After")); s != "" {
		if n, err := strconv.ParseUint(s, 10, 32); err == nil {
			return min(time.Duration(n)*time.Second, most)
		}
		at, err := http.ParseTime(s)
		from, err2 := http.ParseTime(h.Get("Date"))
		if err == nil && err2 == nil {
			return min(max(at.Sub(from), 0), most)
		}
	}
	remaining, reset := strings.Split(h.Get("X-RateLimit-Remaining"), ","), strings.Split(h.Get("X-RateLimit-Reset"), ",")
	wait := time.Duration(0)
	for i := range min(len(remaining), len(reset)) {
		left, err := strconv.ParseUint(strings.TrimSpace(remaining[i]), 10, 32)
		n, err2 := strconv.ParseUint(strings.TrimSpace(reset[i]), 10, 32)
		if err == nil && err2 == nil && left == 0 {
			wait = max(wait, time.Duration(n)*time.Second)
		}
	}
	return min(wait, most)
}
