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

// Limits of the rest read to keep a connection.
const (
	drainTime = time.Second
	drainSize = 64 << 10
)

// A call is a request and its answer's body. It ends with the caller's context or after
// too long a silence.
type call struct {
	client *Client
	model  string
	caller context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	detach func() bool
	silent *time.Timer
	limit  atomic.Int64 // of silence, a time.Duration
	clock  *clock
	held   <-chan struct{} // nil: not held
	way    passage

	rc       io.ReadCloser
	ended    error // next result of Read
	complete bool  // see Finish
}

type errSilence time.Duration

func (e errSilence) Error() string { return fmt.Sprintf("no data for %v", time.Duration(e)) }

func (c *Client) call(ctx context.Context, model string) *call {
	k := &call{client: c, model: model, caller: ctx}
	k.ctx, k.cancel = context.WithCancelCause(k.way.follow(context.WithoutCancel(ctx)))
	if ctx.Err() != nil {
		k.cancel(ctx.Err()) // before the request is made
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

func (k *call) release() {
	k.silent.Stop()
	k.clock.stop()
	k.detach()
	k.cancel(nil)
}

// wrap makes the call resp's body. The silence timer waits for the first Read.
func (k *call) wrap(resp *http.Response) {
	k.silent.Stop()
	k.limit.Store(int64(orElse(k.client.IdleTimeout, defaultIdle)))
	k.rc, resp.Body = unzipped(resp), k
}

func (k *call) fail(e *llm.Error) *llm.Error {
	e.Model = k.client.full(k.model)
	if e.Advice == "" {
		e.Advice = adviceOf(k.client.Advice, e.Class)
	}
	return e
}

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

// cause removes the URL, which may contain a key.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// unreachable describes a failed connection, or returns "".
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

// Read implements io.Reader. Only it runs the silence timer.
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

// Close implements io.Closer. It closes the connection unless the body was read or
// [Finish] was called.
func (k *call) Close() error {
	ended := k.ended
	k.ended = http.ErrBodyReadAfterClose
	if k.complete && ended == nil {
		k.detach() // the caller may cancel its context
		go k.drain()
		return nil
	}
	k.release() // do not block
	return k.rc.Close()
}

// drain lets the connection be reused.
func (k *call) drain() {
	k.silent.Reset(drainTime)
	_, _ = io.CopyN(io.Discard, k.rc, drainSize)
	k.release()
	_ = k.rc.Close()
}

// Finish marks an answer of [Client.Do] as complete. Its Close then keeps the connection
// if the rest is short and prompt, without blocking.
func Finish(resp *http.Response) {
	if k, ok := resp.Body.(*call); ok {
		k.complete = true
	}
}

type heldKey struct{}

// Hold returns a context with which [Client.Do] connects, but sends no body before
// released is closed. Without a body the request starts then.
func Hold(ctx context.Context, released <-chan struct{}) context.Context {
	return context.WithValue(ctx, heldKey{}, released)
}

// Free returns ctx without a hold, for free requests that others await.
func Free(ctx context.Context) context.Context { return Hold(ctx, nil) }

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
	req.GetBody = func() (io.ReadCloser, error) { // after a stale connection
		body, err := again()
		return &heldBody{k, body}, err
	}
	return nil
}

var errUnsent = errors.New("not sent")

func (k *call) waits() bool {
	select {
	case <-k.held:
		return false
	default:
		return k.held != nil
	}
}

// await blocks until the release and starts the silence timer.
func (k *call) await() error {
	select {
	case <-k.held:
		k.silent.Reset(time.Duration(k.limit.Load()))
		return nil
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}

// A heldBody blocks until the release.
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

// lingerTime limits the wait after the terminal event.
const lingerTime = 10 * time.Second

// A clock ends a stream that carries only comments. A nil clock does nothing. It is not
// safe for concurrent use.
type clock struct{ timer *time.Timer }

// clockOf runs until the first event. Streams without comments need no clock.
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

// piece stops or restarts the clock. over means that the terminal event was seen; more
// restarts it then.
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
