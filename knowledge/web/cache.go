package web

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"ponder/knowledge/archive"
)

const (
	notePage   = "web.page"
	noteRobots = "web.robots"
)

type record struct {
	URL      string    `json:"-"`
	Final    string    `json:"final"`
	Type     string    `json:"type"` // Content-Type with its charset
	Hash     string    `json:"hash"`
	ETag     string    `json:"etag,omitempty"`
	Modified string    `json:"modified,omitempty"` // Last-Modified
	Cut      bool      `json:"cut,omitempty"`
	Fetched  time.Time `json:"-"` // time of the note
}

type pageCopy struct {
	record
	raw    []byte
	cached bool
}

// maxValidator limits validators to send back.
const maxValidator = 1 << 10

func (c *pageCopy) isYoungerThan(age time.Duration, now time.Time) bool {
	old := now.Sub(c.Fetched)
	return 0 <= old && old < age
}

// findCopy returns the archived copy, or nil.
func (f *Fetcher) findCopy(ctx context.Context, url string) (*pageCopy, error) {
	if f.o.Archive == nil {
		return nil, nil
	}
	value, at, err := f.o.Archive.Note(ctx, notePage, url)
	if errors.Is(err, archive.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := pageCopy{record: record{URL: url, Fetched: at}, cached: true}
	if err := json.Unmarshal(value, &c.record); err != nil {
		return nil, nil //nolint:nilerr // of another version; the page is fetched again
	}
	o, err := f.o.Archive.Get(ctx, c.Hash)
	if errors.Is(err, archive.ErrNone) {
		return nil, nil // removed since
	}
	c.raw = o.Bytes
	return &c, err
}

// savePage makes a page and archives its original. Unreadable answers are not archived.
func (f *Fetcher) savePage(ctx context.Context, url string, a *answer) (*Page, error) {
	c := pageCopy{raw: a.body, record: record{
		URL: url, Final: a.url.String(), Type: a.header.Get("Content-Type"), Cut: a.cut, Fetched: f.currentTime(),
		ETag: boundValidator(a.header.Get("ETag")), Modified: boundValidator(a.header.Get("Last-Modified")),
	}}
	if a.cut {
		c.ETag, c.Modified = "", "" // of the whole page
	}
	page, err := f.buildPage(&c)
	if err != nil {
		return nil, err
	}
	return page, f.saveCopy(ctx, &c, page.Title)
}

// renewPage renews a page after 304.
func (f *Fetcher) renewPage(ctx context.Context, c *pageCopy) (*Page, error) {
	c.Fetched = f.currentTime()
	page, err := f.buildPage(c)
	if err != nil {
		return nil, err
	}
	return page, f.saveCopy(ctx, c, page.Title)
}

func (f *Fetcher) saveCopy(ctx context.Context, c *pageCopy, title string) error {
	if f.o.Archive == nil {
		return nil
	}
	var err error
	c.Hash, err = f.o.Archive.Put(ctx, archive.Original{Type: c.Type, Source: c.Final, Title: title, Fetched: c.Fetched, Bytes: c.raw})
	if err != nil {
		return err
	}
	note, err := json.Marshal(c.record)
	if err != nil {
		return err
	}
	return f.o.Archive.SetNote(ctx, notePage, c.URL, note, c.Fetched)
}

func boundValidator(validator string) string {
	if len(validator) > maxValidator {
		return ""
	}
	return validator
}

// currentTime is truncated to microseconds, like the archive.
func (f *Fetcher) currentTime() time.Time { return f.o.Now().UTC().Truncate(time.Microsecond) }
