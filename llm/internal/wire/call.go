package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ponder/internal/textkit"
	"ponder/llm"
)

// drainTime and drainSize limit the rest of an answer that is read to keep the
// connection.
const (
	drainTime = time.Second
	drainSize = 64 << 10
)

// A call is one request and then the body of its answer. It cancels the request when the
// caller's context ends or the server is silent for too long.
type call struct {
	client *Client
	model  string // provider's own name
	caller context.Context
	ctx    context.Context // the request's
	cancel context.CancelCauseFunc
	detach func() bool // detaches from the caller's context
	silent *time.Timer
	limit  atomic.Int64    // of silence, a time.Duration
	clock  *clock          // limits the wait for events
	held   <-chan struct{} // closed at the release; nil: not held
	way    passage

	rc       io.ReadCloser
	ended    error // what Read returns from now on
	complete bool  // the answer is complete; see Finish
}

// errSilence is the cause after too long a silence.
type errSilence time.Duration

func (e errSilence) Error() string { return fmt.Sprintf("no data for %v", time.Duration(e)) }

func (c *Client) call(ctx context.Context, model string) *call {
	k := &call{client: c, model: model, caller: ctx}
	k.ctx, k.cancel = context.WithCancelCause(k.way.follow(context.WithoutCancel(ctx)))
	if ctx.Err() != nil {
		k.cancel(ctx.Err()) // synchronously, before the request is made
	}
	k.detach = context.AfterFunc(ctx, func() { k.cancel(ctx.Err()) })
	first := orElse(c.HeaderTimeout, defaultHeader)
	k.limit.Store(int64(first))
	k.silent = time.AfterFunc(first, func() { k.cancel(errSilence(k.limit.Load())) })
	return k
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// release frees the call's resources and closes an open connection.
func (k *call) release() {
	k.silent.Stop()
	k.clock.stop()
	k.detach()
	k.cancel(nil)
}

// wrap makes the call the body of resp. The silence timer stops until the first Read.
func (k *call) wrap(resp *http.Response) {
	k.silent.Stop()
	k.limit.Store(int64(orElse(k.client.IdleTimeout, defaultIdle)))
	k.rc, resp.Body = unzipped(resp), k
}

// fail adds the model and advice to e.
func (k *call) fail(e *llm.Error) *llm.Error {
	e.Model = k.client.full(k.model)
	if e.Advice == "" {
		e.Advice = adviceOf(k.client.Advice, e.Class)
	}
	return e
}

// unsent returns the error of a call without an answer.
func (k *call) unsent(err error) error {
	var e *llm.Error
	if errors.As(err, &e) {
		return k.fail(e)
	}
	if e := k.stopped(); e != nil {
		if k.waits() {
			e.Err = errors.Join(errUnsent, e.Err)
		}
		return e
	}
	err = cause(err)
	if why := unreachable(err); why != "" {
		return k.fail(&llm.Error{Class: llm.Unreachable, Message: why, Err: err})
	}
	if strings.Contains(err.Error(), "malformed HTTP ") { // has no type
		return k.fail(&llm.Error{Class: llm.Malformed, Message: "what answers there does not speak HTTP: is the base URL right?", Err: err})
	}
	return k.fail(&llm.Error{Class: llm.Transient, Message: "connection lost: " + textkit.VisibleLine(err.Error(), maxMessage), Err: err})
}

// broken returns the error of a failed body read.
func (k *call) broken(err error) error {
	if e := k.stopped(); e != nil {
		return e
	}
	return k.fail(&llm.Error{Class: llm.Truncated, Message: "connection lost in mid-answer: " + textkit.VisibleLine(cause(err).Error(), maxMessage), Err: err})
}

// stopped returns the error of a call that this side ended, or nil.
func (k *call) stopped() *llm.Error {
	if err := k.caller.Err(); err != nil {
		return k.fail(&llm.Error{Class: llm.Cancelled, Message: "cancelled", Err: err})
	}
	var silence errSilence
	if err := context.Cause(k.ctx); errors.As(err, &silence) {
		return k.fail(&llm.Error{Class: llm.Transient, Message: silence.Error(), Err: silence})
	}
	return nil
}

// cause unwraps a url.Error, whose URL may contain a key.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// unreachable describes a failed connection, or returns "" if there was one.
func unreachable(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "no such host: " + textkit.VisibleLine(dns.Name, maxMessage)
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		where := ""
		if op.Addr != nil {
			where = " to " + op.Addr.String()
		}
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return "cannot connect" + where + ": connection refused"
		case op.Timeout():
			return "cannot connect" + where + ": no answer"
		}
		return "cannot connect" + where + ": " + textkit.VisibleLine(op.Err.Error(), maxMessage)
	}
	if untrusted(err) {
		return textkit.VisibleLine(err.Error(), maxMessage)
	}
	return ""
}

