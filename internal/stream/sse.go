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
	Heartbeat = 15 * time.Second // interval of comments
	retryMS   = 1000             // reconnection time of clients
	opening   = time.Millisecond // events in this time share a write with the start of the stream
)

// A Writer writes server-sent events. It is for one goroutine. After the first error it
// writes nothing and returns that error.
type Writer struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	dog watchdog
	buf *[]byte // from buffers; nil if empty
	err error
}

// buffers is shared by all writers, because a writer needs a buffer only while it has data.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer limits the size of a recycled buffer.
const maxBuffer = 64 << 10

// NewWriter starts a stream and sends its first bytes at once. It lifts the server's
// deadlines. Instead, it ends the connection of a reader that accepts nothing for 10 s.
func NewWriter(w http.ResponseWriter) *Writer {
	s := NewPlainWriter(w)
	buf := s.takeBuffer()
	*buf = append((*buf)[:len(*buf)-1], "retry: "...)
	*buf = append(strconv.AppendInt(*buf, retryMS, 10), "\n\n"...)
	return s
}

// NewPlainWriter is NewWriter without the reconnection time, for clients that treat all but
// comments as events with data.
func NewPlainWriter(w http.ResponseWriter) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s := &Writer{w: w, ctl: http.NewResponseController(w)}
	s.dog.giveUp = func() { _ = s.ctl.SetWriteDeadline(time.Unix(1, 0)) } // a connection without deadlines never blocks
	_ = s.ctl.SetReadDeadline(time.Time{})
	_ = s.ctl.SetWriteDeadline(time.Time{}) // HTTP/2 would end a silent stream
	w.WriteHeader(http.StatusOK)
	s.Comment("stream-open")
	return s
}

func (s *Writer) takeBuffer() *[]byte {
	if s.buf == nil {
		s.buf = buffers.Get().(*[]byte)
	}
	return s.buf
}

// Event adds an event, with an id unless it is zero, and a name unless it is empty. The
// data must have no line breaks, as JSON has none.
func (s *Writer) Event(id ponder.Seq, name string, data []byte) {
	to := s.takeBuffer()
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

// Comment adds a comment, which keeps the connection alive.
func (s *Writer) Comment(text string) {
	buf := s.takeBuffer()
	*buf = append(append(append(*buf, ": "...), text...), "\n\n"...)
}

// Flush sends the added data.
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

// write sends a piece. It fails if the reader does not accept it in time.
func (s *Writer) write(piece []byte) error {
	s.dog.startWrite()
	defer s.dog.endWrite()
	if _, err := s.w.Write(piece); err != nil {
		return err
	}
	return s.ctl.Flush()
}

// isFull reports whether the buffer should be sent.
func (s *Writer) isFull() bool { return s.buf != nil && len(*s.buf) >= pieceSize }

// Send writes the frames of a watcher until show returns last, ctx is done, or the
// connection breaks. The function show returns the data of a frame, or nil to skip it.
func (s *Writer) Send(ctx context.Context, w *Watcher, show func(Frame) (data []byte, name string, last bool)) error {
	if s.err != nil {
		return s.err
	}
	beat := time.NewTimer(opening)
	defer beat.Stop()
	for {
		begun := s.buf != nil
		frames, err := w.NextUntil(ctx, beat.C)
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
			if s.isFull() && s.Flush() != nil {
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
