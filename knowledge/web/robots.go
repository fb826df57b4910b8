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
	robotsAge        = 24 * time.Hour
	robotsStale      = 30 * 24 * time.Hour
	robotsFailureAge = time.Minute
	robotsHops       = 5
	maxCrawlDelay    = 10 * time.Second
)

type robots struct {
	token string // our name

	mu      sync.Mutex
	origins map[string]*origin
}

type origin struct {
	turn         chan struct{} // its holder may use the other fields
	checkedAt    time.Time     // last request; zero: never
	rules        rules
	failedStatus int // status of a failure without rules
}

func newRobots(token string) *robots { return &robots{token: token, origins: map[string]*origin{}} }

// acquireOrigin returns an origin, held until release.
func (r *robots) acquireOrigin(ctx context.Context, name string) (o *origin, release func(), err error) {
	r.mu.Lock()
	o = r.origins[name]
	if o == nil {
		if len(r.origins) >= cleanupHosts {
			clear(r.origins) // the archive has it too
		}
		o = &origin{turn: make(chan struct{}, 1)}
		r.origins[name] = o
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

// checkRobots checks a URL against robots.txt and returns the host's delay, bounded.
func (v *fetchAttempt) checkRobots(ctx context.Context, u *url.URL) (delay time.Duration, err error) {
	f := v.f
	name := u.Scheme + "://" + u.Host
	o, release, err := f.robots.acquireOrigin(ctx, name)
	if err != nil {
		return 0, err
	}
	defer release()
	now := f.o.Now()
	age := robotsAge
	if o.failedStatus != 0 {
		age = robotsFailureAge
	}
	if o.checkedAt.IsZero() || now.Sub(o.checkedAt) >= age || now.Before(o.checkedAt) {
		if err := v.loadRobots(ctx, name, o, now); err != nil {
			return 0, err
		}
	}
	switch {
	case o.failedStatus != 0:
		return 0, fmt.Errorf("%w: robots.txt is unreadable: %w", ErrRobots, &StatusError{Code: o.failedStatus})
	case !o.rules.allowsPath(u.RequestURI()):
		return 0, ErrRobots
	}
	return min(o.rules.delay, maxCrawlDelay), nil
}

// loadRobots tries the archive first.
func (v *fetchAttempt) loadRobots(ctx context.Context, name string, o *origin, now time.Time) error {
	f := v.f
	known, at, err := f.findRobotsNote(ctx, name)
	if err != nil {
		return err
	}
	if known != nil && now.Sub(at) < robotsAge && !now.Before(at) {
		o.checkedAt, o.failedStatus, o.rules = at, 0, parseRules([]byte(known.Lines), f.robots.token)
		return nil
	}
	status, file, err := v.fetchRobots(ctx, name)
	if err != nil {
		return fmt.Errorf("load robots.txt: %w", err)
	}
	o.checkedAt, o.failedStatus, o.rules = now, 0, rules{}
	switch {
	case status < 500 && status != http.StatusTooManyRequests:
		note := robotsNote{Status: status, Lines: relevantLines(file)}
		o.rules = parseRules([]byte(note.Lines), f.robots.token)
		return f.saveRobotsNote(ctx, name, note, now)
	case known != nil && now.Sub(at) < robotsStale:
		o.rules = parseRules([]byte(known.Lines), f.robots.token)
	default:
		o.failedStatus = status
	}
	return nil
}

// fetchRobots returns an empty file if it is missing or in a redirect loop. It uses the
// visit's time.
func (v *fetchAttempt) fetchRobots(ctx context.Context, name string) (status int, file []byte, err error) {
	u, err := url.Parse(name + "/robots.txt")
	if err != nil {
		return 0, nil, err
	}
	r := v.f.newAttempt(nil)
	r.timeLeft, r.waitLeft, r.hops, r.obeyRobots = v.timeLeft, v.waitLeft, robotsHops, false
	r.limitBody = func(*http.Response) (bodyLimit, error) { return bodyLimit{maxRobots, true}, nil }
	a, err := r.followRedirects(ctx, u)
	v.timeLeft, v.waitLeft = r.timeLeft, r.waitLeft
	switch {
	case errors.Is(err, ErrTooManyRedirects):
		return http.StatusNotFound, nil, nil
	case err != nil:
		return 0, nil, err
	}
	return a.status, a.body, nil
}

func (f *Fetcher) findRobotsNote(ctx context.Context, name string) (*robotsNote, time.Time, error) {
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
		return nil, time.Time{}, nil //nolint:nilerr // of another version; the host is requested again
	}
	return &n, at, nil
}

func (f *Fetcher) saveRobotsNote(ctx context.Context, name string, n robotsNote, now time.Time) error {
	if f.o.Archive == nil {
		return nil
	}
	value, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return f.o.Archive.SetNote(ctx, noteRobots, name, value, now)
}

func relevantLines(file []byte) string {
	var b strings.Builder
	for line := range robotsLines(file) {
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
	for line := range robotsLines(file) {
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
			heading = !ours.addRule(key, value) && heading
		}
		if forAll {
			heading = !all.addRule(key, value) && heading
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

func (r *rules) addRule(key, value string) bool {
	switch {
	case !isRule(key):
		return false
	case key == "crawl-delay":
		if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
			r.delay = time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second))
		}
	case value != "" && len(value) <= maxPattern && len(r.list) < maxRules:
		r.list = append(r.list, pathRule{normalizePath(value), key == "allow"})
	}
	return true
}

// robotsLines yields lower-case keys and values.
func robotsLines(file []byte) func(yield func([2]string) bool) {
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

// allowsPath uses the longest match, of equals the one that allows.
func (r rules) allowsPath(path string) bool {
	best := pathRule{allow: true}
	path = normalizePath(path)
	for _, p := range r.list {
		if len(p.pattern) < len(best.pattern) || len(p.pattern) == len(best.pattern) && !p.allow {
			continue
		}
		if matchesPattern(p.pattern, path) {
			best = p
		}
	}
	return best.allow
}

// matchesPattern matches a prefix of path, or with a final $ all, in about linear time.
func matchesPattern(pattern, path string) bool {
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

// normalizePath escapes bytes beyond ASCII and unescapes unreserved ones.
func normalizePath(path string) string {
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
		if c >= 0x80 || escaped && !isUnreserved(c) {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