// Read implements io.Reader. The silence timer runs only within it.
func (k *call) Read(p []byte) (int, error) {
	if k.ended != nil {
		return 0, k.ended
	}
	k.silent.Reset(time.Duration(k.limit.Load()))
	n, err := k.rc.Read(p)
	k.silent.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = k.broken(err)
	}
	k.ended = err
	return n, err
}

// Close implements io.Closer. It closes the connection unless the body was read to its
// end or [Finish] was called.
func (k *call) Close() error {
	ended := k.ended
	k.ended = http.ErrBodyReadAfterClose
	if k.complete && ended == nil {
		k.detach() // the caller may now cancel its context
		go k.drain()
		return nil
	}
	k.release() // first, so that Close does not block
	return k.rc.Close()
}

// drain reads a short rest, so that the connection can be reused.
func (k *call) drain() {
	k.silent.Reset(drainTime)
	_, _ = io.CopyN(io.Discard, k.rc, drainSize) // best effort
	k.release()
	_ = k.rc.Close()
}

// Finish marks an answer of [Client.Do] as complete, although its body may continue.
// Closing it then keeps the connection if the rest is short and prompt. Finish does not
// block.
func Finish(resp *http.Response) {
	if k, ok := resp.Body.(*call); ok {
		k.complete = true
	}
}

type heldKey struct{}

// Hold returns a context with which [Client.Do] connects but sends no byte of the body
// until released is closed. A request without a body starts at the release.
func Hold(ctx context.Context, released <-chan struct{}) context.Context {
	return context.WithValue(ctx, heldKey{}, released)
}

// Free returns ctx without a hold, for free requests that others may wait for.
func Free(ctx context.Context) context.Context { return Hold(ctx, nil) }

// hold applies the context's hold to req.
func hold(k *call, req *http.Request) error {
	k.held, _ = k.ctx.Value(heldKey{}).(<-chan struct{})
	if !k.waits() {
		return nil
	}
	k.silent.Stop() // no answer is due yet
	if req.Body == nil {
		return k.await()
	}
	again := req.GetBody
	req.Body = &heldBody{k, req.Body}
	req.GetBody = func() (io.ReadCloser, error) { // for a connection closed meanwhile
		body, err := again()
		return &heldBody{k, body}, err
	}
	return nil
}

// errUnsent marks a request that ended before its release.
var errUnsent = errors.New("not sent")

// waits reports whether the call is held.
func (k *call) waits() bool {
	select {
	case <-k.held:
		return false
	default:
		return k.held != nil
	}
}

// await blocks until the release and then starts the silence timer.
func (k *call) await() error {
	select {
	case <-k.held:
		k.silent.Reset(time.Duration(k.limit.Load()))
		return nil
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}

// A heldBody blocks reads until its call is released.
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

// lingerTime limits the wait for events after the terminal one.
const lingerTime = 10 * time.Second

// A clock ends a call whose stream carries only comments. Methods of a nil clock do
// nothing. Only one goroutine may use it.
type clock struct{ timer *time.Timer }

// clockOf returns an answer's clock. For an event stream it runs until the first event;
// other streams have no comments and need none.
func clockOf(resp *http.Response) *clock {
	k, ok := resp.Body.(*call)
	if !ok {
		return nil
	}
	first := orElse(k.client.HeaderTimeout, defaultHeader)
	k.clock = &clock{time.AfterFunc(first, func() { k.cancel(errSilence(first)) })}
	if !IsType(resp, "text/event-stream") {
		k.clock.stop()
	}
	return k.clock
}

// piece records a piece. over reports that the terminal event was seen; more restarts the
// clock then.
func (c *clock) piece(over, more bool) {
	switch {
	case c == nil:
	case !over:
		c.timer.Stop()
	case more:
		c.timer.Reset(lingerTime)
	}
}

func (c *clock) stop() {
	if c != nil {
		c.timer.Stop()
	}
}
