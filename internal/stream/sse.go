package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"ponder"
)

// Times of a connection.
const (
	Heartbeat = 15 * time.Second // between signs of life
	patience  = 10 * time.Second // that a reader may take for what it is sent
	retryMS   = 1000             // after which a client comes again
)

// A Writer writes server-sent events. It is for one goroutine. The first error is kept,
// and nothing is written after it.
type Writer struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	buf []byte
	err error
}

// NewWriter begins a stream: its first bytes are sent at once. The limits that the
// server has set on writing do not hold for it; a reader that takes nothing for 10 s is
// given up instead.
func NewWriter(w http.ResponseWriter) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s := &Writer{w: w, ctl: http.NewResponseController(w)}
	_ = s.ctl.SetReadDeadline(time.Time{}) // what can't do that has none
	w.WriteHeader(http.StatusOK)
	s.buf = append(s.buf, ": stream-open\nretry: "...)
	s.buf = append(strconv.AppendInt(s.buf, retryMS, 10), "\n\n"...)
	return s
}

// Event adds an event: with an id unless that is zero, and a name unless that is empty.
// The data must be without line breaks, as JSON is.
func (s *Writer) Event(id ponder.Seq, name string, data []byte) {
	if id != 0 {
		s.buf = append(s.buf, "id: "...)
		s.buf = append(strconv.AppendInt(s.buf, int64(id), 10), '\n')
	}
	if name != "" {
		s.buf = append(append(append(s.buf, "event: "...), name...), '\n')
	}
	s.buf = append(append(append(s.buf, "data: "...), data...), "\n\n"...)
}

// Comment adds a sign of life.
func (s *Writer) Comment(text string) {
	s.buf = append(append(append(s.buf, ": "...), text...), "\n\n"...)
}

// Flush sends what was added.
func (s *Writer) Flush() error {
	if s.err != nil || len(s.buf) == 0 {
		return s.err
	}
	if err := s.ctl.SetWriteDeadline(time.Now().Add(patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.err = err
		return s.err
	}
	if _, s.err = s.w.Write(s.buf); s.err == nil {
		s.err = s.ctl.Flush()
	}
	_ = s.ctl.SetWriteDeadline(time.Time{}) // which in HTTP/2 ends streams that are silent for so long
	if s.buf = s.buf[:0]; cap(s.buf) > maxBuffer {
		s.buf = nil
	}
	return s.err
}

// maxBuffer is how much of a buffer is kept between two sendings.
const maxBuffer = 64 << 10

// Send writes what a watcher sees until show says that it is over, ctx is done, or the
// reader is gone. show returns the data of a frame, nil to leave it out, and whether it
// is the last.
func (s *Writer) Send(ctx context.Context, w *Watcher, show func(Frame) (data []byte, name string, last bool)) error {
	if err := s.Flush(); err != nil {
		return err
	}
	for {
		wait, cancel := context.WithTimeout(ctx, Heartbeat)
		frames, err := w.Next(wait)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
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
		}
		if err := s.Flush(); err != nil {
			return err
		}
	}
}
