// Package web fetches pages and makes text of them, without being led to where
// it has no business.
//
// The way of a page: a URL is checked and written in one way (url.go); a copy
// that is young enough is taken from the archive (cache.go); robots.txt is asked
// (robots.go, rules.go); the host is given its rest (hosts.go); the request goes
// out through a dialer that refuses addresses which are not public (dial.go,
// address.go, allow.go); redirects go the same way again (visit.go); the body is
// unpacked and bounded (body.go); its letters are decoded (charset.go), and text
// is made of it by its type (content.go). [Fetcher.Fetch] does all of it.
//
// What is refused, and how to allow it, is told in docs/web.md. The check that
// counts is made by the dialer, on the very address that is about to be connected
// to: names are resolved once for it, so that a name server has no second chance.
// What is checked before is for errors that come sooner and say more.
//
// A page comes from a stranger. Its length, its headers, the time it takes, how
// often it redirects and what it unpacks to are bounded.
//
// Originals are in the archive under the URL that answered, with the time. Notes
// are kept there too, in JSON:
//
//	web.page    by URL as asked for: where it led, type, hash, validators, time
//	web.robots  by origin: status of robots.txt, and those of its lines that count
//
// Both may be removed at any time.
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

	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/web/extract"
)

// Options say how to fetch. The zero value fetches from public hosts, and keeps
// and remembers nothing.
type Options struct {
	// Archive keeps originals, and what is remembered of pages and hosts. Nil:
	// every page is fetched anew, and Hash is of bytes that nobody has.
	Archive *archive.Archive

	// Allow names what may be connected to though it is not public: hosts
	// ("nas.lan", "*.lan"), addresses, ranges ("10.0.0.0/8"); all but ranges may
	// have a port ("localhost:8080"). See [CheckAllow].
	Allow []string

	// UserAgent is what is sent. Its first word, up to a slash, is the name that
	// robots.txt is searched for. "" is "Ponder/1.0".
	UserAgent string

	MaxBytes int64         // of an answer, packed and unpacked; 0 is 10 MiB
	Timeout  time.Duration // of all exchanges of a fetch, without waiting for a turn; 0 is 30 s
	PerHost  int           // exchanges with a host at a time; 0 is 2
	Delay    time.Duration // between the beginnings of two; 0 is 250 ms, negative none
	MaxAge   time.Duration // of a copy that is taken for the page; 0 is 1 h, negative none

	IgnoreRobots bool

	// HTML takes the text out of a page, in UTF-8, found at a URL. Nil is that
	// of the package extract.
	HTML func(page []byte, url string) (extract.Content, error)

	// Typed makes a document of what is neither HTML nor text, by its media type
	// and its name. Nil is that of the package document.
	Typed func(mime, name string, raw []byte) (*document.Document, error)

	Now      func() time.Time // nil is time.Now
	Resolver *net.Resolver    // of names; nil is that of the system
}

// A Page is the text of a page, and where it came from. All of it but the times
// of fetching are the words of strangers.
type Page struct {
	URL, Final string // as asked for, in the one way to write it; and where that led
	Type       string // media type
	Charset    string // of HTML and text
	Title      string
	Author     string
	Site       string
	Language   string    // ISO 639-1, or ""
	Published  time.Time // zero if unknown
	Fetched    time.Time // when the host last said that this is the page
	Markdown   string
	Hash       string // SHA-256 of the original, hex: its name in the archive
	Bytes      int    // of the original
	Cached     bool   // the original is from the archive
	Truncated  bool   // the page is longer than is read of it
	Local      bool   // it was read where it is kept, and did not come over the network

	// Canonical is the address that the page says is its own, or "".
	Canonical string

	// Pages are the printed pages of a PDF: Start is a byte of Markdown.
	Pages []document.Page
}

// limits bound a fetch.
type limits struct {
	headers     time.Duration // until the headers have come, with connecting
	idle        time.Duration // without anything of a body
	total       time.Duration // of all exchanges
	wait        time.Duration // for turns at hosts, in all
	retry       time.Duration // that a host may have us wait to ask again
	bytes       int64
	headerBytes int64
	hops        int
}

// A Fetcher fetches pages. It is safe for concurrent use.
type Fetcher struct {
	o        Options
	limits   limits
	guard    guard
	broken   error // what is wrong with the options
	resolver *net.Resolver
	wire     *http.Transport
	hosts    *hosts
	robots   *robots
}

