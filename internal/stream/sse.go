package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"ponder"
)

// Times of a connection.
const (
	Heartbeat = 15 * time.Second // between signs of life
	retryMS   = 1000             // after which a client comes again
	opening   = time.Millisecond // in which what comes goes out with what a stream begins with
)

// A Writer writes server-sent events. It is for one goroutine. The first error is kept,
// and nothing is written after it.
type Writer struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	dog watchdog
	buf *[]byte // what was added, of buffers; nil if there is nothing
	err error
}

// buffers are shared by all who write: between two events nobody has one.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is how large a buffer is that is used again.
const maxBuffer = 64 << 10

// NewWriter begins a stream: its first bytes are sent at once. The limits of time that the
// server has set do not hold for it; a reader that takes nothing for 10 s is given up
// instead.
func NewWriter(w http.ResponseWriter) *Writer {
	s := NewPlainWriter(w)
	buf := s.buffer()
	*buf = append((*buf)[:len(*buf)-1], "retry: "...)
	*buf = append(strconv.AppendInt(*buf, retryMS, 10), "\n\n"...)
	return s
}

// NewPlainWriter is NewWriter for clients that take all but comments for an event with
// data: nothing is said of when to come again.
func NewPlainWriter(w http.ResponseWriter) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s := &Writer{w: w, ctl: http.NewResponseController(w)}
	s.dog.giveUp = func() { _ = s.ctl.SetWriteDeadline(time.Unix(1, 0)) } // what can't do that never waits
	_ = s.ctl.SetReadDeadline(time.Time{})                                // nor has limits
	_ = s.ctl.SetWriteDeadline(time.Time{})                               // which in HTTP/2 would end what is silent for so long
	w.WriteHeader(http.StatusOK)
	s.Comment("stream-open")
	return s
}

// buffer returns where to add to.
func (s *Writer) buffer() *[]byte {
	if s.buf == nil {
		s.buf = buffers.Get().(*[]byte)
	}
	return s.buf
}

// Event adds an event: with an id unless that is zero, and a name unless that is empty.
// The data must be without line breaks, as JSON is.
func (s *Writer) Event(id ponder.Seq, name string, data []byte) {
	to := s.buffer()
	buf := *to
	if id != 0 {
		buf = append(buf, "id: "...)
		buf = append(strconv.AppendInt(buf, int64(id), 10), '\n')
	}
	if name != "" {
		buf = append(append(append(buf, "event: "...), name...), '\n')
	}
	*to = append(append(append(buf, "data: "...), data...), "\n\n"...)
}

// Comment adds a sign of life.
func (s *Writer) Comment(text string) {
	buf := s.buffer()
	*buf = append(append(append(*buf, ": "...), text...), "\n\n"...)
}

// Flush sends what was added.
func (s *Writer) Flush() error {
	if s.buf == nil {
		return s.err
	}
	for rest := range slices.Chunk(*s.buf, pieceSize) {
		if s.err == nil {
			s.err = s.write(rest)
		}
	}
	if *s.buf = (*s.buf)[:0]; cap(*s.buf) <= maxBuffer {
		buffers.Put(s.buf)
	}
	s.buf = nil
	return s.err
}

// write sends a piece, or fails when the reader does not take it.
func (s *Writer) write(piece []byte) error {
	s.dog.begin()
	defer s.dog.end()
	if _, err := s.w.Write(piece); err != nil {
		return err
	}
	return s.ctl.Flush()
}

// full reports whether so much was added that it should be sent.
func (s *Writer) full() bool { return s.buf != nil && len(*s.buf) >= pieceSize }

// Send writes what a watcher sees until show says that it is over, ctx is done, or the
// reader is gone. show returns the data of a frame, nil to leave it out, and whether it
// is the last.
func (s *Writer) Send(ctx context.Context, w *Watcher, show func(Frame) (data []byte, name string, last bool)) error {
	if s.err != nil {
		return s.err
	}
	beat := time.NewTimer(opening)
	defer beat.Stop()
	for {
		begun := s.buf != nil
		frames, err := w.NextBy(ctx, beat.C)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrQuiet) && begun:
		case errors.Is(err, ErrQuiet):
			s.Comment("keep-alive")
		case err != nil:
			return fmt.Errorf("stream: %w", err)
		}
		for _, f := range frames {
			data, name, last := show(f)
			if data != nil {
				s.Event(f.Seq, name, data)
			}
			if last {
				return s.Flush()
			}
			if s.full() && s.Flush() != nil {
				return s.err
			}
		}
		if s.buf != nil || err != nil {
			beat.Reset(Heartbeat)
		}
		if err := s.Flush(); err != nil {
			return err
		}
	}
}
