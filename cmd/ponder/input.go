package main

import (
	"context"
	"io"
)

// stdin returns standard input, of which a read ends with the context too: nobody is
// waited for whom the user no longer waits for. What comes after that is lost.
func (a *cli) stdin(ctx context.Context) io.Reader { return &input{ctx: ctx, in: a.in} }

// An input is a reader that is read from by one goroutine at a time.
type input struct {
	ctx context.Context
	in  io.Reader
	buf []byte // of the read that goes on; nobody else has it
}

// Read returns the cause of the context's end once it has ended.
func (r *input) Read(b []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	if len(r.buf) < len(b) {
		r.buf = make([]byte, len(b))
	}
	type read struct {
		n   int
		err error
	}
	done := make(chan read, 1)
	go func() {
		n, err := r.in.Read(r.buf[:len(b)])
		done <- read{n, err}
	}()
	select {
	case v := <-done:
		return copy(b, r.buf[:v.n]), v.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}
