package client

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"strconv"
	"time"
)

// Limits of a stream.
const (
	maxLine = 16 << 20 // bytes
	maxData = 32 << 20 // bytes of all data lines of an event
)

// errLong says that a line or an event exceeds its limit.
var errLong = errors.New("a line of the stream is too long")

// A message is a server-sent event.
type message struct {
	id   string // the last id in the stream
	name string // "message" by default
	data []byte // valid until the next message is read
}

// An eventReader parses server-sent events like a browser (HTML, 9.2.6).
type eventReader struct {
	in     *bufio.Reader
	line   []byte
	data   []byte
	name   string
	id     string
	retry  time.Duration // the reconnection time that the server asks for
	cr     bool          // the last line ended with CR; an LF may follow
	begun  bool
	isData bool
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, 16<<10)}
}

// nextMessage returns the next message. It skips comments and messages without data. At the end of
// the stream, it drops an incomplete message and returns io.EOF or the error of the reader.
func (r *eventReader) nextMessage() (message, error) {
	r.data, r.name, r.isData = r.data[:0], "", false
	for {
		line, err := r.readLine()
		if err != nil {
			return message{}, err
		}
		if len(line) > 0 {
			if err := r.parseField(line); err != nil {
				return message{}, err
			}
			continue
		}
		if r.isData {
			m := message{id: r.id, name: r.name, data: r.data}
			m.name = cmp.Or(m.name, "message")
			return m, nil
		}
		r.name = ""
	}
}

func (r *eventReader) parseField(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if r.isData {
			r.data = append(r.data, '\n')
		}
		if r.isData = true; len(r.data)+len(value) > maxData {
			return errLong
		}
		r.data = append(r.data, value...)
	case "event":
		r.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	case "retry":
		if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry = time.Duration(n) * time.Millisecond
		}
	}
	return nil
}

// readLine returns the next line without its end: LF, CR or both. It does not wait for an
// LF after a CR.
func (r *eventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.in.Peek(1); err != nil {
			return nil, err
		}
		chunk, _ := r.in.Peek(r.in.Buffered()) // does not block
		if r.cr {
			if r.cr = false; chunk[0] == '\n' {
				r.discardBytes(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			end = len(chunk)
		}
		if len(r.line)+end > maxLine {
			return nil, errLong
		}
		r.line = append(r.line, chunk[:end]...)
		if end == len(chunk) {
			r.discardBytes(end)
			continue
		}
		r.cr = chunk[end] == '\r'
		r.discardBytes(end + 1)
		if !r.begun {
			r.begun, r.line = true, bytes.TrimPrefix(r.line, []byte("\ufeff"))
		}
		return r.line, nil
	}
}

func (r *eventReader) discardBytes(n int) { _, _ = r.in.Discard(n) }
