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
)

// A visit is the exchanges of a fetch, with common time and cookies, which some hosts
// require after redirects.
type visit struct {
	f     *Fetcher
	left  time.Duration // for exchanges
	wait  time.Duration // for turns
	hops  int
	jar   http.CookieJar
	kept  *copied // copy to confirm
	obey  bool    // robots.txt
	takes func(*http.Response) (ration, error)
}

type ration struct {
	most int64
	cut  bool // truncate instead of refusing
}

type answer struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte // only of a page
	cut    bool
	after  time.Duration // Retry-After
}

func (f *Fetcher) visit(kept *copied) *visit {
	jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	if err != nil {
		jar = nil // New never fails
	}
	return &visit{f: f, left: f.limits.total, wait: f.limits.wait, hops: f.limits.hops, jar: jar, kept: kept, obey: !f.o.IgnoreRobots, takes: f.pageRation}
}

func (v *visit) follow(ctx context.Context, u *url.URL) (*answer, error) {
	for range v.hops + 1 {
		delay := v.f.o.Delay
		if v.obey {
			crawl, err := v.allowed(ctx, u)
			if err != nil {
				return nil, err
			}
			delay = max(delay, crawl)
		}
		a, err := v.turn(ctx, u, delay)
		if err != nil {
			return nil, err
		}
		next, err := v.f.next(a)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return a, nil
		}
		u = next
	}
	return nil, fmt.Errorf("%w: more than %d", ErrCircle, v.hops)
}

// next returns a redirect's checked target, or nil.
func (f *Fetcher) next(a *answer) (*url.URL, error) {
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
		return nil, fmt.Errorf("redirected to %q: %w: %s", shown(to), ErrURL, misread(err))
	}
	next, err := f.guard.target(u)
	if err != nil {
		return nil, fmt.Errorf("redirected to %s: %w", shown(u.String()), err)
	}
	return next, nil
}

// tries is the number of requests to a busy host.
const tries = 3

// turn retries after a short Retry-After.
func (v *visit) turn(ctx context.Context, u *url.URL, delay time.Duration) (*answer, error) {
	for try := 1; ; try++ {
		began := time.Now()
		leave, err := v.f.hosts.enter(ctx, u.Host, delay, v.wait)
		v.wait -= time.Since(began)
		if err != nil {
			return nil, err
		}
		a, err := v.exchange(ctx, u)
		if err == nil && a.after > 0 {
			v.f.hosts.rest(u.Host, a.after)
		}
		leave()
		if err != nil || a.after == 0 || a.after > min(v.f.limits.retry, v.wait) || try == tries {
			return a, err
		}
	}
}

func (v *visit) exchange(ctx context.Context, u *url.URL) (*answer, error) {
	began := time.Now()
	defer func() { v.left -= time.Since(began) }()
	total := errSlow{"more than", v.f.limits.total}
	ctx, stop := context.WithTimeoutCause(ctx, max(v.left, 0), total)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(v.f.limits.headers, func() { cancel(errSlow{"no answer for", v.f.limits.headers}) })
	defer quiet.Stop()

	req, err := v.request(ctx, u)
	if err != nil {
		return nil, err
	}
	resp, err := v.f.wire.RoundTrip(req)
	quiet.Stop()
	if err != nil {
		return nil, reason(ctx, err)
	}
	defer resp.Body.Close()
	silent := time.AfterFunc(v.f.limits.idle, func() { cancel(errSlow{"nothing came for", v.f.limits.idle}) })
	defer silent.Stop()
	resp.Body = &pulse{resp.Body, silent, v.f.limits.idle}
	a, err := v.read(u, resp)
	if err != nil && ctx.Err() != nil {
		return nil, reason(ctx, err)
	}
	return a, err
}

func (v *visit) request(ctx context.Context, u *url.URL) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, plain(err)
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
	if v.kept != nil && v.kept.Final == u.String() {
		setIf(h, "If-None-Match", v.kept.ETag)
		setIf(h, "If-Modified-Since", v.kept.Modified)
	}
	return req, nil
}

func setIf(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// read reads bodies of pages only.
func (v *visit) read(u *url.URL, resp *http.Response) (*answer, error) {
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
	r, err := v.takes(resp)
	if err != nil {
		return nil, err
	}
	a.body, a.cut, err = readBody(resp, r)
	return a, err
}

// longestRest limits Retry-After and Crawl-delay.
const longestRest = time.Hour

// retryAfter reads seconds or a date, or returns 0.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if n, err := strconv.ParseUint(value, 10, 63); err == nil {
		return time.Duration(min(max(n, 1), uint64(longestRest/time.Second))) * time.Second
	}
	if strings.Trim(value, "0123456789") == "" {
		return longestRest
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), time.Second), longestRest)
}

// A pulse resets the idle timer with each read.
type pulse struct {
	io.ReadCloser
	silent *time.Timer
	idle   time.Duration
}

func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if n > 0 {
		p.silent.Reset(p.idle)
	}
	return n, err
}
