package claim

import (
	"regexp"
	"strings"
)

// readFootnote reads a footnote mark [^1] or a footnote at i. A footnote that names a
// gathered source stays without its mark.
func (c *citationCleaner) readFootnote(i int) int {
	if !strings.HasPrefix(c.text[i:], "[^") {
		return 0
	}
	in, end, ok := c.bracketContent(i, "[^", "]")
	if !ok || strings.ContainsAny(in, "[\n") {
		return 0
	}
	if end < len(c.text) && c.text[end] == ':' && c.isLineStart(i) {
		stop := lineEnd(c.text, end)
		if c.namesSource(c.text[end+1 : stop]) {
			return c.dropCitation(i, end+1)
		}
		return c.dropCitation(i, stop)
	}
	return c.dropCitation(i, end)
}

func (c *citationCleaner) isLineStart(i int) bool {
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

func (c *citationCleaner) namesSource(text string) bool {
	for _, id := range idWord.FindAllString(text, 20) {
		if c.isKnownID(strings.ToLower(id)) {
			return true
		}
	}
	for i := range text {
		if n := urlLength(text, i); n > 0 && c.isKnownURL(text[i:i+n]) {
			return true
		}
	}
	return false
}

// readLinkedCitation reads a citation with an address, [1](https://...); the address counts as
// a further citation.
func (c *citationCleaner) readLinkedCitation(i, end int, f citationForm) int {
	if end >= len(c.text) || c.text[end] != '(' {
		return 0
	}
	to := linkEnd(c.text, end)
	if to == 0 {
		return 0
	}
	if target := linkAddress(c.text[end+1 : to-1]); !c.isKnownURL(target) {
		c.reportRemoved(target)
		c.writeCitations(i, end, f)
		c.trimSpaceBefore(to)
		return to - i
	}
	if len(f.ids) == 0 {
		return c.readLink(i, i)
	}
	c.writeCitations(i, end, f)
	return to - i
}

// readLink reads the link, or the image with its bracket, at i. The words of a link with
// an unknown address stay.
func (c *citationCleaner) readLink(start, i int) int {
	end := c.closingBracket(i)
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
		if target := linkAddress(c.text[end+1 : to-1]); !c.isKnownURL(target) {
			c.reportRemoved(target)
			c.write(words)
			return to - start
		}
		if c.hasNestedCitation(words) {
			return 0 // the words first
		}
		c.write(c.text[start:to])
		return to - start
	case end < len(c.text) && c.text[end] == '[':
		if label, to, ok := c.bracketContent(end, "[", "]"); ok && c.removedLabels[strings.ToLower(label)] {
			c.write(words)
			return to - start
		}
	case c.removedLabels[strings.ToLower(words)]:
		c.write(words)
		return end - start
	}
	return 0
}

// readDefinition reads a link definition at i. A definition with an unknown address loses its
// line. A numeric label is always removed.
func (c *citationCleaner) readDefinition(i int, in string, end int, f citationForm) int {
	if end >= len(c.text) || c.text[end] != ':' || !c.isLineStart(i) {
		return 0
	}
	if c.removedLabels[strings.ToLower(in)] {
		return c.dropCitation(i, lineEnd(c.text, end))
	}
	if f.numbers && definition.MatchString(c.text[i:lineEnd(c.text, end)]) {
		return c.dropCitation(i, end+1)
	}
	return 0
}

func (c *citationCleaner) hasNestedCitation(words string) bool {
	if strings.ContainsAny(words, "[【<") {
		return true
	}
	if idWord.MatchString(words) || strings.ContainsFunc(words, isRaised) {
		return true
	}
	for i := range words {
		if n := urlLength(words, i); n > 0 && !c.isLinkable(words[i:i+n]) {
			return true
		}
	}
	return false
}

func (c *citationCleaner) closingBracket(i int) int {
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

func linkAddress(in string) string {
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

func (c *citationCleaner) unknownLabels() map[string]bool {
	var labels map[string]bool
	for _, m := range definition.FindAllStringSubmatch(c.text, 1000) {
		to := strings.Trim(m[2], "<>")
		if urlLength(to, 0) > 0 && !c.isKnownURL(to) {
			if labels == nil {
				labels = make(map[string]bool)
			}
			labels[strings.ToLower(m[1])] = true
		}
	}
	return labels
}

func (c *citationCleaner) readTag(i int) int {
	n := tagLength(c.text[i:])
	if n == 0 {
		return 0
	}
	in := c.text[i+1 : i+n-1]
	low := strings.ToLower(in)
	switch {
	case urlLength(in, 0) == len(in):
		if c.isKnownURL(in) {
			c.write(c.text[i : i+n])
			return n
		}
		return c.dropWords(i, i+n)
	case low == "/a":
		if c.openTags > 0 {
			c.openTags--
			return 0
		}
		return n
	case strings.HasPrefix(low, "a ") || strings.HasPrefix(low, "img ") || strings.HasPrefix(low, "a\n") || strings.HasPrefix(low, "iframe "):
		if to := tagSource.FindStringSubmatch(in); to != nil && c.isKnownURL(strings.Trim(to[1], `"'`)) {
			if low[0] == 'a' {
				c.openTags++
			}
			c.write(c.text[i : i+n])
			return n
		}
		return c.dropCitation(i, i+n)
	case low == "sup":
		if m := raisedTag.FindString(c.text[i:min(len(c.text), i+maxCitation)]); m != "" && !canTakeExponent(c.text[:i]) {
			return c.dropCitation(i, i+len(m))
		}
	}
	return 0
}

var tagSource = regexp.MustCompile(`(?i)(?:href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)`)

// removeAddress removes an unknown address at i.
func (c *citationCleaner) removeAddress(i int) int {
	n := urlLength(c.text, i)
	if n == 0 && strings.HasPrefix(c.text[i:], "//") && i+2 < len(c.text) {
		if n = urlLength(c.text, i+2); n > 0 {
			return c.dropWords(i, i+2+n)
		}
	}
	if n == 0 {
		return 0
	}
	if c.isLinkable(c.text[i : i+n]) {
		c.write(c.text[i : i+n])
		return n
	}
	return c.dropWords(i, i+n)
}
