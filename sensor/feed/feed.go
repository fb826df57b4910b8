// Package feed implements the sensor of an RSS, Atom or JSON feed. It reports each item once, with
// its title and start, and ignores later changes.
//
// The cursor is a [cursor]: the known items and the validators of the last version.
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

// Limits.
const (
	MaxBytes        = 2 << 20 // per feed
	maxItems        = 500     // per feed, read and in the cursor
	firstItems      = 3       // items that the first look reports
	defaultInterval = 15 * time.Minute
)

// Options configure the sensor.
type Options struct {
	URL     string
	Fetch   Fetch
	Every   time.Duration // minimal request interval; default 15 minutes, negative: each look
	Trusted bool          // no untrusted text in the feed
}

// A Fetch requests a feed. It follows redirects and refuses forbidden addresses.
type Fetch func(context.Context, Request) (*Response, error)

// A Request requests a feed, conditionally if it has validators.
type Request struct {
	URL      string
	ETag     string // If-None-Match, or ""
	Modified string // If-Modified-Since, or ""
	MaxBytes int    // maximal body size
}

// A Response is the response of the host.
type Response struct {
	Status   int // 200, 304, or an error status
	Body     []byte
	ETag     string
	Modified string // Last-Modified
}

// A cursor records the reported items.
type cursor struct {
	ETag     string   `json:"etag,omitempty"` // of a fully reported version
	Modified string   `json:"modified,omitempty"`
	Seen     []string `json:"seen"` // item hashes, oldest first
}

type feed struct {
	Options
	mu          sync.Mutex
	lastRequest time.Time // time of the last request
	current     *version  // nil before the first response
	err         error     // of the last request
}

type version struct {
	etag, modified string
	title          string
	items          []item // newest first
}

// New returns the sensor "feed".
func New(o Options) sensor.Sensor {
	o.Every = cmp.Or(o.Every, defaultInterval)
	return sensor.Sensor{Name: "feed", Look: (&feed{Options: o}).look}
}

func (f *feed) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, known := readCursor(raw)
	if err := f.refreshVersion(ctx, now, c); err != nil {
		return nil, nil, fmt.Errorf("read the feed of %s: %w", hostName(f.URL), err)
	}
	if f.current == nil { // unchanged since the cursor
		return nil, raw, nil
	}
	fresh := c.unseenItems(f.current.items)
	if !known {
		fresh = fresh[:min(len(fresh), firstItems)]
	}
	if known && len(fresh) == 0 {
		return nil, raw, nil
	}
	fresh = fresh[max(0, len(fresh)-sensor.MaxLook):] // the oldest
	slices.Reverse(fresh)
	next, err := json.Marshal(c.advanceCursor(f.current, fresh, known))
	return f.buildObservations(fresh), next, err
}

func readCursor(raw json.RawMessage) (cursor, bool) {
	var c cursor
	if json.Unmarshal(raw, &c) != nil || c.Seen == nil {
		return cursor{}, false
	}
	return c, true
}

// refreshVersion requests the feed if the interval has passed.
func (f *feed) refreshVersion(ctx context.Context, now time.Time, c cursor) error {
	if !f.lastRequest.IsZero() && f.Every > 0 && now.Sub(f.lastRequest) < f.Every && !now.Before(f.lastRequest) && (f.current != nil || f.err != nil || c.Seen != nil) {
		return f.err
	}
	has, err := f.fetchVersion(ctx, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f.lastRequest, f.err = now, err
	if err == nil && (has != nil || f.current != nil && !c.isCurrent(f.current)) {
		f.current = has
	}
	return err
}

// fetchVersion returns the feed, or nil if it has the version of the cursor.
func (f *feed) fetchVersion(ctx context.Context, c cursor) (*version, error) {
	if f.Fetch == nil {
		return nil, errors.New("no fetch function is set")
	}
	resp, err := f.Fetch(ctx, Request{URL: f.URL, ETag: c.ETag, Modified: c.Modified, MaxBytes: MaxBytes})
	if err != nil {
		return nil, hideURL(err)
	}
	switch {
	case resp.Status == http.StatusNotModified && c.ETag+c.Modified != "":
		return nil, nil
	case resp.Status == http.StatusUnauthorized || resp.Status == http.StatusForbidden:
		return nil, fmt.Errorf("the host refuses access (status %d); check the address", resp.Status)
	case resp.Status == http.StatusNotFound || resp.Status == http.StatusGone:
		return nil, fmt.Errorf("not found (status %d); check the address", resp.Status)
	case resp.Status != http.StatusOK:
		return nil, fmt.Errorf("the host answers with status %d", resp.Status)
	case len(resp.Body) > MaxBytes:
		return nil, errTooLong
	}
	v, err := parseVersion(ctx, resp.Body, f.URL)
	if err != nil {
		return nil, err
	}
	v.etag, v.modified = storableValidator(resp.ETag), storableValidator(resp.Modified)
	return v, nil
}

var errTooLong = fmt.Errorf("larger than %d MiB", MaxBytes>>20)

// storableValidator returns an ETag or date, or "" if it is too long to store.
func storableValidator(s string) string {
	if len(s) > 300 || sensor.Line(s, 300) != s {
		return ""
	}
	return s
}

// hideURL removes the address from an error, because it may contain a password.
func hideURL(err error) error {
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		return asked.Err
	}
	return err
}

func hostName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address without a host"
	}
	return sensor.Line(u.Host, 100)
}

func (c cursor) isCurrent(v *version) bool {
	return c.ETag+c.Modified != "" && c.ETag == v.etag && c.Modified == v.modified
}

func (c cursor) unseenItems(items []item) []item {
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

// advanceCursor returns the cursor after some unseen items were reported. After the first look, all items
// count as seen.
func (c cursor) advanceCursor(v *version, told []item, known bool) cursor {
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
	if len(next.unseenItems(v.items)) == 0 {
		next.ETag, next.Modified = v.etag, v.modified
	}
	return next
}

func (f *feed) buildObservations(items []item) []ponder.Observation {
	var seen []ponder.Observation
	for _, it := range items {
		seen = append(seen, ponder.Observation{
			Content: sensor.Line(it.formatText(f.current.title), sensor.MaxText),
			Subject: sensor.Subject(it.id), State: "new", Source: sensor.Line(it.link, 500), Untrusted: !f.Trusted,
		})
	}
	return seen
}
