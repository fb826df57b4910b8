package wire

import (
	"context"
	"io"
	"net/http"
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
	released, _ := k.ctx.Value(heldKey{}).(<-chan struct{})
	if released == nil {
		return nil
	}
	if req.Body == nil {
		return await(k.ctx, released)
	}
	again := req.GetBody
	req.Body = &heldBody{k.ctx, released, req.Body}
	req.GetBody = func() (io.ReadCloser, error) { // for a connection that was closed meanwhile
		body, err := again()
		return &heldBody{k.ctx, released, body}, err
	}
	return nil
}

func await(ctx context.Context, released <-chan struct{}) error {
	select {
	case <-released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A heldBody is a body of which nothing can be read before it is released.
type heldBody struct {
	ctx      context.Context //nolint:containedctx // of this one request
	released <-chan struct{}
	io.ReadCloser
}

func (b *heldBody) Read(p []byte) (int, error) {
	if err := await(b.ctx, b.released); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}
