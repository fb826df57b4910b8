package redact

import "strings"

// Where private keys begin and end.
const (
	blockBegin = "-----BEGIN "
	blockEnd   = "-----END "
	dashes     = "-----"
	maxLabel   = 50
)

// blocks returns private keys in PEM and its like, also those that are cut off.
func blocks(text string) (spans []span) {
	endless := false // no end comes any more
	for at := 0; ; {
		i := strings.Index(text[at:], blockBegin)
		if i < 0 {
			return spans
		}
		from := at + i
		at = from + len(blockBegin)
		body, ok := private(text, at)
		if !ok {
			continue
		}
		at = body
		end := -1
		if !endless {
			end = strings.Index(text[body:], blockEnd)
			endless = end < 0
		}
		switch {
		case end >= 0:
			at = body + end + len(blockEnd)
			if _, close, ok := label(text, at); ok {
				at = close
			}
		default:
			if at = material(text, body); at == body {
				continue
			}
		}
		spans = append(spans, span{from, at, PrivateKey})
	}
}

// private returns where the body of a private key begins whose label is at at.
func private(text string, at int) (body int, ok bool) {
	name, body, ok := label(text, at)
	return body, ok && strings.Contains(name, "PRIVATE KEY")
}

// label returns what stands before the dashes at the end of a line, and where they
// end.
func label(text string, at int) (name string, end int, ok bool) {
	near := text[at:min(len(text), at+maxLabel)]
	i := strings.Index(near, dashes)
	if i < 0 {
		return "", 0, false
	}
	return near[:i], at + i + len(dashes), true
}

// material returns where what may be the lines of a key ends: words of at least 16
// bytes of base64, and one shorter after them.
func material(text string, from int) int {
	end, long := from, false
	for at := from; at < len(text); {
		start := blank(text, at)
		stop := run(text, start, base64ish, 0)
		switch {
		case stop-start >= 16:
			end, long = stop, true
		case stop > start && long:
			return stop
		default:
			return end
		}
		at = stop
	}
	return end
}

// blank returns where white space ends, and breaks of lines that are written out.
func blank(text string, at int) int {
	for at < len(text) {
		switch {
		case strings.HasPrefix(text[at:], `\n`), strings.HasPrefix(text[at:], `\r`):
			at += 2
		case strings.IndexByte(" \t\r\n", text[at]) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}
