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

// Lifetimes of a robots.txt: normal (RFC 9309, 2.4), while the host fails, and of a
// failure.
const (
	robotsAge     = 24 * time.Hour
	robotsStale   = 30 * 24 * time.Hour
	robotsTrouble = time.Minute
	robotsHops    = 5
	maxCrawlDelay = 10 * time.Second
)

type robots struct {
	token string // our name

	mu sync.Mutex
	by map[string]*origin
}

type origin struct {
	turn    chan struct{} // its holder may use the other fields
	at      time.Time     // last request; zero: never
	rules   rules
	trouble int // status of a failure without rules
}

func newRobots(token string) *robots { return &robots{token: token, by: map[string]*origin{}} }

// of returns an origin, held until release.
func (r *robots) of(ctx context.Context, name string) (o *origin, release func(), err error) {
	r.mu.Lock()
	o = r.by[name]
	if o == nil {
		if len(r.by) >= manyHosts {
			clear(r.by) // the archive has it too
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

type robotsNote struct {
	Status int    `json:"status"`
	Lines  string `json:"lines,omitempty"`
}

// allowed checks a URL against robots.txt and returns the host's delay, bounded.
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

// ask tries the archive first.
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

// robotsFile returns an empty file if it is missing or in a redirect loop. It uses the
// visit's time.
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

func linesThatCount(file []byte) string {
	var b strings.Builder
	for line := range linesOf(file) {
		if key := line[0]; key == "user-agent" || isRule(key) {
			b.WriteString(key + ": " + line[1] + "\n")
		}
	}
	return b.String()
}

// Bounds on robots.txt; RFC 9309 requires at least 500 KiB. For the parser see
// docs/design/robots.md.
const (
	maxRobots  = 512 << 10
	maxRules   = 20_000
	maxPattern = 2 << 10
)

// rules are those for one reader; the zero rules allow all.
type rules struct {
	list  []pathRule
	delay time.Duration // Crawl-delay, or 0
}

// A pathRule has a pattern with * for anything and a final $ for the end.
type pathRule struct {
	pattern string
	allow   bool
}

// parseRules reads the groups for token, or else those for all (RFC 9309). It skips
// invalid lines.
func parseRules(file []byte, token string) rules {
	var ours, all rules
	named := false                // a group has our name
	forUs, forAll := false, false // the open group applies
	heading := false              // the previous line was a user-agent
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

// linesOf yields lower-case keys and values.
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

// agentToken returns the leading letters, - and _ of a user agent.
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

// allows uses the longest match, of equals the one that allows.
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

// matches matches a prefix of path, or with a final $ all, in about linear time.
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

// wellFormed escapes bytes beyond ASCII and unescapes unreserved ones.
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
