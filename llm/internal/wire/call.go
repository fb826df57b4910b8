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
	client       *Client
	model        string
	callerCtx    context.Context
	ctx          context.Context
	cancel       context.CancelCauseFunc
	detach       func() bool
	silenceTimer *time.Timer
	limit        atomic.Int64 // of silence, a time.Duration
	comments     *commentTimer
	released     <-chan struct{} // nil: not held
	trace        connTrace

	body     io.ReadCloser
	readErr  error // next result of Read
	complete bool  // see Finish
}

type errSilence time.Duration

func (e errSilence) Error() string { return fmt.Sprintf("no data for %v", time.Duration(e)) }

func (c *Client) newCall(ctx context.Context, model string) *call {
	k := &call{client: c, model: model, callerCtx: ctx}
	k.ctx, k.cancel = context.WithCancelCause(k.trace.traceContext(context.WithoutCancel(ctx)))
	if ctx.Err() != nil {
		k.cancel(ctx.Err()) // before the request is made
	}
	k.detach = context.AfterFunc(ctx, func() { k.cancel(ctx.Err()) })
	first := durationOr(c.HeaderTimeout, defaultHeader)
	k.limit.Store(int64(first))
	k.silenceTimer = time.AfterFunc(first, func() { k.cancel(errSilence(k.limit.Load())) })
	return k
}

func durationOr(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func (k *call) release() {
	k.silenceTimer.Stop()
	k.comments.stop()
	k.detach()
	k.cancel(nil)
}

// wrapBody makes the call resp's body. The silence timer waits for the first Read.
func (k *call) wrapBody(resp *http.Response) {
	k.silenceTimer.Stop()
	k.limit.Store(int64(durationOr(k.client.IdleTimeout, defaultIdle)))
	k.body, resp.Body = unzipBody(resp), k
}

func (k *call) annotateError(e *llm.Error) *llm.Error {
	e.Model = k.client.fullName(k.model)
	if e.Advice == "" {
		e.Advice = adviceOf(k.client.Advice, e.Class)
	}
	return e
}

func (k *call) unsentError(err error) error {
	var e *llm.Error
	if errors.As(err, &e) {
		return k.annotateError(e)
	}
	if e := k.stoppedError(); e != nil {
		if k.isHeld() {
			e.Err = errors.Join(errUnsent, e.Err)
		}
		return e
	}
	err = stripURL(err)
	if why := describeUnreachable(err); why != "" {
		return k.annotateError(&llm.Error{Class: llm.Unreachable, Message: why, Err: err})
	}
	if strings.Contains(err.Error(), "malformed HTTP ") { // has no type
		return k.annotateError(&llm.Error{Class: llm.Malformed, Message: "the server does not speak HTTP: check the base URL", Err: err})
	}
	return k.annotateError(&llm.Error{Class: llm.Transient, Message: "connection lost: " + textkit.VisibleLine(err.Error(), maxMessage), Err: err})
}

func (k *call) brokenError(err error) error {
	if e := k.stoppedError(); e != nil {
		return e
	}
	return k.annotateError(&llm.Error{Class: llm.Truncated, Message: "connection lost during the answer: " + textkit.VisibleLine(stripURL(err).Error(), maxMessage), Err: err})
}

// stoppedError returns the error of a call that this side ended, or nil.
func (k *call) stoppedError() *llm.Error {
	if err := k.callerCtx.Err(); err != nil {
		return k.annotateError(&llm.Error{Class: llm.Cancelled, Message: "cancelled", Err: err})
	}
	var silence errSilence
	if err := context.Cause(k.ctx); errors.As(err, &silence) {
		return k.annotateError(&llm.Error{Class: llm.Transient, Message: silence.Error(), Err: silence})
	}
	return nil
}

// stripURL removes the URL, which may contain a key.
func stripURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// describeUnreachable describes a failed connection, or returns "".
func describeUnreachable(err error) string {
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
	if isUntrusted(err) {
		return textkit.VisibleLine(err.Error(), maxMessage)
	}
	return ""
}

// Read implements io.Reader. Only it runs the silence timer.
func (k *call) Read(p []byte) (int, error) {
	if k.readErr != nil {
		return 0, k.readErr
	}
	k.silenceTimer.Reset(time.Duration(k.limit.Load()))
	n, err := k.body.Read(p)
	k.silenceTimer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = k.brokenError(err)
	}
	k.readErr = err
	return n, err
}

// Close implements io.Closer. It closes the connection unless the body was read or
// [Finish] was called.
func (k *call) Close() error {
	ended := k.readErr
	k.readErr = http.ErrBodyReadAfterClose
	if k.complete && ended == nil {
		k.detach() // the caller may cancel its context
		go k.drain()
		return nil
	}
	k.release() // do not block
	return k.body.Close()
}

// drain lets the connection be reused.
func (k *call) drain() {
	k.silenceTimer.Reset(drainTime)
	_, _ = io.CopyN(io.Discard, k.body, drainSize)
	k.release()
	_ = k.body.Close()
}

// Finish marks an answer of [Client.Do] as complete. Its Close then keeps the connection
// if the rest is short and prompt, without blocking.
func Finish(resp *http.Response) {
	if k, ok := resp.Body.(*call); ok {
		k.complete = true
	}
}

type heldKey struct{}

// PrepareContext returns a context with which [Client.Do] connects, but sends no body before
// released is closed. Without a body the request starts then.
func PrepareContext(ctx context.Context, released <-chan struct{}) context.Context {
	return context.WithValue(ctx, heldKey{}, released)
}

// ImmediateContext returns ctx without a hold, for free requests that others await.
func ImmediateContext(ctx context.Context) context.Context { return PrepareContext(ctx, nil) }

func holdRequest(k *call, req *http.Request) error {
	k.released, _ = k.ctx.Value(heldKey{}).(<-chan struct{})
	if !k.isHeld() {
		return nil
	}
	k.silenceTimer.Stop() // no answer is due yet
	if req.Body == nil {
		return k.awaitRelease()
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

func (k *call) isHeld() bool {
	select {
	case <-k.released:
		return false
	default:
		return k.released != nil
	}
}

// awaitRelease blocks until the release and starts the silence timer.
func (k *call) awaitRelease() error {
	select {
	case <-k.released:
		k.silenceTimer.Reset(time.Duration(k.limit.Load()))
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
	if b.call.isHeld() {
		if err := b.call.awaitRelease(); err != nil {
			return 0, err
		}
	}
	return b.ReadCloser.Read(p)
}

// lingerTime limits the wait after the terminal event.
const lingerTime = 10 * time.Second

// A commentTimer ends a stream that carries only comments. A nil clock does nothing. It is not
// safe for concurrent use.
type commentTimer struct{ timer *time.Timer }

// startCommentTimer runs until the first event. Streams without comments need no clock.
func startCommentTimer(resp *http.Response) *commentTimer {
	k, ok := resp.Body.(*call)
	if !ok {
		return nil
	}
	first := durationOr(k.client.HeaderTimeout, defaultHeader)
	k.comments = &commentTimer{time.AfterFunc(first, func() { k.cancel(errSilence(first)) })}
	if !IsType(resp, "text/event-stream") {
		k.comments.stop()
	}
	return k.comments
}

// notePiece stops or restarts the clock. over means that the terminal event was seen; more
// restarts it then.
func (c *commentTimer) notePiece(over, more bool) {
	switch {
	case c == nil:
	case !over:
		c.timer.Stop()
	case more:
		c.timer.Reset(lingerTime)
	}
}

func (c *commentTimer) stop() {
	if c != nil {
		c.timer.Stop()
	}
}
