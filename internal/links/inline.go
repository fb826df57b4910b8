package links

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxRun bounds the runs of backticks of different lengths.
const maxRun = 62

// inline is the state of a paragraph.
type inline struct {
	openRuns uint64 // the lengths of runs of backticks that a later run may match, as bits
	hasMath  bool   // a formula may have begun

	isText   bool // the line began with text
	isFirst  bool // nothing of the line is read but markers
	isEscape bool // the output ends in a backslash without a partner
	isBang   bool // the output ends in an unescaped exclamation mark
	isClosed bool // the output ends in an unescaped closing bracket

	isWrapped bool // the output ends in a mark of emitCode

	label    []byte // the text since the last opening bracket
	hasLabel bool
	isOpen   bool // no bracket closed since then
}

const maxLabel = 300

func (f *Filter) startLine() { f.isText, f.isFirst = false, true; f.endToken() }

func (f *Filter) endToken() {
	f.isEscape, f.isBang, f.isClosed, f.isWrapped = false, false, false, false
}

// ordinary has the bytes that begin no mark and no address.
var ordinary = func() (table [256]bool) {
	for c := range table {
		table[c] = strings.IndexByte("\n\r\\`<&[]()!:/?#@$hHwWfFmMxX", byte(c)) < 0
	}
	return table
}()

// readInline reads text of a paragraph, as readNext does.
func (f *Filter) readInline(in []byte, more bool) int {
	n := 0
	last := f.lastByte()
	for n < len(in) && (ordinary[in[n]] || isLetter(in[n]) && isAlnum(last)) {
		last = in[n]
		n++
	}
	if n > 0 {
		f.emitText(in[:n])
		return n
	}
	switch c := in[0]; c {
	case '\n':
		f.emit('\n')
		f.lineStart = true
		return 1
	case '\\':
		return f.readEscape(in, more)
	case '`':
		return f.readBackticks(in, more)
	case '<':
		return f.readAngle(in, more)
	case '&':
		return f.readEntity(in, more)
	case '[':
		return f.readBracket(in, more)
	case ']':
		f.emitText(in[:1])
		f.isClosed, f.isOpen = true, false
		return 1
	case '(':
		if f.isClosed {
			return f.readDestination(in, more)
		}
	case '!':
		f.emitText(in[:1])
		f.isBang = true
		return 1
	case '$':
		f.hasMath = true
	case ':':
		if f.isClosed {
			if !f.readDefinition(in, more) {
				return 0
			}
		}
		return f.readColon(in, more)
	case '/', '?', '#':
		return f.readSlash(in, more)
	case '@':
		return f.readAt(in, more)
	default:
		return f.readScheme(in, more)
	}
	f.emitText(in[:1])
	return 1
}

// emitText emits text that is not the beginning of anything.
func (f *Filter) emitText(text []byte) {
	if f.isFirst {
		if trimmed := bytes.TrimLeft(text, " \t"); len(trimmed) > 0 {
			f.isFirst, f.isText = false, isAlnum(trimmed[0]) || trimmed[0] >= utf8.RuneSelf
		}
	}
	if f.hasLabel {
		f.label = append(f.label, text[:min(len(text), max(0, maxLabel-len(f.label)))]...)
	}
	f.emit(text...)
	f.endToken()
}

func (f *Filter) readEscape(in []byte, more bool) int {
	if len(in) == 1 {
		if more {
			return 0
		}
		f.emitText(in)
		f.isEscape = true
		return 1
	}
	switch c := in[1]; {
	case !isPunct(c):
		f.emitText(in[:1])
		f.isEscape = true
		return 1
	case c == '<' && f.isActive():
		f.emitText([]byte("&lt;"))
		return 2
	case c == '.' && strings.EqualFold(f.lastWord(), "www") && f.isActive():
		f.emitCode(in[1:2])
		return 2
	case (strings.IndexByte("/@?", c) >= 0 || c == ':' && !f.isClosed || c == '.' && isLetter(f.lastByte())) && f.isActive():
		return 1 // clients may look for addresses in the text without the backslash
	case c == '(' || c == '[':
		f.hasMath = true
	}
	f.emitText(in[:2])
	return 2
}

// readBackticks reads a code span on one line, or a run of backticks.
func (f *Filter) readBackticks(in []byte, more bool) int {
	size := runLength(in, '`')
	if size == len(in) && more {
		return 0
	}
	if f.isWrapped {
		f.emit(' ')
		f.isWrapped = false
	}
	if f.openRuns == 0 && !f.htmlBlock && size <= maxRun {
		end, isCertain := findRun(in, size, more)
		if !isCertain {
			return 0
		}
		if end > 0 && !f.mayEscape(in[size:end-size]) {
			f.emitText(in[:end])
			return end
		}
	}
	f.openRuns |= 1 << min(size, maxRun+1)
	f.emitText(in[:size])
	return size
}

// findRun returns the end of a code span that begins with a run of backticks, or 0. It is certain
// unless more input decides.
func findRun(in []byte, size int, more bool) (end int, isCertain bool) {
	for at := size; at < min(len(in), maxInline); {
		switch in[at] {
		case '\n':
			return 0, true
		case '`':
			n := runLength(in[at:], '`')
			if at+n == len(in) && more {
				return 0, false
			}
			if at += n; n == size {
				return at, true
			}
		default:
			at++
		}
	}
	return 0, !more || len(in) >= maxInline
}

