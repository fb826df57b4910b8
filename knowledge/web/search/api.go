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

// A Service is where a search engine is and what it wants to know. The zero value
// is the public one.
type Service struct {
	Key string

	// URL is where the engine is, without the path of its API; that of the public
	// one if empty. A user name and password in it are sent as such.
	URL string

	// Client makes the requests; if nil, one of the package's own that goes
	// through no proxy. Redirects are never followed, since a key goes with them.
	Client *http.Client
}

// maxAnswer is the most bytes of an answer.
const maxAnswer = 8 << 20

// Errors of a provider.
var (
	// ErrBusy says that a provider asked to be left alone.
	ErrBusy = errors.New("provider wants no requests")

	// ErrAnswer says that an answer is not what the API says it is.
	ErrAnswer = errors.New("answer can't be read")

	// ErrTooBig says that an answer is longer than any should be.
	ErrTooBig = errors.New("answer is too long")
)

// A StatusError says that an engine refused.
type StatusError struct {
	Status int
	Says   string        // what the engine says, in a line, without the key
	Retry  time.Duration // how long it wants to be left alone; zero if it does not say
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("status %d", e.Status)
	if word := http.StatusText(e.Status); word != "" {
		s += " " + strings.ToLower(word)
	}
	if e.Says != "" {
		s += ": " + e.Says
	}
	if e.Retry > 0 {
		s += fmt.Sprintf(" (again in %v)", e.Retry.Round(time.Second))
	}
	return s
}

// api is a service that can be asked.
type api struct {
	Service
	base   *url.URL
	err    error // of the URL
	header http.Header
	client *http.Client
}

// newAPI returns a service, at an address unless it has one, with headers that each
// request has.
func newAPI(s Service, public string, header http.Header) api {
	a := api{Service: s, header: header}
	base, err := url.Parse(cmp.Or(strings.TrimSpace(s.URL), public))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		a.err = errors.New("its address is not one of http or https")
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

// get asks with parameters, and reads the answer into to.
func (a api) get(ctx context.Context, path string, params url.Values, to any) error {
	return a.do(ctx, http.MethodGet, path+"?"+params.Encode(), nil, to)
}

// post asks with JSON, and reads the answer into to.
func (a api) post(ctx context.Context, path string, body, to any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.do(ctx, http.MethodPost, path, b, to)
}

func (a api) do(ctx context.Context, method, path string, body []byte, to any) error {
	req, err := a.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return a.hidden(err)
	}
	defer resp.Body.Close()
	b, err := limitio.ReadAll(resp.Body, maxAnswer)
	switch {
	case resp.StatusCode != http.StatusOK:
		return a.refusal(resp, b)
	case errors.Is(err, limitio.ErrTooLarge):
		return ErrTooBig
	case err != nil:
		return a.hidden(err)
	}
	var odd *json.UnmarshalTypeError
	switch err := json.Unmarshal(b, to); {
	case errors.As(err, &odd):
		return errOdd
	case err != nil:
		return ErrAnswer // what is wrong with it would quote it
	}
	return nil
}

// errOdd says that a part of an answer is not of the type it should be. The others
// are read.
var errOdd = errors.New("a part of the answer is odd")

// readable returns the results of an answer, unless it is none: a list that is not
// there is another thing than one that is empty.
func readable(list []Result, there bool, err error) ([]Result, error) {
	switch {
	case errors.Is(err, errOdd) && len(list) > 0:
		return list, nil
	case err == nil && !there, errors.Is(err, errOdd):
		return nil, ErrAnswer
	case err != nil:
		return nil, err
	}
	return list, nil
}

func (a api) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	if a.err != nil {
		return nil, a.err
	}
	base := *a.base
	base.User, base.RawQuery, base.Fragment = nil, "", ""
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(base.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its address is not one of http or https")
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

// hidden returns an error of the connection without the address, which has the
// query in it.
func (a api) hidden(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("no answer: %s", a.scrub(err.Error()))
}

// scrub returns what somebody says in a line, without the key.
func (a api) scrub(s string) string {
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

// refusal returns what an engine says when it does not answer.
func (a api) refusal(resp *http.Response, body []byte) error {
	e := &StatusError{Status: resp.StatusCode, Says: a.scrub(says(body)), Retry: retryAfter(resp.Header)}
	if resp.StatusCode/100 == 3 {
		e.Says = "it sends on to another address, which is not followed"
	}
	return e
}

// says finds the words in an error: each engine has its own form. Anything else,
// such as a page, says nothing.
func says(body []byte) string {
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

// retryAfter returns how long an engine wants to be left alone: it says in
// seconds or as a time, or as Brave does for each of several quotas.
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
