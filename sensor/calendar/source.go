package calendar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/sensor"
)

// A localFile is an ICS file or a folder of ICS files.
type localFile struct {
	path  string
	cache cache
}

const maxFiles = 5000 // per folder

func (f *localFile) displayLocation() string { return f.path }
func (f *localFile) isComplete() bool        { return true }

func (f *localFile) lookupUID(context.Context, string) ([]*object, error) { return nil, nil }

func (f *localFile) readObjects(ctx context.Context, _, _ time.Time) ([]*object, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, fmt.Errorf("read the calendar: %w", err)
	}
	if info.IsDir() {
		return f.readFolder(ctx)
	}
	b, err := readFile(f.path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read the calendar: %w", err)
	}
	objects, err := f.cache.parseCached(b)
	if err != nil {
		return nil, fmt.Errorf("read the calendar %s: %w", f.path, err)
	}
	return objects, ctx.Err()
}

// readFolder reads each ICS file of a folder as a calendar.
func (f *localFile) readFolder(ctx context.Context) (all []*object, err error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, fmt.Errorf("read the folder of calendars: %w", err)
	}
	left := maxFile
	for n, e := range entries {
		if !e.Type().IsRegular() || !strings.EqualFold(filepath.Ext(e.Name()), ".ics") {
			continue
		}
		path := filepath.Join(f.path, e.Name())
		b, err := readFile(path, left)
		if err != nil || n > maxFiles {
			return nil, fmt.Errorf("read the calendar %s: %w", path, errors.Join(err, ctx.Err()))
		}
		left -= len(b)
		objects, err := parseCalendar(b)
		if err != nil {
			return nil, fmt.Errorf("read the calendar %s: %w", path, err)
		}
		if all = append(all, objects...); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return all, nil
}

func readFile(path string, maxBytes int) ([]byte, error) {
	f, err := fileio.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(&limitio.Reader{R: f, Left: int64(maxBytes), Err: errTooLarge})
}

// A remoteFile is an ICS file at a URL. The URL may be a secret, so only its host is shown.
type remoteFile struct {
	client   Client
	url      *url.URL
	cache    cache
	tag      string // ETag of the cached file
	modified string
}

func newRemoteFile(o Options) (*remoteFile, error) {
	u, err := parseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	return &remoteFile{client: o.Client, url: u}, nil
}

func parseAddress(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil, errors.New("calendar: invalid address; use one such as https://example.org/calendar.ics")
	}
	switch u.Scheme {
	case "webcal", "webcals":
		u.Scheme = "https"
	case "http", "https":
	default:
		return nil, errors.New("calendar: the address must begin with https://")
	}
	return u, nil
}

func (p *remoteFile) displayLocation() string { return p.url.Scheme + "://" + p.url.Host + "/" }
func (p *remoteFile) isComplete() bool        { return true }

func (p *remoteFile) lookupUID(context.Context, string) ([]*object, error) { return nil, nil }

func (p *remoteFile) readObjects(ctx context.Context, _, _ time.Time) ([]*object, error) {
	objects, err := p.fetchFile(ctx)
	if err != nil {
		return nil, withoutURL("read the calendar at "+p.url.Host, err)
	}
	return objects, nil
}

func (p *remoteFile) fetchFile(ctx context.Context) ([]*object, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/calendar, */*;q=0.1")
	if p.cache.objects != nil {
		if p.tag != "" {
			req.Header.Set("If-None-Match", p.tag)
		}
		if p.modified != "" {
			req.Header.Set("If-Modified-Since", p.modified)
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && p.cache.objects != nil {
		return p.cache.objects, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, statusMessage(resp.StatusCode)
	}
	b, err := io.ReadAll(&limitio.Reader{R: resp.Body, Left: maxFile, Err: errTooLarge})
	if err != nil {
		return nil, err
	}
	objects, err := p.cache.parseCached(b)
	if err == nil {
		p.tag, p.modified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	}
	return objects, err
}

// statusMessage describes an unexpected status and its remedy.
func statusMessage(code int) error {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("the server refuses access (status %d); check the address, the user and the variable named by password_env", code)
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("no calendar found (status %d); check the address", code)
	}
	return fmt.Errorf("the server answers with status %d; wait, or check the address", code)
}

// withoutURL returns err as one line without the URL.
func withoutURL(what string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, errTooLarge} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", what, known)
		}
	}
	return errors.New(sensor.Line(what+": "+err.Error(), 300))
}
