package limitio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Limits of a [Memory].
const (
	DefaultMemory = 256 << 20 // bytes
	bodyFactor    = 3
	firstBuffer   = 4 << 10
	firstPart     = 64 << 10 // bytes to receive before the whole body is reserved
	memoryWait    = 3 * time.Second
)

// ErrBusy reports that other requests use the memory.
var ErrBusy = errors.New("other large requests use the memory")

// A Memory limits the memory of concurrent requests. It is safe for concurrent use. A nil Memory
// has no limit in total.
type Memory struct {
	limit int64

	mu    sync.Mutex
	free  int64
	freed chan struct{} // closed when memory is released
}

// NewMemory returns a memory of limit bytes.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, free: limit, freed: make(chan struct{})}
}

// acquire waits briefly for n bytes.
func (m *Memory) acquire(ctx context.Context, n int64) error {
	if m == nil || n <= 0 {
		return nil
	}
	if n > m.limit {
		return ErrBusy // it will never fit
	}
	var late <-chan time.Time
	for {
		m.mu.Lock()
		if m.free >= n {
			m.free -= n
			m.mu.Unlock()
			return nil
		}
		freed := m.freed
		m.mu.Unlock()
		if late == nil {
			timer := time.NewTimer(memoryWait)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-freed:
		case <-late:
			return ErrBusy
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Memory) release(n int64) {
	if m == nil || n <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free += n
	close(m.freed)
	m.freed = make(chan struct{})
}

// A BodyLimit limits a body.
type BodyLimit struct {
	Bytes   int64 // more is [ErrTooLarge]
	Size    int64 // announced size; negative: unknown
	Numbers bool  // the body may have long lists of numbers
}

// A Body is a body of JSON in memory. It implements [io.ReadCloser].
type Body struct {
	bytes.Reader

	data   []byte
	size   int64
	memory *Memory

	mu   sync.Mutex
	held int64
}

// ReadBody reads a body. The caller must release it.
func (m *Memory) ReadBody(ctx context.Context, src io.Reader, l BodyLimit) (*Body, error) {
	b := &Body{memory: m}
	shape := jsonShape{numbers: l.Numbers}
	data, err := b.readAll(ctx, src, l, &shape)
	var decoded int64
	if err == nil {
		decoded, err = shape.decodedBytes(data)
	}
	if err == nil {
		need := int64(len(data)) + max(decoded, (bodyFactor-1)*int64(len(data)))
		err = b.hold(ctx, need)
		b.shrink(need)
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	b.data, b.size = data, int64(len(data))
	b.Reset(data)
	return b, nil
}

func (b *Body) readAll(ctx context.Context, src io.Reader, l BodyLimit, shape *jsonShape) ([]byte, error) {
	most := l.Bytes
	if l.Size > most {
		return nil, ErrTooLarge
	}
	if l.Size >= 0 {
		most = l.Size
	}
	if err := b.hold(ctx, bodyFactor*min(most, firstBuffer)); err != nil {
		return nil, err
	}
	data := make([]byte, 0, min(most, firstBuffer)+1) // with room to see the end
	for {
		if len(data) == cap(data) {
			need := most
			if len(data) < firstPart { // a slow client holds little
				need = min(need, 2*int64(cap(data)))
			}
			if err := b.hold(ctx, bodyFactor*need); err != nil {
				return nil, err
			}
			data = append(make([]byte, 0, min(int64(cap(data))*2, max(most, int64(len(data)))+1)), data...)
		}
		n, err := src.Read(data[len(data):cap(data)])
		part := data[len(data) : len(data)+n]
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > l.Bytes:
			return nil, ErrTooLarge
		case errors.Is(err, io.EOF):
			return data, shape.scan(part)
		case err != nil:
			return nil, err
		}
		if err := shape.scan(part); err != nil {
			return nil, err
		}
	}
}

// hold reserves memory up to n bytes.
func (b *Body) hold(ctx context.Context, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n <= b.held {
		return nil
	}
	if err := b.memory.acquire(ctx, n-b.held); err != nil {
		return err
	}
	b.held = n
	return nil
}

// shrink releases memory down to n bytes.
func (b *Body) shrink(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < b.held {
		b.memory.release(b.held - n)
		b.held = n
	}
}

// Bytes returns the body. The caller must not change it.
func (b *Body) Bytes() []byte { return b.data }

// Close implements [io.Closer].
func (*Body) Close() error { return nil }

// ReadBodyOnce prepares a request for a handler that copies its body. The original is then dropped.
func ReadBodyOnce(r *http.Request) {
	if b, ok := r.Body.(*Body); ok {
		r.Body = onceBody{b}
	}
}

type onceBody struct{ *Body }

// Read implements [io.Reader].
func (b onceBody) Read(p []byte) (int, error) {
	n, err := b.Body.Read(p)
	if err != nil {
		b.drop()
	}
	return n, err
}

func (b *Body) drop() {
	b.data = nil
	b.Reset(nil)
}

// WriteTo implements [io.WriterTo]. An empty buffer gets the body itself, and may change it.
func (b onceBody) WriteTo(w io.Writer) (int64, error) {
	defer b.drop()
	if buf, ok := w.(*bytes.Buffer); ok && buf.Len() == 0 && b.Len() == len(b.data) {
		*buf = *bytes.NewBuffer(b.data)
		return int64(len(b.data)), nil
	}
	return b.Body.WriteTo(w)
}

// ReleaseDecoded releases the memory of decoded values, after the handler has started work.
func (b *Body) ReleaseDecoded() { b.shrink(b.size) }

// Release releases the memory. It may be called again.
func (b *Body) Release() { b.shrink(0) }

// RequestBody returns the whole body of a request, which can be read again. It does not copy a
// [Body].
func RequestBody(r *http.Request) ([]byte, error) {
	if b, ok := r.Body.(*Body); ok {
		b.Reset(b.data)
		return b.data, nil
	}
	data, err := io.ReadAll(r.Body)
	if err == nil {
		SetRequestBody(r, data)
	}
	return data, err
}

// SetRequestBody replaces the body of a request.
func SetRequestBody(r *http.Request, data []byte) {
	b, ok := r.Body.(*Body)
	if !ok {
		b = new(Body)
	}
	b.data = data
	b.Reset(data)
	r.Body, r.ContentLength = b, int64(len(data))
	r.Header.Del("Content-Length")
}

type memoryKey struct{}

// WithMemory returns a context with the memory for messages of a connection.
func WithMemory(ctx context.Context, m *Memory) context.Context {
	return context.WithValue(ctx, memoryKey{}, m)
}

// MemoryOf returns the memory in ctx, or nil.
func MemoryOf(ctx context.Context) *Memory {
	m, _ := ctx.Value(memoryKey{}).(*Memory)
	return m
}
