// Package web fetches pages as text and refuses connections to addresses that are not
// public.
//
// [Fetcher.Fetch] normalizes a URL (url.go) and looks for a recent copy in the archive
// (cache.go). It checks robots.txt (robots.go) and waits for a turn at the host
// (hosts.go). The dialer refuses addresses that are not public (address.go); redirects
// take the same path (attempt.go). content.go decompresses, decodes and converts the
// body.
//
// docs/web.md lists refusals and permissions. The decisive check is the dialer's, on
// the address of each connection, so later answers of a name server cannot evade it.
// Earlier checks only give better errors.
//
// Pages are untrusted: length, headers, time, redirects and decompression are bounded.
//
// The archive has originals under the final URL, and removable JSON notes:
//
//	web.page    by requested URL: final URL, type, hash, validators, time
//	web.robots  by origin: status of robots.txt, and its relevant lines
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/web/extract"
)

// Options configure a Fetcher. The zero value uses public hosts and no archive.
type Options struct {
	// Without Archive, nothing is kept.
	Archive *archive.Archive

	// Allow lists non-public targets: hosts ("nas.lan", "*.lan"), addresses, ranges
	// ("10.0.0.0/8"). All but ranges may have a port. See [CheckAllow].
	Allow []string

	// The first word of UserAgent, up to a slash, is the name in robots.txt. Default
	// "Ponder/1.0".
	UserAgent string

	MaxBytes int64         // compressed and decompressed; default 10 MiB
	Timeout  time.Duration // of all exchanges, without waiting for turns; default 30 s
	PerHost  int           // concurrent exchanges; default 2
	Delay    time.Duration // between starts; default 250 ms, negative none
	MaxAge   time.Duration // of a copy used without request; default 1 h, negative none

	IgnoreRobots bool

	// HTML extracts the text of a page in UTF-8; default is package extract.
	HTML func(page []byte, url string) (extract.Content, error)

	// Typed parses other types; default is package document.
	Typed func(mime, name string, raw []byte) (*document.Document, error)

	Now      func() time.Time
	Resolver *net.Resolver
}

// A Page is untrusted, except for the times of fetching.
type Page struct {
	URL, Final string // normalized request, and its final target
	Type       string
	Charset    string
	Title      string
	Author     string
	Site       string
	Language   string    // ISO 639-1, or ""
	Published  time.Time // zero if unknown
	Fetched    time.Time // last confirmation by the host
	Markdown   string
	Hash       string // SHA-256 of the original, hex; its key in the archive
	Bytes      int    // of the original
	Cached     bool   // from the archive
	Truncated  bool
	Local      bool

	// Canonical is the page's own address, or "".
	Canonical string

	// Pages are those of a PDF; Start is a byte of Markdown.
	Pages []document.Page
}

type limits struct {
	headers     time.Duration // until the headers, with connecting
	idle        time.Duration // between parts of a body
	total       time.Duration // of all exchanges
	wait        time.Duration // for turns at hosts, in all
	retry       time.Duration // longest Retry-After that is awaited
	bytes       int64
	headerBytes int64
	hops        int
}

// A Fetcher is safe for concurrent use.
type Fetcher struct {
	o          Options
	limits     limits
	guard      netaddr.Guard
	optionsErr error // error of the options
	resolver   *net.Resolver
	wire       *http.Transport
	hosts      *hosts
	robots     *robots
}

// New returns a fetcher. If Allow has an invalid entry, every Fetch fails.
func New(o Options) *Fetcher {
	o = o.withDefaults()
	f := &Fetcher{o: o, resolver: o.Resolver, limits: limits{
		headers: 15 * time.Second, idle: 10 * time.Second, total: o.Timeout, wait: 30 * time.Second, retry: 10 * time.Second,
		bytes: o.MaxBytes, headerBytes: 128 << 10, hops: 10,
	}}
	f.guard, f.optionsErr = netaddr.NewGuard(o.Allow)
	f.hosts = newHosts(o.PerHost)
	f.robots = newRobots(agentToken(o.UserAgent))
	f.wire = f.newTransport()
	return f
}

