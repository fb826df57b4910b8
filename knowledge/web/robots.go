package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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

// Bounds on robots.txt, which no library keeps (docs/design/robots.md): RFC 9309 wants at least 500 KiB to be read.
const (
	maxRobots  = 512 << 10
	maxRules   = 20_000
	maxPattern = 2 << 10
)

// rules are what a robots.txt says to one reader. The zero rules allow all.
type rules struct {
	list  []pathRule
	delay time.Duration // Crawl-delay; 0 if there is none
}

// A pathRule is about the paths that match a pattern: * is anything, and $ at the
// end is the end.
type pathRule struct {
	pattern string
	allow   bool
}

// parseRules reads the groups of a robots.txt that are for the reader token, or,
// if there are none, those for all, as RFC 9309 says. Lines that make no sense
// are skipped.
func parseRules(file []byte, token string) rules {
	var ours, all rules
	named := false                // there is a group for us
	forUs, forAll := false, false // whom the open group is for
	heading := false              // the line before was a user-agent
	for line := range linesOf(file) {
		key, value := line[0], line[1]
		if key == "user-agent" {
			if !heading {
				forUs, forAll = false, false
			}
			heading = true
			forAll = forAll || value == "*"
			if strings.EqualFold(agentToken(value), token) && value != "*" {
				forUs, named = true, true
			}
			continue
		}
		if forUs {
			heading = !ours.add(key, value) && heading
		}
		if forAll {
			heading = !all.add(key, value) && heading
		}
		if !forUs && !forAll && isRule(key) {
			heading = false
		}
	}
	if named {
		return ours
	}
	return all
}

func isRule(key string) bool { return key == "allow" || key == "disallow" || key == "crawl-delay" }

// add adds a line of a group, and reports whether it is one.
func (r *rules) add(key, value string) bool {
	switch {
	case !isRule(key):
		return false
	case key == "crawl-delay":
		if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
			r.delay = time.Duration(min(s, longestRest.Seconds()) * float64(time.Second))
		}
	case value != "" && len(value) <= maxPattern && len(r.list) < maxRules:
		r.list = append(r.list, pathRule{wellFormed(value), key == "allow"})
	}
	return true
}

// linesOf yields the keys, in small letters, and values of a robots.txt.
func linesOf(file []byte) func(yield func([2]string) bool) {
	file = bytes.TrimPrefix(file[:min(len(file), maxRobots)], []byte("\xef\xbb\xbf"))
	return func(yield func([2]string) bool) {
		for len(file) > 0 {
			line := file
			if end := bytes.IndexAny(file, "\r\n"); end >= 0 {
				line, file = file[:end], file[end+1:]
			} else {
				file = nil
			}
			line, _, _ = bytes.Cut(line, []byte("#"))
			key, value, ok := bytes.Cut(line, []byte(":"))
			if !ok {
				continue
			}
			if !yield([2]string{strings.ToLower(string(bytes.TrimSpace(key))), string(bytes.TrimSpace(value))}) {
				return
			}
		}
	}
}

// agentToken returns the name at the beginning of a user agent: letters, - and _.
func agentToken(agent string) string {
	agent = strings.TrimSpace(agent)
	end := 0
	for end < len(agent) {
		c := agent[end] | 0x20
		if (c < 'a' || 'z' < c) && agent[end] != '-' && agent[end] != '_' {
			break
		}
		end++
	}
	return strings.ToLower(agent[:end])
}

// allows reports whether a path, with its query, may be asked for: the longest
// pattern that matches decides, and of two as long the one that allows.
func (r rules) allows(path string) bool {
	best := pathRule{allow: true}
	path = wellFormed(path)
	for _, p := range r.list {
		if len(p.pattern) < len(best.pattern) || len(p.pattern) == len(best.pattern) && !p.allow {
			continue
		}
		if matches(p.pattern, path) {
			best = p
		}
	}
	return best.allow
}

// matches reports whether a pattern matches the beginning of a path, or all of it
// if the pattern ends in $. It is linear but for the search of the pieces.
func matches(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	pieces := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(path, pieces[0])
	if !ok {
		return false
	}
	pieces = pieces[1:]
	if len(pieces) == 0 {
		return !whole || rest == ""
	}
	last := pieces[len(pieces)-1]
	for _, p := range pieces[:len(pieces)-1] {
		at := strings.Index(rest, p)
		if at < 0 {
			return false
		}
		rest = rest[at+len(p):]
	}
	if whole {
		return strings.HasSuffix(rest, last)
	}
	return strings.Contains(rest, last)
}

// wellFormed returns a path with its escapes written in one way: letters beyond
// ASCII are escaped, and what needs no escape is not.
func wellFormed(path string) string {
	const hex = "0123456789ABCDEF"
	plain := true
	for i := range len(path) {
		plain = plain && path[i] < 0x80 && path[i] != '%'
	}
	if plain {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				c, escaped = byte(n), true
				i += 2
			}
		}
		if c >= 0x80 || escaped && !unreserved(c) {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
