package calendar

import (
	"bytes"
	"errors"
	"strings"

	"ponder/internal/guard"
)

// Limits of a file.
const (
	maxFile    = 5 << 20 // bytes
	maxLine    = 64 << 10
	maxObjects = 20_000
	maxProps   = 400 // of an object
	maxDepth   = 6   // nesting of objects
)

// An object is an iCalendar component (RFC 5545), such as an event, a task or a time zone.
type object struct {
	kind     string // VEVENT
	props    []prop
	children []*object
}

type prop struct {
	name   string
	params string // "TZID=Europe/Berlin;VALUE=DATE-TIME"
	value  string
}

var usedProps = map[string]bool{
	"UID": true, "DTSTART": true, "DTEND": true, "DUE": true, "DURATION": true, "SUMMARY": true, "LOCATION": true,
	"STATUS": true, "RRULE": true, "RDATE": true, "EXDATE": true, "RECURRENCE-ID": true, "SEQUENCE": true, "DTSTAMP": true,
	"TRANSP": true, "ORGANIZER": true, "COMPLETED": true, "TZID": true, "TZOFFSETFROM": true, "TZOFFSETTO": true, "X-LIC-LOCATION": true,
}

var (
	errNoCalendar = errors.New("not a calendar: BEGIN:VCALENDAR is missing")
	errCutOff     = errors.New("the calendar is incomplete: its end is missing")
	errTooLarge   = errors.New("the calendar is too large: at most 5 MiB and 20000 entries are read")
)

// parseCalendar reads the objects of a file. It skips unknown input, but requires a complete file: a
// truncated calendar would report deletions.
func parseCalendar(file []byte) ([]*object, error) {
	return guard.Call(func() ([]*object, error) { return readObjects(file) })
}

func readObjects(file []byte) ([]*object, error) {
	if len(file) > maxFile {
		return nil, errTooLarge
	}
	p := parser{}
	for file = bytes.TrimPrefix(file, []byte("\ufeff")); len(file) > 0; {
		var line string
		line, file = unfoldLine(file)
		p.addLine(line)
		if p.count > maxObjects {
			return nil, errTooLarge
		}
	}
	switch {
	case !p.started:
		return nil, errNoCalendar
	case len(p.stack) > 0 || p.skipped > 0:
		return nil, errCutOff
	}
	return p.found, nil
}

// unfoldLine returns the first line with its continuations, and the rest.
func unfoldLine(b []byte) (line string, rest []byte) {
	var long []byte
	for first := true; ; first = false {
		end := bytes.IndexByte(b, '\n')
		piece, next := b, []byte(nil)
		if end >= 0 {
			piece, next = b[:end], b[end+1:]
		}
		piece = bytes.TrimRight(piece, "\r")
		if !first {
			piece = piece[1:]
		}
		if first && (len(next) == 0 || next[0] != ' ' && next[0] != '\t') {
			return string(piece[:min(len(piece), maxLine)]), next
		}
		if len(long) < maxLine {
			long = append(long, piece...)
		}
		if b = next; len(b) == 0 || b[0] != ' ' && b[0] != '\t' {
			return string(long[:min(len(long), maxLine)]), b
		}
	}
}

type parser struct {
	stack   []*object
	skipped int // depth of skipped objects below the stack
	found   []*object
	count   int
	started bool
}

func (p *parser) addLine(line string) {
	name, params, value, ok := contentLine(line)
	switch {
	case !ok:
	case name == "BEGIN":
		p.beginObject(strings.ToUpper(strings.TrimSpace(value)))
	case name == "END":
		p.endObject(strings.ToUpper(strings.TrimSpace(value)))
	case p.skipped == 0 && len(p.stack) > 0 && usedProps[name]:
		if o := p.stack[len(p.stack)-1]; len(o.props) < maxProps {
			o.props = append(o.props, prop{name: name, params: params, value: value})
		}
	}
}

func (p *parser) beginObject(kind string) {
	if len(p.stack) == 0 && kind != "VCALENDAR" {
		return
	}
	p.started = true
	if p.skipped > 0 || len(p.stack) == maxDepth {
		p.skipped++
		return
	}
	p.count++
	p.stack = append(p.stack, &object{kind: kind})
}

func (p *parser) endObject(kind string) {
	if p.skipped > 0 {
		p.skipped--
		return
	}
	n := len(p.stack)
	if n == 0 || p.stack[n-1].kind != kind {
		return // an END without its BEGIN
	}
	o := p.stack[n-1]
	if p.stack = p.stack[:n-1]; n == 1 {
		p.found = append(p.found, o.children...)
		return
	}
	if parent := p.stack[n-2]; n == 2 || len(parent.children) < maxProps {
		parent.children = append(parent.children, o)
	}
}

// contentLine splits a line: NAME;PARAM=x;PARAM="y:z":value.
func contentLine(line string) (name, params, value string, ok bool) {
	quoted := false
	colon := -1
	for i := range len(line) {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == ':' && !quoted:
			colon = i
		}
		if colon >= 0 {
			break
		}
	}
	if colon <= 0 {
		return "", "", "", false
	}
	name, params, _ = strings.Cut(line[:colon], ";")
	if _, after, grouped := strings.Cut(name, "."); grouped {
		name = after
	}
	return strings.ToUpper(name), params, line[colon+1:], true
}

// paramValue returns the named parameter, or "".
func (p prop) paramValue(name string) string {
	for rest := p.params; rest != ""; {
		end, quoted := len(rest), false
		for i := range len(rest) {
			if rest[i] == '"' {
				quoted = !quoted
			}
			if rest[i] == ';' && !quoted {
				end = i
				break
			}
		}
		key, value, _ := strings.Cut(rest[:end], "=")
		if strings.EqualFold(key, name) {
			return strings.Trim(value, `"`)
		}
		rest = rest[min(end+1, len(rest)):]
	}
	return ""
}

// firstProp returns the first property with the name.
func (o *object) firstProp(name string) (prop, bool) {
	for _, p := range o.props {
		if p.name == name {
			return p, true
		}
	}
	return prop{}, false
}

// unescapedText returns the unescaped text of a property, or "".
func (o *object) unescapedText(name string) string {
	p, _ := o.firstProp(name) // none: empty
	return unescape.Replace(p.value)
}

var unescape = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)
