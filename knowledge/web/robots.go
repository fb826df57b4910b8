package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ponder/knowledge/archive"
)

// How long what a robots.txt said holds (RFC 9309, 2.4), how long it does if the
// host cannot say it any more, and how long a host in trouble is not asked.
const (
	robotsAge     = 24 * time.Hour
	robotsStale   = 30 * 24 * time.Hour
	robotsTrouble = time.Minute
	robotsHops    = 5
	maxCrawlDelay = 10 * time.Second
)

// robots remembers what hosts say in their robots.txt.
type robots struct {
	token string // our name

	mu sync.Mutex
	by map[string]*origin
}

// An origin is a scheme, a host and a port, which have a robots.txt.
type origin struct {
	turn    chan struct{} // who holds its token may look into the rest
	at      time.Time     // when it was asked; zero: never
	rules   rules
	trouble int // the status, if it has no rules because of an error of its own
}

func newRobots(token string) *robots { return &robots{token: token, by: map[string]*origin{}} }

// of returns what is remembered of an origin, held for the caller until release.
func (r *robots) of(ctx context.Context, name string) (o *origin, release func(), err error) {
	r.mu.Lock()
	o = r.by[name]
	if o == nil {
		if len(r.by) >= manyHosts {
			clear(r.by) // it is all in the archive, too
		}
		o = &origin{turn: make(chan struct{}, 1)}
		r.by[name] = o
	}
	r.mu.Unlock()
	select {
	case o.turn <- struct{}{}:
		return o, func() { <-o.turn }, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// A robotsNote is what is noted of a robots.txt.
type robotsNote struct {
	Status int    `json:"status"`
	Lines  string `json:"lines,omitempty"` // those that count
}

// allowed asks whether a URL may be fetched, and returns the delay that the host
// wants between two requests, within reason.
func (v *visit) allowed(ctx context.Context, u *url.URL) (delay time.Duration, err error) {
	f := v.f
	name := u.Scheme + "://" + u.Host
	o, release, err := f.robots.of(ctx, name)
	if err != nil {
		return 0, err
	}
	defer release()
	now := f.o.Now()
	age := robotsAge
	if o.trouble != 0 {
		age = robotsTrouble
	}
	if o.at.IsZero() || now.Sub(o.at) >= age || now.Before(o.at) {
		if err := v.ask(ctx, name, o, now); err != nil {
			return 0, err
		}
	}
	switch {
	case o.trouble != 0:
		return 0, fmt.Errorf("%w: it cannot be read: %w", ErrRobots, &StatusError{Code: o.trouble})
	case !o.rules.allows(u.RequestURI()):
		return 0, ErrRobots
	}
	return min(o.rules.delay, maxCrawlDelay), nil
}

// ask finds out what a robots.txt says, from what is noted or from the host.
func (v *visit) ask(ctx context.Context, name string, o *origin, now time.Time) error {
	f := v.f
	known, at, err := f.robotsNoted(ctx, name)
	if err != nil {
		return err
	}
	if known != nil && now.Sub(at) < robotsAge && !now.Before(at) {
		o.at, o.trouble, o.rules = at, 0, parseRules([]byte(known.Lines), f.robots.token)
		return nil
	}
	status, file, err := v.robotsFile(ctx, name)
	if err != nil {
		return fmt.Errorf("look for robots.txt: %w", err)
	}
	o.at, o.trouble, o.rules = now, 0, rules{}
	switch {
	case status < 500 && status != http.StatusTooManyRequests:
		note := robotsNote{Status: status, Lines: linesThatCount(file)}
		o.rules = parseRules([]byte(note.Lines), f.robots.token)
		return f.noteRobots(ctx, name, note, now)
	case known != nil && now.Sub(at) < robotsStale:
		o.rules = parseRules([]byte(known.Lines), f.robots.token)
	default:
		o.trouble = status
	}
	return nil
}

// robotsFile fetches a robots.txt. A host without one, or that leads us around
// in circles, has an empty one. It takes of the time of the visit.
func (v *visit) robotsFile(ctx context.Context, name string) (status int, file []byte, err error) {
	u, err := url.Parse(name + "/robots.txt")
	if err != nil {
		return 0, nil, err
	}
	r := v.f.visit(nil)
	r.left, r.wait, r.hops, r.obey = v.left, v.wait, robotsHops, false
	r.takes = func(*http.Response) (ration, error) { return ration{maxRobots, true}, nil }
	a, err := r.follow(ctx, u)
	v.left, v.wait = r.left, r.wait
	switch {
	case errors.Is(err, ErrCircle):
		return http.StatusNotFound, nil, nil
	case err != nil:
		return 0, nil, err
	}
	return a.status, a.body, nil
}

func (f *Fetcher) robotsNoted(ctx context.Context, name string) (*robotsNote, time.Time, error) {
	if f.o.Archive == nil {
		return nil, time.Time{}, nil
	}
	value, at, err := f.o.Archive.Note(ctx, noteRobots, name)
	if errors.Is(err, archive.ErrNone) {
		return nil, time.Time{}, nil
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	var n robotsNote
	if err := json.Unmarshal(value, &n); err != nil {
		return nil, time.Time{}, nil //nolint:nilerr // of another version: the host is asked anew
	}
	return &n, at, nil
}

func (f *Fetcher) noteRobots(ctx context.Context, name string, n robotsNote, now time.Time) error {
	if f.o.Archive == nil {
		return nil
	}
	value, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return f.o.Archive.SetNote(ctx, noteRobots, name, value, now)
}

// linesThatCount returns the lines of a robots.txt that [parseRules] looks at.
func linesThatCount(file []byte) string {
	var b strings.Builder
	for line := range linesOf(file) {
		if key := line[0]; key == "user-agent" || isRule(key) {
			b.WriteString(key + ": " + line[1] + "\n")
		}
	}
	return b.String()
}
