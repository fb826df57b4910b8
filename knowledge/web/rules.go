package web

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

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
