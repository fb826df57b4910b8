package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

type heldKey struct{}

// Hold returns a context with which [Client.Do] holds back what it sends until released is
// closed: it has found or made a connection by then, and nothing of a body leaves before.
// A request without a body begins when it is released.
func Hold(ctx context.Context, released <-chan struct{}) context.Context {
	return context.WithValue(ctx, heldKey{}, released)
}

// Free returns a context like ctx with which nothing is held back: for questions that cost
// nothing, which others may wait for.
func Free(ctx context.Context) context.Context { return Hold(ctx, nil) }

// hold holds a request back if its caller is to.
func hold(k *call, req *http.Request) error {
	k.held, _ = k.ctx.Value(heldKey{}).(<-chan struct{})
	if !k.waits() {
		return nil
	}
	k.silent.Stop() // nobody can answer yet
	if req.Body == nil {
		return k.await()
	}
	again := req.GetBody
	req.Body = &heldBody{k, req.Body}
	req.GetBody = func() (io.ReadCloser, error) { // for a connection that was closed meanwhile
		body, err := again()
		return &heldBody{k, body}, err
	}
	return nil
}

// errUnsent is of a request that was given up before it was released.
var errUnsent = errors.New("not sent")

// waits reports whether the call is held back.
func (k *call) waits() bool {
	select {
	case <-k.held:
		return false
	default:
		return k.held != nil
	}
}

// await waits until the call is released. The clock of silence begins then.
func (k *call) await() error {
	select {
	case <-k.held:
		k.silent.Reset(time.Duration(k.limit.Load()))
		return nil
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}

// A heldBody is a body of which nothing can be read before its call is released.
type heldBody struct {
	call *call
	io.ReadCloser
}

func (b *heldBody) Read(p []byte) (int, error) {
	if b.call.waits() {
		if err := b.call.await(); err != nil {
			return 0, err
		}
	}
	return b.ReadCloser.Read(p)
}
