package calendar

import (
	"bytes"
	"errors"
	"strings"
)

// Bounds of a calendar's file.
const (
	maxFile    = 5 << 20 // bytes
	maxLine    = 64 << 10
	maxObjects = 20_000
	maxProps   = 400 // of an object
	maxDepth   = 6   // of objects in objects
)

// An object is a component of iCalendar (RFC 5545): an event, a task, a time zone.
type object struct {
	kind     string // VEVENT
	props    []prop
	children []*object
}

// A prop is a property of an object.
type prop struct {
	name   string
	params string // "TZID=Europe/Berlin;VALUE=DATE-TIME"
	value  string
}

// kept are the properties that are of interest.
var kept = map[string]bool{
	"UID": true, "DTSTART": true, "DTEND": true, "DUE": true, "DURATION": true, "SUMMARY": true, "LOCATION": true,
	"STATUS": true, "RRULE": true, "RDATE": true, "EXDATE": true, "RECURRENCE-ID": true, "SEQUENCE": true, "DTSTAMP": true,
	"TRANSP": true, "ORGANIZER": true, "COMPLETED": true, "TZID": true, "TZOFFSETFROM": true, "TZOFFSETTO": true, "X-LIC-LOCATION": true,
}

var (
	errNoCalendar = errors.New("this is no calendar: it does not begin with BEGIN:VCALENDAR")
	errCutOff     = errors.New("the calendar is cut off: its end is missing")
	errTooLarge   = errors.New("the calendar is too large: at most 5 MiB and 20000 entries are read")
)

// parse reads the objects of a file. What it cannot make sense of it leaves out, but not
// the end: of a calendar that is cut off it could not be said what was deleted.
func parse(file []byte) ([]*object, error) {
	if len(file) > maxFile {
		return nil, errTooLarge
	}
	p := parser{}
	for file = bytes.TrimPrefix(file, []byte("\ufeff")); len(file) > 0; {
		var line string
		line, file = unfold(file)
		p.line(line)
		if p.count > maxObjects {
			return nil, errTooLarge
		}
	}
	switch {
	case !p.begun:
		return nil, errNoCalendar
	case len(p.stack) > 0 || p.deeper > 0:
		return nil, errCutOff
	}
	return p.found, nil
}

// unfold returns the first line, with those that continue it, and the rest.
func unfold(b []byte) (line string, rest []byte) {
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

// A parser is in the objects of its stack.
type parser struct {
	stack  []*object
	deeper int // objects below those of the stack that are passed over
	found  []*object
	count  int
	begun  bool
}

func (p *parser) line(line string) {
	name, params, value, ok := contentLine(line)
	switch {
	case !ok:
	case name == "BEGIN":
		p.begin(strings.ToUpper(strings.TrimSpace(value)))
	case name == "END":
		p.end(strings.ToUpper(strings.TrimSpace(value)))
	case p.deeper == 0 && len(p.stack) > 0 && kept[name]:
		if o := p.stack[len(p.stack)-1]; len(o.props) < maxProps {
			o.props = append(o.props, prop{name: name, params: params, value: value})
		}
	}
}

func (p *parser) begin(kind string) {
	if len(p.stack) == 0 && kind != "VCALENDAR" {
		return
	}
	p.begun = true
	if p.deeper > 0 || len(p.stack) == maxDepth {
		p.deeper++
		return
	}
	p.count++
	p.stack = append(p.stack, &object{kind: kind})
}

func (p *parser) end(kind string) {
	if p.deeper > 0 {
		p.deeper--
		return
	}
	n := len(p.stack)
	if n == 0 || p.stack[n-1].kind != kind {
		return // of nothing that began
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

// contentLine takes a line apart: NAME;PARAM=x;PARAM="y:z":value.
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

// param returns a parameter of a property.
func (p prop) param(name string) string {
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

// prop returns the first property of a name.
func (o *object) prop(name string) (prop, bool) {
	for _, p := range o.props {
		if p.name == name {
			return p, true
		}
	}
	return prop{}, false
}

// text returns a property's text, and nothing if there is none.
func (o *object) text(name string) string {
	p, _ := o.prop(name) // none: empty
	return unescape.Replace(p.value)
}

var unescape = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)
