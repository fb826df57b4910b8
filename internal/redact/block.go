package redact

import "strings"

// Delimiters of private keys.
const (
	blockBegin = "-----BEGIN "
	blockEnd   = "-----END "
	dashes     = "-----"
	maxLabel   = 50
)

// findKeyBlocks returns private keys in PEM and similar formats, also truncated ones.
func findKeyBlocks(text string) (spans []span) {
	endless := false // no end marker follows
	for at := 0; ; {
		i := strings.Index(text[at:], blockBegin)
		if i < 0 {
			return spans
		}
		from := at + i
		at = from + len(blockBegin)
		body, ok := privateBody(text, at)
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
			if _, close, ok := blockLabel(text, at); ok {
				at = close
			}
		default:
			if at = keyMaterial(text, body); at == body {
				continue
			}
		}
		spans = append(spans, span{from, at, PrivateKey})
	}
}

// privateBody returns the start of the body if the label at at is that of a private key.
func privateBody(text string, at int) (body int, ok bool) {
	name, body, ok := blockLabel(text, at)
	return body, ok && strings.Contains(name, "PRIVATE KEY")
}

// blockLabel returns the text before the closing dashes of a line, and their end.
func blockLabel(text string, at int) (name string, end int, ok bool) {
	near := text[at:min(len(text), at+maxLabel)]
	i := strings.Index(near, dashes)
	if i < 0 {
		return "", 0, false
	}
	return near[:i], at + i + len(dashes), true
}

// keyMaterial returns the end of the lines of a key: words of at least 16 base64 bytes, then a
// shorter one.
func keyMaterial(text string, from int) int {
	end, long := from, false
	for at := from; at < len(text); {
		start := skipBlank(text, at)
		stop := runEnd(text, start, isBase64, 0)
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

// skipBlank skips white space and escaped line breaks.
func skipBlank(text string, at int) int {
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
