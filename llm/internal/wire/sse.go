package wire

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"sync"

	"ponder/llm"
)

// maxEvent limits a line and an event. Images and encrypted reasoning are single lines of
// megabytes.
const maxEvent = 32 << 20

// An Event's Data is valid until the next iteration.
type Event struct {
	Name string // "" if missing; "error" for an error field
	Data []byte // lines joined by \n
}

// Events reads server-sent events like browsers, except that the last needs no blank
// line, an "error" field names an event, and bare JSON lines are data. It skips events
// without data that are no errors.
//
// If r fails, it drops the incomplete event and yields the error last. Events of more
// than 32 MB are an [llm.Error].
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := acquireStream(r)
		defer s.releaseStream()
		p := &s.parser
		for first := true; ; first = false {
			line, err := s.next()
			if errors.Is(err, io.EOF) {
				if p.isReady() {
					yield(p.currentEvent(), nil)
				}
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if first {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if len(line) > 0 {
				if p.size() > maxEvent {
					yield(Event{}, tooBigError())
					return
				}
				p.addLine(line)
				continue
			}
			ready := p.isReady()
			if ready && !yield(p.currentEvent(), nil) {
				return
			}
			p.reset()
		}
	}
}

// Lines yields lines and skips blank ones. A line is valid until the next iteration.
// Errors are those of [Events].
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := acquireStream(r)
		defer s.releaseStream()
		for {
			line, err := s.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line, nil) {
				return
			}
		}
	}
}

type stream struct {
	lineReader
	parser
}

var streams = sync.Pool{New: func() any { return new(stream) }}

const maxKept = 16 << 10

func acquireStream(r io.Reader) *stream {
	s := streams.Get().(*stream)
	s.r = r
	return s
}

// releaseStream invalidates all data read.
func (s *stream) releaseStream() {
	if len(s.buf) > maxKept || cap(s.data) > maxKept {
		return
	}
	*s = stream{lineReader{buf: s.buf}, parser{data: s.data[:0]}}
	streams.Put(s)
}

func tooBigError() error {
	return &llm.Error{Class: llm.Malformed, Message: "the answer has a line of more than 32 MB"}
}

type parser struct {
	name    string
	last    string // last name seen
	data    []byte
	hasData bool // perhaps empty
	raw     bool // in bare JSON
}

func (p *parser) isReady() bool       { return len(p.data) > 0 || p.name == "error" }
func (p *parser) size() int           { return len(p.data) }
func (p *parser) currentEvent() Event { return Event{Name: p.name, Data: p.data} }
func (p *parser) reset()              { *p = parser{data: p.data[:0], last: p.last} }

func (p *parser) addLine(line []byte) {
	if p.raw && bytes.HasPrefix(line, []byte("data:")) {
		return // "[DONE]" after an error without a blank line
	}
	if p.raw = p.raw || line[0] == '{' && !p.hasData; p.raw {
		p.addData(line)
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		p.addData(value)
	case "event":
		if p.last != string(value) { // most events repeat the name
			p.last = string(value)
		}
		p.name = p.last
	case "error":
		p.name = "error"
		p.addData(value)
	}
}

func (p *parser) addData(value []byte) {
	if p.hasData {
		p.data = append(p.data, '\n')
	}
	p.hasData = true
	p.data = append(p.data, value...)
}

// A lineReader splits at LF, CR or CRLF.
type lineReader struct {
	r           io.Reader
	buf         []byte
	start, stop int  // unread
	seen        int  // buf[start:seen] has no line end
	skipLF      bool // the last line ended in CR
	err         error
}

// firstRead is small because many streams wait idly.
const firstRead = 2 << 10

// next returns a line valid until the next call. The last needs no end. A read error
// drops an incomplete line.
func (l *lineReader) next() ([]byte, error) {
	for {
		if l.skipLF && l.start < l.stop {
			if l.buf[l.start] == '\n' {
				l.start++
				l.seen = l.start
			}
			l.skipLF = false
		}
		if i := lineEnd(l.buf[l.seen:l.stop]); i >= 0 {
			line := l.buf[l.start : l.seen+i]
			l.skipLF = l.buf[l.seen+i] == '\r'
			l.start = l.seen + i + 1
			l.seen = l.start
			return line, nil
		}
		l.seen = l.stop
		if l.err != nil {
			return l.lastLine()
		}
		if l.stop-l.start > maxEvent {
			l.err = tooBigError()
			return nil, l.err
		}
		l.fillBuffer()
	}
}

func (l *lineReader) lastLine() ([]byte, error) {
	line := l.buf[l.start:l.stop]
	l.start, l.seen = l.stop, l.stop
	if errors.Is(l.err, io.EOF) && len(line) > 0 {
		return line, nil
	}
	return nil, l.err
}

func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i >= 0 {
		b = b[:i]
	}
	if j := bytes.IndexByte(b, '\r'); j >= 0 {
		return j
	}
	return i
}

func (l *lineReader) fillBuffer() {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.stop])
		l.stop -= l.start
		l.seen -= l.start
		l.start = 0
	}
	if l.stop == len(l.buf) {
		bigger := make([]byte, max(firstRead, 2*len(l.buf)))
		copy(bigger, l.buf[:l.stop])
		l.buf = bigger
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.stop:])
		l.stop += n
		if l.err = err; n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