// New returns a fetcher. If an entry of Allow cannot be read, every Fetch says so.
func New(o Options) *Fetcher {
	o = o.filled()
	f := &Fetcher{o: o, resolver: o.Resolver, limits: limits{
		headers: 15 * time.Second, idle: 10 * time.Second, total: o.Timeout, wait: 30 * time.Second, retry: 10 * time.Second,
		bytes: o.MaxBytes, headerBytes: 128 << 10, hops: 10,
	}}
	f.guard, f.broken = newGuard(o.Allow)
	f.hosts = newHosts(o.PerHost)
	f.robots = newRobots(agentToken(o.UserAgent))
	f.wire = f.transport()
	return f
}

// filled returns options with the defaults in place.
func (o Options) filled() Options {
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
		o.Typed = document.Typed
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

// Close closes connections that are kept for the next fetch.
func (f *Fetcher) Close() { f.wire.CloseIdleConnections() }

// Fetch returns the page at a URL: from the archive, if the copy there is younger
// than MaxAge, or else from its host, which is asked whether the copy is still
// good. What comes is in the archive before it is returned. Errors are one line
// and wrap one of those of this package, a [StatusError], or that of ctx.
func (f *Fetcher) Fetch(ctx context.Context, raw string) (*Page, error) {
	if f.broken != nil {
		return nil, fmt.Errorf("fetch: %w", f.broken)
	}
	u, err := f.guard.parse(raw)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", shown(raw), err)
	}
	page, err := f.fetch(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", shown(u.String()), err)
	}
	return page, nil
}

// shown returns a URL as it is shown in an error, without a password.
func shown(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.User != nil {
		raw = u.Redacted()
	}
	return textkit.VisibleLine(raw, 200)
}

func (f *Fetcher) fetch(ctx context.Context, u *url.URL) (*Page, error) {
	kept, err := f.kept(ctx, u.String())
	if err != nil {
		return nil, err
	}
	if kept != nil && kept.youngerThan(f.o.MaxAge, f.o.Now()) {
		return f.page(kept)
	}
	v := f.visit(kept)
	a, err := v.follow(ctx, u)
	if err != nil {
		return nil, err
	}
	if a.status == http.StatusNotModified && kept != nil {
		return f.confirm(ctx, kept)
	}
	if a.status != http.StatusOK && a.status != http.StatusNonAuthoritativeInfo {
		return nil, &StatusError{Code: a.status, After: a.after}
	}
	return f.keep(ctx, u.String(), a)
}

// Archived returns a page as it is in the archive, by the hash of its original,
// without asking anybody. It is archive.ErrNone if the archive does not have it.
func (f *Fetcher) Archived(ctx context.Context, hash string) (*Page, error) {
	if f.o.Archive == nil {
		return nil, errors.New("read page: there is no archive")
	}
	o, err := f.o.Archive.Get(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return f.page(&copied{record: record{URL: o.Source, Final: o.Source, Type: o.Type, Hash: o.Hash, Fetched: o.Fetched}, raw: o.Bytes, cached: true})
}

// What a fetch comes to when it comes to nothing. Each is wrapped in one line
// that says more.
var (
	ErrRefused = errors.New("address not allowed")           // it is not public, and the user did not allow it
	ErrURL     = errors.New("not a URL that can be fetched") // its scheme, its host or the way it is written
	ErrRobots  = errors.New("robots.txt does not allow it")  // or could not be read
	ErrTooBig  = errors.New("too big")                       // and of a type that cannot be cut short
	ErrType    = errors.New("not text that can be read")     // its type, or nothing in it
	ErrTime    = errors.New("took too long")                 // headers, a pause, or all of it
	ErrBusy    = errors.New("host wants to be left alone")   // for longer than is worth waiting
	ErrBody    = errors.New("answer is damaged")             // ended early, or cannot be unpacked
	ErrCircle  = errors.New("too many redirects")            // more than ten
)

// A StatusError is an answer other than a page.
type StatusError struct {
	Code  int
	After time.Duration // how long the host wants to be left alone; 0 if it did not say
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

// errSlow is the cause when the time is up, or nothing came for too long.
type errSlow struct {
	what string
	time.Duration
}

func (e errSlow) Error() string { return fmt.Sprintf("took too long: %s %v", e.what, e.Duration) }
func (e errSlow) Unwrap() error { return ErrTime }

// longest is how much of the words of others is in an error.
const longest = 300

// plainError is an error whose words are of others: one line, without what
// cannot be printed.
type plainError struct {
	says string
	err  error
}

func (e plainError) Error() string { return e.says }
func (e plainError) Unwrap() error { return e.err }

func plain(err error) error { return plainError{textkit.VisibleLine(err.Error(), longest), err} }

// reason returns why an exchange failed: what ended its time, rather than what
// that looked like on the wire.
func reason(ctx context.Context, err error) error {
	var slow errSlow
	if cause := context.Cause(ctx); cause != nil {
		if errors.As(cause, &slow) {
			return slow
		}
		return cause
	}
	return explain(err)
}
