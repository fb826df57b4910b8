package links

import (
	"html"
	"regexp"
	"strings"
)

// readDestination reads the parenthesis after a bracket. The title of a link is left out.
func (f *Filter) readDestination(in []byte, more bool) int {
	d, ok := parseDestination(in, more)
	switch {
	case !ok:
		return 0
	case d.size == 0 && d.end > 0: // []()
		f.emitText(in[:d.end])
		return d.end
	case d.end > 0 && f.allows(d.address):
		f.hasLabel = false
		if isLocal(d.address) {
			d.raw = d.address // without angle brackets, which may be a tag
		}
		if link := "(" + d.raw + ")"; link != string(in[:d.end]) && f.isActive() {
			f.emitText([]byte(link))
		} else {
			f.emitText(in[:d.end])
		}
		return d.end
	case !f.isActive():
		f.emitText(in[:1])
		return 1
	}
	f.hasLabel = false
	f.emitText([]byte(" ("))
	if d.end == 0 || strings.ContainsAny(d.raw, "`\n") {
		return 1
	}
	f.emitCode([]byte(strings.TrimSuffix(strings.TrimPrefix(d.raw, "<"), ">")))
	return d.size
}

// allows reports whether a link to an address may stay with its text.
func (f *Filter) allows(address string) bool {
	if isLocal(address) {
		return true
	}
	return f.policy.Knows(address, false) && !f.isDeceptive(address)
}

var labelHost = regexp.MustCompile(`(?i)^(?:[a-z][a-z0-9+.-]*://|//|www\.|\S*\.(?:com|org|net|edu|gov|info|io|co|dev|app)(?:[:/?#]|$))`)

// isDeceptive reports whether the text of a link is an address of another host.
func (f *Filter) isDeceptive(address string) bool {
	text := strings.Trim(string(f.label), " \t\n[]*_`")
	text = strings.TrimSpace(html.UnescapeString(text))
	if !labelHost.MatchString(text) || strings.ContainsAny(text, " \t\n") {
		return false
	}
	shown, ok := Key(text)
	target, known := Key(address)
	return ok && known && hostOf(shown) != hostOf(target)
}

// A destination is the address of a link, and the end of the link.
type destination struct {
	raw, address string
	size         int // bytes until the end of the address
	end          int // after the closing parenthesis; 0: this is no link
}

// parseDestination reads "(address)" or "(address "title")".
func parseDestination(in []byte, more bool) (d destination, ok bool) {
	at := 1 + spaceLength(in[1:])
	start := at
	n, ok := addressLength(in[at:], more)
	if !ok {
		return d, false
	}
	at += n
	address := in[start:at]
	if d.size = at; n == 0 {
		d.size = 0
	}
	spaces := spaceLength(in[at:])
	at += spaces
	if at == len(in) {
		return d, !more
	}
	if spaces > 0 && strings.IndexByte(`"'(`, in[at]) >= 0 {
		closing := in[at]
		if closing == '(' {
			closing = ')'
		}
		at++
		for at < len(in) && in[at] != closing {
			if in[at] == '\n' && (at+1 == len(in) || in[at+1] == '\n') && !(at+1 == len(in) && more) {
				return d, true
			}
			if in[at] == '\\' {
				at++
			}
			at++
		}
		at += 1
		if at <= len(in) {
			at += spaceLength(in[at:])
		}
		if at >= len(in) {
			return d, !more
		}
	}
	if in[at] == ')' {
		d.end, d.raw, d.address = at+1, string(address), unescape(address)
	}
	return d, true
}

// spaceLength returns the length of white space with at most one line end.
func spaceLength(in []byte) (n int) {
	lines := 0
	for n < len(in) && strings.IndexByte(" \t\r\n", in[n]) >= 0 {
		if in[n] == '\n' {
			if lines++; lines > 1 {
				return n
			}
		}
		n++
	}
	return n
}

// addressLength returns the length of the address of a link or a definition.
func addressLength(in []byte, more bool) (n int, ok bool) {
	if len(in) == 0 {
		return 0, !more
	}
	isAngle, depth := in[0] == '<', 0
	for n < len(in) {
		switch c := in[n]; {
		case c == '\\' && n+1 == len(in):
			return n + 1, !more
		case c == '\\' && isPunct(in[n+1]):
			n++
		case isAngle && c == '>':
			return n + 1, true
		case isAngle && (c == '\n' || c == '<' && n > 0):
			return 0, true
		case isAngle:
		case c <= ' ', c == 0x7f, c == ')' && depth == 0:
			return n, true
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		n++
	}
	return n, !more
}

// unescape returns an address without brackets, escapes and entities.
func unescape(raw []byte) string {
	s := string(raw)
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">") {
		s = s[1 : len(s)-1]
	}
	if strings.ContainsAny(s, "\\&") {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' && i+1 < len(s) && isPunct(s[i+1]) {
				i++
			}
			b.WriteByte(s[i])
		}
		s = html.UnescapeString(b.String())
	}
	return s
}

// readDefinition separates a colon from the bracket before it if they may define the address of
// a reference. isCertain is unset while more input decides.
func (f *Filter) readDefinition(in []byte, more bool) (isCertain bool) {
	at, lines := 1, 0
	for at < len(in) && strings.IndexByte(" \t\r\n>", in[at]) >= 0 && lines < 2 {
		if in[at] == '\n' {
			lines++
		}
		at++
	}
	size := 0
	for at+size < len(in) && in[at+size] > ' ' {
		size++
	}
	end := at + size
	for end < len(in) && (in[end] == ' ' || in[end] == '\t') {
		end++
	}
	if end == len(in) && more {
		return false
	}
	f.isClosed = false
	if size == 0 || lines > 1 || end < len(in) && strings.IndexByte("\r\n\"'(", in[end]) < 0 {
		return true // no definition
	}
	if address := unescape(in[at : at+size]); !isLocal(address) && !f.policy.Knows(address, false) && f.isActive() {
		f.emit(' ')
	}
	return true
}
