package claim

import (
	"regexp"
	"strings"
)

// footnote reads a footnote mark [^1] or a footnote at i. A footnote that names a
// gathered source stays without its mark.
func (c *citer) footnote(i int) int {
	if !strings.HasPrefix(c.text[i:], "[^") {
		return 0
	}
	in, end, ok := c.inside(i, "[^", "]")
	if !ok || strings.ContainsAny(in, "[\n") {
		return 0
	}
	if end < len(c.text) && c.text[end] == ':' && c.begins(i) {
		stop := lineEnd(c.text, end)
		if c.names(c.text[end+1 : stop]) {
			return c.drop(i, end+1)
		}
		return c.drop(i, stop)
	}
	return c.drop(i, end)
}

func (c *citer) begins(i int) bool {
	for i > 0 && (c.text[i-1] == ' ' || c.text[i-1] == '>') {
		i--
	}
	return i == 0 || c.text[i-1] == '\n'
}

func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

func (c *citer) names(text string) bool {
	for _, id := range idWord.FindAllString(text, 20) {
		if c.id(strings.ToLower(id)) {
			return true
		}
	}
	for i := range text {
		if n := urlAt(text, i); n > 0 && c.url(text[i:i+n]) {
			return true
		}
	}
	return false
}

// addressed reads a citation with an address, [1](https://...); the address counts as
// a further citation.
func (c *citer) addressed(i, end int, f form) int {
	if end >= len(c.text) || c.text[end] != '(' {
		return 0
	}
	to := linkEnd(c.text, end)
	if to == 0 {
		return 0
	}
	if target := address(c.text[end+1 : to-1]); !c.url(target) {
		c.report(target)
		c.cite(i, end, f)
		c.space(to)
		return to - i
	}
	if len(f.ids) == 0 {
		return c.linked(i, i)
	}
	c.cite(i, end, f)
	return to - i
}

// linked reads the link, or the image with its bracket, at i. The words of a link with
// an unknown address stay.
func (c *citer) linked(start, i int) int {
	end := c.closes(i)
	if end == 0 {
		return 0
	}
	words := c.text[i+1 : end-1]
	switch {
	case end < len(c.text) && c.text[end] == '(':
		to := linkEnd(c.text, end)
		if to == 0 {
			return 0
		}
		if target := address(c.text[end+1 : to-1]); !c.url(target) {
			c.report(target)
			c.write(words)
			return to - start
		}
		if c.nested(words) {
			return 0 // the words first
		}
		c.write(c.text[start:to])
		return to - start
	case end < len(c.text) && c.text[end] == '[':
		if label, to, ok := c.inside(end, "[", "]"); ok && c.labels[strings.ToLower(label)] {
			c.write(words)
			return to - start
		}
	case c.labels[strings.ToLower(words)]:
		c.write(words)
		return end - start
	}
	return 0
}

// defined reads a link definition at i. A definition with an unknown address loses its
// line. A numeric label is always removed.
func (c *citer) defined(i int, in string, end int, f form) int {
	if end >= len(c.text) || c.text[end] != ':' || !c.begins(i) {
		return 0
	}
	if c.labels[strings.ToLower(in)] {
		return c.drop(i, lineEnd(c.text, end))
	}
	if f.numbers && definition.MatchString(c.text[i:lineEnd(c.text, end)]) {
		return c.drop(i, end+1)
	}
	return 0
}

func (c *citer) nested(words string) bool {
	if strings.ContainsAny(words, "[【<") {
		return true
	}
	if idWord.MatchString(words) || strings.ContainsFunc(words, raised) {
		return true
	}
	for i := range words {
		if n := urlAt(words, i); n > 0 && !c.linkable(words[i:i+n]) {
			return true
		}
	}
	return false
}

func (c *citer) closes(i int) int {
	depth := 0
	for j := i; j < min(len(c.text), i+1024); j++ {
		switch c.text[j] {
		case '\\':
			j++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return j + 1
			}
		case '\n':
			if strings.HasPrefix(c.text[j:], "\n\n") {
				return 0
			}
		}
	}
	return 0
}

func address(in string) string {
	in = strings.TrimSpace(in)
	if rest, ok := strings.CutPrefix(in, "<"); ok {
		if end := strings.IndexByte(rest, '>'); end >= 0 {
			return rest[:end]
		}
	}
	if f := strings.Fields(in); len(f) > 0 {
		return f[0]
	}
	return ""
}

var definition = regexp.MustCompile(`(?m)^[ >]{0,8}\[([^\]\n]{1,200})\]:[ \t]*(\S+).*$`)

func (c *citer) unknownLabels() map[string]bool {
	var labels map[string]bool
	for _, m := range definition.FindAllStringSubmatch(c.text, 1000) {
		to := strings.Trim(m[2], "<>")
		if urlAt(to, 0) > 0 && !c.url(to) {
			if labels == nil {
				labels = make(map[string]bool)
			}
			labels[strings.ToLower(m[1])] = true
		}
	}
	return labels
}

func (c *citer) tagged(i int) int {
	n := tag(c.text[i:])
	if n == 0 {
		return 0
	}
	in := c.text[i+1 : i+n-1]
	low := strings.ToLower(in)
	switch {
	case urlAt(in, 0) == len(in):
		if c.url(in) {
			c.write(c.text[i : i+n])
			return n
		}
		return c.dropWords(i, i+n)
	case low == "/a":
		if c.open > 0 {
			c.open--
			return 0
		}
		return n
	case strings.HasPrefix(low, "a ") || strings.HasPrefix(low, "img ") || strings.HasPrefix(low, "a\n") || strings.HasPrefix(low, "iframe "):
		if to := tagSource.FindStringSubmatch(in); to != nil && c.url(strings.Trim(to[1], `"'`)) {
			if low[0] == 'a' {
				c.open++
			}
			c.write(c.text[i : i+n])
			return n
		}
		return c.drop(i, i+n)
	case low == "sup":
		if m := raisedTag.FindString(c.text[i:min(len(c.text), i+maxCitation)]); m != "" && !unitBefore(c.text[:i]) {
			return c.drop(i, i+len(m))
		}
	}
	return 0
}

var tagSource = regexp.MustCompile(`(?i)(?:href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)`)

// address removes an unknown address at i.
func (c *citer) address(i int) int {
	n := urlAt(c.text, i)
	if n == 0 && strings.HasPrefix(c.text[i:], "//") && i+2 < len(c.text) {
		if n = urlAt(c.text, i+2); n > 0 {
			return c.dropWords(i, i+2+n)
		}
	}
	if n == 0 {
		return 0
	}
	if c.linkable(c.text[i : i+n]) {
		c.write(c.text[i : i+n])
		return n
	}
	return c.dropWords(i, i+n)
}
