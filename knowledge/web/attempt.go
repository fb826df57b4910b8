package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"ponder/internal/netaddr"
)

// A fetchAttempt is the exchanges of a fetch, with common time and cookies, which some hosts
// require after redirects.
type fetchAttempt struct {
	f          *Fetcher
	timeLeft   time.Duration // for exchanges
	waitLeft   time.Duration // for turns
	hops       int
	jar        http.CookieJar
	cachedCopy *pageCopy // copy to confirm
	obeyRobots bool      // robots.txt
	limitBody  func(*http.Response) (bodyLimit, error)
}

type bodyLimit struct {
	maxBytes int64
	cut      bool // truncate instead of refusing
}

type answer struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte // only of a page
	cut    bool
	after  time.Duration // Retry-After
}

func (f *Fetcher) newAttempt(kept *pageCopy) *fetchAttempt {
	jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	if err != nil {
		jar = nil // New never fails
	}
	return &fetchAttempt{f: f, timeLeft: f.limits.total, waitLeft: f.limits.wait, hops: f.limits.hops, jar: jar, cachedCopy: kept, obeyRobots: !f.o.IgnoreRobots, limitBody: f.pageBodyLimit}
}

func (v *fetchAttempt) followRedirects(ctx context.Context, u *url.URL) (*answer, error) {
	for range v.hops + 1 {
		delay := v.f.o.Delay
		if v.obeyRobots {
			crawl, err := v.checkRobots(ctx, u)
			if err != nil {
				return nil, err
			}
			delay = max(delay, crawl)
		}
		a, err := v.exchangeWithRetry(ctx, u, delay)
		if err != nil {
			return nil, err
		}
		next, err := v.f.redirectTarget(a)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return a, nil
		}
		u = next
	}
	return nil, fmt.Errorf("%w: more than %d", ErrTooManyRedirects, v.hops)
}

// redirectTarget returns a redirect's checked target, or nil.
func (f *Fetcher) redirectTarget(a *answer) (*url.URL, error) {
	to := a.header.Get("Location")
	switch a.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if to == "" {
			return nil, nil
		}
	default:
		return nil, nil
	}
	if len(to) > maxURL {
		return nil, fmt.Errorf("redirected: %w: it has more than %d bytes", ErrURL, maxURL)
	}
	u, err := a.url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("redirected to %q: %w: %s", displayURL(to), ErrURL, netaddr.ParseErrorText(err))
	}
	next, err := f.guard.CheckURL(u)
	if err != nil {
		return nil, fmt.Errorf("redirected to %s: %w", displayURL(u.String()), err)
	}
	return next, nil
}

// maxTries is the number of requests to a busy host.
const maxTries = 3

// exchangeWithRetry retries after a short Retry-After.
func (v *fetchAttempt) exchangeWithRetry(ctx context.Context, u *url.URL, delay time.Duration) (*answer, error) {
	for try := 1; ; try++ {
		began := time.Now()
		leave, err := v.f.hosts.acquireTurn(ctx, u.Host, delay, v.waitLeft)
		v.waitLeft -= time.Since(began)
		if err != nil {
			return nil, err
		}
		a, err := v.exchangeOnce(ctx, u)
		if err == nil && a.after > 0 {
			v.f.hosts.delayHost(u.Host, a.after)
		}
		leave()
		if err != nil || a.after == 0 || a.after > min(v.f.limits.retry, v.waitLeft) || try == maxTries {
			return a, err
		}
	}
}

func (v *fetchAttempt) exchangeOnce(ctx context.Context, u *url.URL) (*answer, error) {
	began := time.Now()
	defer func() { v.timeLeft -= time.Since(began) }()
	total := timeoutError{"more than", v.f.limits.total}
	ctx, stop := context.WithTimeoutCause(ctx, max(v.timeLeft, 0), total)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(v.f.limits.headers, func() { cancel(timeoutError{"no answer for", v.f.limits.headers}) })
	defer quiet.Stop()

	req, err := v.newRequest(ctx, u)
	if err != nil {
		return nil, err
	}
	resp, err := v.f.wire.RoundTrip(req)
	quiet.Stop()
	if err != nil {
		return nil, causeError(ctx, err)
	}
	defer resp.Body.Close()
	silent := time.AfterFunc(v.f.limits.idle, func() { cancel(timeoutError{"no data for", v.f.limits.idle}) })
	defer silent.Stop()
	resp.Body = &idleTimeoutBody{resp.Body, silent, v.f.limits.idle}
	a, err := v.readAnswer(u, resp)
	if err != nil && ctx.Err() != nil {
		return nil, causeError(ctx, err)
	}
	return a, err
}

func (v *fetchAttempt) newRequest(ctx context.Context, u *url.URL) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, newPlainError(err)
	}
	h := req.Header
	h.Set("User-Agent", v.f.o.UserAgent)
	h.Set("Accept", "text/html,application/xhtml+xml,text/markdown,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5")
	h.Set("Accept-Encoding", "gzip, deflate")
	if v.jar != nil {
		for _, c := range v.jar.Cookies(u) {
			req.AddCookie(c)
		}
	}
	if v.cachedCopy != nil && v.cachedCopy.Final == u.String() {
		setIf(h, "If-None-Match", v.cachedCopy.ETag)
		setIf(h, "If-Modified-Since", v.cachedCopy.Modified)
	}
	return req, nil
}

func setIf(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// readAnswer reads bodies of pages only.
func (v *fetchAttempt) readAnswer(u *url.URL, resp *http.Response) (*answer, error) {
	a := &answer{url: u, status: resp.StatusCode, header: resp.Header}
	if v.jar != nil {
		v.jar.SetCookies(u, resp.Cookies())
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		a.after = retryAfter(resp.Header.Get("Retry-After"), v.f.o.Now())
		return a, nil
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
	default:
		return a, nil
	}
	r, err := v.limitBody(resp)
	if err != nil {
		return nil, err
	}
	a.body, a.cut, err = readBody(resp, r)
	return a, err
}

// maxRetryAfter limits Retry-After and Crawl-delay.
const maxRetryAfter = time.Hour

// retryAfter reads seconds or a date, or returns 0.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if n, err := strconv.ParseUint(value, 10, 63); err == nil {
		return time.Duration(min(max(n, 1), uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if strings.Trim(value, "0123456789") == "" {
		return maxRetryAfter
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), time.Second), maxRetryAfter)
}

// An idleTimeoutBody resets the idle timer with each read.
type idleTimeoutBody struct {
	io.ReadCloser
	timer *time.Timer
	idle  time.Duration
}

func (p *idleTimeoutBody) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if n > 0 {
		p.timer.Reset(p.idle)
	}
	return n, err
}