// mayEscape reports whether clients may not read the text as code, because a table or a formula
// divides it, and whether that would matter.
func (f *Filter) mayEscape(code []byte) bool {
	divides := bytes.IndexByte(code, '|') >= 0 || f.hasMath && bytes.ContainsAny(code, "$\\")
	return divides && Text(string(code), Set(nil)) != string(code)
}

var tagPattern = regexp.MustCompile(`^/?([A-Za-z][A-Za-z0-9-]*)[ \t]*/?$`)

// refusedTags change how the text after them is read, or are more than text.
var refusedTags = map[string]bool{
	"applet": true, "audio": true, "base": true, "body": true, "button": true, "embed": true, "form": true, "frame": true, "frameset": true, "head": true, "html": true,
	"iframe": true, "image": true, "img": true, "input": true, "link": true, "listing": true, "math": true, "meta": true, "noembed": true, "noframes": true, "noscript": true,
	"object": true, "plaintext": true, "portal": true, "pre": true, "script": true, "select": true, "source": true, "style": true, "svg": true, "template": true,
	"textarea": true, "title": true, "track": true, "video": true, "xmp": true,
}

// readAngle reads a tag or an address in angle brackets. Only tags without attributes stay tags.
func (f *Filter) readAngle(in []byte, more bool) int {
	end := 1
	for end < len(in) && in[end] != '>' && in[end] != '<' && in[end] != '\n' && in[end] != '`' {
		if in[end] == ' ' || in[end] == '\t' || in[end] == '\r' {
			if rest := bytes.TrimLeft(in[end:], " \t"); len(rest) > 0 && rest[0] != '/' && rest[0] != '>' {
				break
			}
		}
		end++
	}
	if end == len(in) && more {
		return 0
	}
	if end == len(in) || in[end] != '>' || end == 1 {
		if c := byte(0); len(in) > 1 {
			if c = in[1]; isLetter(c) || c == '/' || c == '!' || c == '?' {
				return f.escapeAngle()
			}
		}
		f.emitText(in[:1])
		return 1
	}
	inner := in[1:end]
	if m := tagPattern.FindSubmatch(inner); m != nil && !refusedTags[strings.ToLower(string(m[1]))] {
		f.htmlBlock = f.htmlBlock || !f.isText
		f.emitText(in[:end+1])
		return end + 1
	}
	switch isAddress := bytes.ContainsAny(inner, ":@") && inner[0] != '!' && inner[0] != '?'; {
	case isAddress && f.policy.Knows(string(inner), false):
		f.emitText(in[:end+1])
		return end + 1
	case isAddress && bytes.IndexByte(inner, ':') >= 0 && f.isActive():
		f.emitCode(in[:end+1])
		return end + 1
	}
	return f.escapeAngle()
}

func (f *Filter) escapeAngle() int {
	if f.isActive() {
		f.emitText([]byte("&lt;"))
	} else {
		f.emitText([]byte("<"))
	}
	return 1
}

// maxEntity is the longest entity, in bytes.
const maxEntity = 34

// readEntity escapes entities of letters and of marks that occur in addresses.
func (f *Filter) readEntity(in []byte, more bool) int {
	end := 1
	for end < len(in) && end < maxEntity && (isAlnum(in[end]) || in[end] == '#') {
		end++
	}
	if end == len(in) && more {
		return 0
	}
	if end < len(in) && in[end] == ';' {
		entity := string(in[:end+1])
		text := html.UnescapeString(entity)
		if len(text) == 1 && text[0] > ' ' && strings.IndexByte(`<>&"'`, text[0]) < 0 && f.isActive() {
			f.emitText([]byte("&amp;"))
			return 1
		}
	}
	f.emitText(in[:1])
	return 1
}

// readBracket reads an opening bracket, or a whole image that may stay.
func (f *Filter) readBracket(in []byte, more bool) int {
	if f.isBang {
		n, address, ok := readImage(in, more)
		switch {
		case !ok:
			return 0
		case n > 0 && f.policy.Knows(address, true):
			f.emitText(in[:n])
			f.hasLabel = false
			return n
		case f.isActive():
			f.emit(' ')
		}
	}
	f.emitText(in[:1])
	f.label, f.hasLabel, f.isOpen = f.label[:0], true, true
	return 1
}

var (
	imagePattern = regexp.MustCompile(`^\[[^\[\]` + "`" + `<\n\\$]*\]\(([^\s()<>` + "`" + `\\]+)\)`)
	imageBegin   = regexp.MustCompile(`^\[[^\[\]` + "`" + `<\n\\$]*(?:\](?:\([^\s()<>` + "`" + `\\]*)?)?$`)
)

// readImage reads the brackets of a plain image and its address. n is 0 if there is none.
func readImage(in []byte, more bool) (n int, address string, ok bool) {
	if m := imagePattern.FindSubmatch(in); m != nil {
		return len(m[0]), unescape(m[1]), true
	}
	return 0, "", !more || !imageBegin.Match(in)
}
