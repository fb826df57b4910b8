// Package feed is the sensor of a feed: RSS, Atom or JSON Feed. An item is told once,
// as it first appears, with its title and how it begins; what is later changed in it is
// not told.
//
// Its cursor is a [cursor]: the items that were told or were there before, and how the
// host named the version of the feed that they are from.
package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/sensor"
)

// Bounds.
const (
	MaxBytes = 2 << 20 // of a feed
	maxItems = 500     // of a feed that are looked at, and that the cursor knows
	first    = 3       // items that the first look tells
	every    = 15 * time.Minute
)

// Options say which feed is read, and how.
type Options struct {
	URL     string
	Fetch   Fetch
	Every   time.Duration // the host is not asked more often; 15 minutes if zero, at each look if negative
	Trusted bool          // no stranger writes in it
}

// A Fetch asks a host for a feed. It follows redirects, and refuses what should not be
// connected to.
type Fetch func(context.Context, Request) (*Response, error)

// A Request asks for a feed, on condition that it is another than the version that is
// named, if one is.
type Request struct {
	URL      string
	ETag     string // for If-None-Match, or ""
	Modified string // for If-Modified-Since, or ""
	MaxBytes int    // of the body that are of use: what is longer is refused
}

// A Response is what the host answered.
type Response struct {
	Status   int // of HTTP: 200, 304, or another, which is an error
	Body     []byte
	ETag     string
	Modified string // Last-Modified
}

// A cursor says what of a feed has been told.
type cursor struct {
	ETag     string   `json:"etag,omitempty"` // of a version of which nothing is left to tell
	Modified string   `json:"modified,omitempty"`
	Seen     []string `json:"seen"` // hashes of items, the oldest first
}

// A feed is a sensor, and what it fetched last.
type feed struct {
	Options
	mu    sync.Mutex
	asked time.Time // zero: never
	has   *version  // nil: nothing yet
	err   error     // of asking last
}

// A version is a feed as it was fetched.
type version struct {
	etag, modified string
	title          string
	items          []item // the newest first
}

// New returns the sensor, which is called "feed".
func New(o Options) sensor.Sensor {
	o.Every = cmp.Or(o.Every, every)
	return sensor.Sensor{Name: "feed", Look: (&feed{Options: o}).look}
}

func (f *feed) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, known := readCursor(raw)
	if err := f.refresh(ctx, now, c); err != nil {
		return nil, nil, fmt.Errorf("read the feed of %s: %w", host(f.URL), err)
	}
	if f.has == nil { // it is the version of the cursor
		return nil, raw, nil
	}
	fresh := c.fresh(f.has.items)
	if !known {
		fresh = fresh[:min(len(fresh), first)]
	}
	if known && len(fresh) == 0 {
		return nil, raw, nil
	}
	fresh = fresh[max(0, len(fresh)-sensor.MaxLook):] // the oldest of them
	slices.Reverse(fresh)
	next, err := json.Marshal(c.after(f.has, fresh, known))
	return f.observe(fresh), next, err
}

func readCursor(raw json.RawMessage) (cursor, bool) {
	var c cursor
	if json.Unmarshal(raw, &c) != nil || c.Seen == nil {
		return cursor{}, false
	}
	return c, true
}

// refresh asks the host for the feed, if it is time.
func (f *feed) refresh(ctx context.Context, now time.Time, c cursor) error {
	if !f.asked.IsZero() && f.Every > 0 && now.Sub(f.asked) < f.Every && !now.Before(f.asked) && (f.has != nil || f.err != nil || c.Seen != nil) {
		return f.err
	}
	has, err := f.fetch(ctx, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f.asked, f.err = now, err
	if err == nil && (has != nil || f.has != nil && !c.of(f.has)) {
		f.has = has
	}
	return err
}

// fetch returns the feed, or nil if it is still that of the cursor.
func (f *feed) fetch(ctx context.Context, c cursor) (*version, error) {
	if f.Fetch == nil {
		return nil, errors.New("there is nothing to fetch it with")
	}
	resp, err := f.Fetch(ctx, Request{URL: f.URL, ETag: c.ETag, Modified: c.Modified, MaxBytes: MaxBytes})
	if err != nil {
		return nil, plain(err)
	}
	switch {
	case resp.Status == http.StatusNotModified && c.ETag+c.Modified != "":
		return nil, nil
	case resp.Status == http.StatusUnauthorized || resp.Status == http.StatusForbidden:
		return nil, fmt.Errorf("the host refuses it (status %d): check the address", resp.Status)
	case resp.Status == http.StatusNotFound || resp.Status == http.StatusGone:
		return nil, fmt.Errorf("it is not there (status %d): check the address", resp.Status)
	case resp.Status != http.StatusOK:
		return nil, fmt.Errorf("the host answers with status %d", resp.Status)
	case len(resp.Body) > MaxBytes:
		return nil, errTooLong
	}
	v, err := parse(ctx, resp.Body, f.URL)
	if err != nil {
		return nil, err
	}
	v.etag, v.modified = name(resp.ETag), name(resp.Modified)
	return v, nil
}

var errTooLong = fmt.Errorf("it has more than %d MiB", MaxBytes>>20)

// name returns what a host calls a version, or "" if it is too long to be kept.
func name(s string) string {
	if len(s) > 300 || sensor.Line(s, 300) != s {
		return ""
	}
	return s
}

// plain returns an error without the address, which may have a password in it.
func plain(err error) error {
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		return asked.Err
	}
	return err
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address without a host"
	}
	return sensor.Line(u.Host, 100)
}

// of reports whether all of a version has been told.
func (c cursor) of(v *version) bool {
	return c.ETag+c.Modified != "" && c.ETag == v.etag && c.Modified == v.modified
}

// fresh returns the items that the cursor does not know, in their order.
func (c cursor) fresh(items []item) []item {
	seen := make(map[string]bool, len(c.Seen))
	for _, hash := range c.Seen {
		seen[hash] = true
	}
	var fresh []item
	for _, it := range items {
		if !seen[it.hash] {
			seen[it.hash] = true
			fresh = append(fresh, it)
		}
	}
	return fresh
}

// after returns the cursor after some of what was fresh in a version was told; of the
// first look, after which the rest is not fresh any more either.
func (c cursor) after(v *version, told []item, known bool) cursor {
	if !known {
		told = slices.Clone(v.items)
		slices.Reverse(told)
	}
	there := make(map[string]bool, len(v.items))
	for _, it := range v.items {
		there[it.hash] = true
	}
	var gone, still []string
	for _, hash := range c.Seen {
		if there[hash] {
			still = append(still, hash)
		} else {
			gone = append(gone, hash)
		}
	}
	for _, it := range told {
		still = append(still, it.hash)
	}
	gone = gone[max(0, len(gone)-max(0, maxItems-len(still))):]
	next := cursor{Seen: append(append([]string{}, gone...), still...)}
	if len(next.fresh(v.items)) == 0 {
		next.ETag, next.Modified = v.etag, v.modified
	}
	return next
}

func (f *feed) observe(items []item) []ponder.Observation {
	var seen []ponder.Observation
	for _, it := range items {
		seen = append(seen, ponder.Observation{
			Content: sensor.Line(it.text(f.has.title), sensor.MaxText),
			Subject: sensor.Subject(it.id), State: "new", Source: sensor.Line(it.link, 500), Untrusted: !f.Trusted,
		})
	}
	return seen
}