func (o Options) withDefaults() Options {
	o.UserAgent = orElse(o.UserAgent, "Ponder/1.0")
	o.MaxBytes = orElse(o.MaxBytes, 10<<20)
	o.Timeout = orElse(o.Timeout, 30*time.Second)
	o.PerHost = orElse(o.PerHost, 2)
	o.Delay = max(orElse(o.Delay, 250*time.Millisecond), 0)
	o.MaxAge = orElse(o.MaxAge, time.Hour)
	if o.HTML == nil {
		o.HTML = extract.Article
	}
	if o.Typed == nil {
		o.Typed = document.ReadTyped
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func orElse[T comparable](v, otherwise T) T {
	if v == *new(T) {
		return otherwise
	}
	return v
}

// Close closes idle connections.
func (f *Fetcher) Close() { f.wire.CloseIdleConnections() }

// Fetch returns an archived copy younger than MaxAge, or the host's answer, which may
// confirm the copy. It archives originals before it returns. Errors are one line and
// wrap an error of this package, a [StatusError], or that of ctx.
func (f *Fetcher) Fetch(ctx context.Context, raw string) (*Page, error) {
	if f.optionsErr != nil {
		return nil, fmt.Errorf("fetch: %w", f.optionsErr)
	}
	u, err := f.guard.ParseURL(raw)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", displayURL(raw), err)
	}
	page, err := f.fetchPage(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", displayURL(u.String()), err)
	}
	return page, nil
}

func displayURL(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.User != nil {
		raw = u.Redacted()
	}
	return textkit.VisibleLine(raw, 200)
}

func (f *Fetcher) fetchPage(ctx context.Context, u *url.URL) (*Page, error) {
	kept, err := f.findCopy(ctx, u.String())
	if err != nil {
		return nil, err
	}
	if kept != nil && kept.isYoungerThan(f.o.MaxAge, f.o.Now()) {
		return f.buildPage(kept)
	}
	v := f.newAttempt(kept)
	a, err := v.followRedirects(ctx, u)
	if err != nil {
		return nil, err
	}
	if a.status == http.StatusNotModified && kept != nil {
		return f.renewPage(ctx, kept)
	}
	if a.status != http.StatusOK && a.status != http.StatusNonAuthoritativeInfo {
		return nil, &StatusError{Code: a.status, After: a.after}
	}
	return f.savePage(ctx, u.String(), a)
}

// Archived returns an archived page by the hash of its original, or archive.ErrNone.
func (f *Fetcher) Archived(ctx context.Context, hash string) (*Page, error) {
	if f.o.Archive == nil {
		return nil, errors.New("read page: no archive is configured")
	}
	o, err := f.o.Archive.Get(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return f.buildPage(&pageCopy{record: record{URL: o.Source, Final: o.Source, Type: o.Type, Hash: o.Hash, Fetched: o.Fetched}, raw: o.Bytes, cached: true})
}

// Errors of Fetch.
var (
	ErrRefused          = netaddr.ErrRefused                     // not public and not allowed
	ErrURL              = netaddr.ErrURL                         // scheme, host or syntax
	ErrRobots           = errors.New("disallowed by robots.txt") // disallowed or unreadable
	ErrTooBig           = errors.New("too large")                // and cannot be truncated
	ErrType             = errors.New("not readable text")        // unsuitable type, or empty
	ErrTimeout          = errors.New("took too long")            // headers, a pause, or all of it
	ErrBusy             = errors.New("host is rate-limited")     // longer than worth waiting for
	ErrBody             = errors.New("answer is damaged")        // incomplete, or cannot be decompressed
	ErrTooManyRedirects = errors.New("too many redirects")       // more than ten
)

// A StatusError is an answer without a page.
type StatusError struct {
	Code  int
	After time.Duration // Retry-After, or 0
}

func (e *StatusError) Error() string {
	text := http.StatusText(e.Code)
	text = cmp.Or(text, "unknown status")
	s := fmt.Sprintf("server answered %d (%s)", e.Code, strings.ToLower(text))
	if e.After > 0 {
		s += fmt.Sprintf("; try again in %v", e.After.Round(time.Second))
	}
	return s
}

type timeoutError struct {
	what string
	time.Duration
}

func (e timeoutError) Error() string { return fmt.Sprintf("took too long: %s %v", e.what, e.Duration) }
func (e timeoutError) Unwrap() error { return ErrTimeout }

// maxMessage limits quoted messages of others.
const maxMessage = 300

// A plainError is a cleaned one-line message.
type plainError struct {
	message string
	err     error
}

func (e plainError) Error() string { return e.message }
func (e plainError) Unwrap() error { return e.err }

func newPlainError(err error) error {
	return plainError{textkit.VisibleLine(err.Error(), maxMessage), err}
}

// causeError prefers the cause of ctx to the connection's error.
func causeError(ctx context.Context, err error) error {
	var slow timeoutError
	if cause := context.Cause(ctx); cause != nil {
		if errors.As(cause, &slow) {
			return slow
		}
		return cause
	}
	return explainError(err)
}
