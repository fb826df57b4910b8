// Package limitio has readers and a writer that stop at a number of bytes.
package limitio

import (
	"bytes"
	"cmp"
	"errors"
	"io"
)

// ErrTooLarge is the error of a [Reader] whose source has more bytes than its limit.
var ErrTooLarge = errors.New("larger than the limit")

// Reader is a reader of at most Left bytes of R. Unlike [io.LimitedReader], it ends with an
// error, and not with the end of the file, where R has more.
type Reader struct {
	R    io.Reader
	Left int64
	Err  error // the error where R has more, ErrTooLarge if nil
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.Left <= 0 {
		var more [1]byte
		n, err := io.ReadFull(r.R, more[:])
		if n > 0 {
			return 0, cmp.Or(r.Err, ErrTooLarge)
		}
		return 0, err
	}
	n, err := r.R.Read(p[:min(int64(len(p)), r.Left)])
	r.Left -= int64(n)
	return n, err
}

// ReadCloser returns rc with at most limit bytes. Where rc has more, its error is err.
func ReadCloser(rc io.ReadCloser, limit int64, err error) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{&Reader{R: rc, Left: limit, Err: err}, rc}
}

// ReadAll returns the content of r. If r has more than limit bytes, it returns the first
// limit bytes and ErrTooLarge.
func ReadAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], ErrTooLarge
	}
	return data, err
}

// Writer keeps the first Limit bytes that are written to it and discards the others. It
// reports no error, so that the writing program runs to its end.
type Writer struct {
	Limit int

	kept bytes.Buffer
	lost bool
}

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	n := min(len(p), max(0, w.Limit-w.kept.Len()))
	w.kept.Write(p[:n])
	w.lost = w.lost || n < len(p)
	return len(p), nil
}

// Bytes returns the kept bytes.
func (w *Writer) Bytes() []byte { return w.kept.Bytes() }

// String returns the kept bytes as a string.
func (w *Writer) String() string { return w.kept.String() }

// Truncated reports whether the writer discarded bytes.
func (w *Writer) Truncated() bool { return w.lost }
