package wire

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"sync"

	"ponder/llm"
)

// maxEvent bounds a line and an event, in bytes. Images and encrypted
// reasoning come as single lines of megabytes.
const maxEvent = 32 << 20

// An Event is one server-sent event. Data is valid until the next one is read or
// the loop is left.
type Event struct {
	Name string // of the event field, "" if there was none; "error" for an error field
	Data []byte // lines joined by \n
}

// Events reads server-sent events until r ends, as browsers do, with three
// liberties that providers make necessary: the last event needs no blank line
// after it, a field named "error" is an event named so, and a line that starts
// a JSON object is data, together with the lines up to the next blank one.
// Events without data are left out unless they are named "error".
//
// If r fails, its error is yielded last and what was read of the event it broke
// is dropped. An event of more than 32 MB ends the stream with an [llm.Error].
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := begin(r)
		defer s.end()
		p := &s.parser
		for first := true; ; first = false {
			line, err := s.next()
			if errors.Is(err, io.EOF) {
				if p.ready() {
					yield(p.event(), nil)
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
					yield(Event{}, tooBig())
					return
				}
				p.line(line)
				continue
			}
			ready := p.ready()
			if ready && !yield(p.event(), nil) {
				return
			}
			p.reset()
		}
	}
}

// Lines reads newline-delimited values until r ends, leaving out blank lines.
// A line is valid until the next one is read or the loop is left. Errors are those of [Events].
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := begin(r)
		defer s.end()
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

// A stream is what reads one, with its buffers.
type stream struct {
	lineReader
	parser
}

// streams keeps the buffers of streams that have ended for those to come.
var streams = sync.Pool{New: func() any { return new(stream) }}

// maxKept bounds the buffers that are kept, in bytes.
const maxKept = 16 << 10

func begin(r io.Reader) *stream {
	s := streams.Get().(*stream)
	s.r = r
	return s
}

// end gives the buffers back. Nothing read from them is valid any more.
func (s *stream) end() {
	if len(s.buf) > maxKept || cap(s.data) > maxKept {
		return
	}
	*s = stream{lineReader{buf: s.buf}, parser{data: s.data[:0]}}
	streams.Put(s)
}

func tooBig() error {
	return &llm.Error{Class: llm.Malformed, Message: "the answer has a line of more than 32 MB"}
}

// A parser gathers the lines of one event.
type parser struct {
	name string
	last string // the last name seen
	data []byte
	got  bool // a data line, which may have been empty
	raw  bool // in a JSON object outside any field
}

func (p *parser) ready() bool  { return len(p.data) > 0 || p.name == "error" }
func (p *parser) size() int    { return len(p.data) }
func (p *parser) event() Event { return Event{Name: p.name, Data: p.data} }
func (p *parser) reset()       { *p = parser{data: p.data[:0], last: p.last} }

// line takes a line that is not empty.
func (p *parser) line(line []byte) {
	if p.raw && bytes.HasPrefix(line, []byte("data:")) {
		return // "[DONE]", say, behind an error that has no blank line after it
	}
	if p.raw = p.raw || line[0] == '{' && !p.got; p.raw {
		p.add(line)
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		p.add(value)
	case "event":
		if p.last != string(value) { // most events have the name of the one before
			p.last = string(value)
		}
		p.name = p.last
	case "error":
		p.name = "error"
		p.add(value)
	}
}

func (p *parser) add(value []byte) {
	if p.got {
		p.data = append(p.data, '\n')
	}
	p.got = true
	p.data = append(p.data, value...)
}

// A lineReader cuts a stream into lines that end in LF, CR or CRLF.
type lineReader struct {
	r           io.Reader
	buf         []byte
	start, stop int  // of what is read and not yet returned
	seen        int  // no line ends in buf[start:seen]
	skipLF      bool // the last line ended in CR
	err         error
}

// firstRead is the size of a stream's first buffer: many streams wait with it for
// a few words.
const firstRead = 2 << 10

// next returns the next line without its end, valid until the next call. The
// last line needs no end. A line that the reader's failure cuts is lost.
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
			return l.last()
		}
		if l.stop-l.start > maxEvent {
			l.err = tooBig()
			return nil, l.err
		}
		l.fill()
	}
}

// last returns what is left when the reader has ended.
func (l *lineReader) last() ([]byte, error) {
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

// fill reads more, making room first.
func (l *lineReader) fill() {
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
