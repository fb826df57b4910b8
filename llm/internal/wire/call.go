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

// drainTime and drainSize bound what is read after the end of an answer to
// keep its connection.
const (
	drainTime = time.Second
	drainSize = 64 << 10
)

// A call is one request under way, and then the body of its answer. It ends the
// request's own context when the caller's ends or nothing has come for too long.
type call struct {
	client *Client
	model  string // the provider's own name
	caller context.Context
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	detach func() bool // stops following the caller's context
	silent *time.Timer
	limit  atomic.Int64    // of silence, a time.Duration
	clock  *clock          // of what has to come, whatever else does
	held   <-chan struct{} // closed when it may be sent; nil: at once
	way    passage

	rc       io.ReadCloser
	ended    error // what Read returns from now on
	complete bool  // the rest is of no interest
}

// errSilence is the cause when nothing came for too long.
type errSilence time.Duration

func (e errSilence) Error() string { return fmt.Sprintf("no data for %v", time.Duration(e)) }

func (c *Client) call(ctx context.Context, model string) *call {
	k := &call{client: c, model: model, caller: ctx}
	k.ctx, k.cancel = context.WithCancelCause(k.way.follow(context.WithoutCancel(ctx)))
	if ctx.Err() != nil {
		k.cancel(ctx.Err()) // before the request is made, not beside it
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

// release frees what the call holds and closes its connection if it is open.
func (k *call) release() {
	k.silent.Stop()
	k.clock.stop()
	k.detach()
	k.cancel(nil)
}

// wrap makes the call the body of its answer. The clock of silence stands until
// it is read.
func (k *call) wrap(resp *http.Response) {
	k.silent.Stop()
	k.limit.Store(int64(orElse(k.client.IdleTimeout, defaultIdle)))
	k.rc, resp.Body = unzipped(resp), k
}

// fail completes an error with what the call knows.
func (k *call) fail(e *llm.Error) *llm.Error {
	e.Model = k.client.full(k.model)
	if e.Advice == "" {
		e.Advice = adviceOf(k.client.Advice, e.Class)
	}
	return e
}

// unsent says why there is no answer at all.
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
	if strings.Contains(err.Error(), "malformed HTTP ") { // which has no type
		return k.fail(&llm.Error{Class: llm.Malformed, Message: "what answers there does not speak HTTP: is the base URL right?", Err: err})
	}
	return k.fail(&llm.Error{Class: llm.Transient, Message: "connection lost: " + textkit.VisibleLine(err.Error(), maxMessage), Err: err})
}

// broken says why the body could not be read on.
func (k *call) broken(err error) error {
	if e := k.stopped(); e != nil {
		return e
	}
	return k.fail(&llm.Error{Class: llm.Truncated, Message: "connection lost in mid-answer: " + textkit.VisibleLine(cause(err).Error(), maxMessage), Err: err})
}

// stopped returns the error of a call that was ended on this side, or nil.
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

// cause takes off the wrapper that holds the address, which may hold a key.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// unreachable says in plain words why there is no connection, or "" if there
// was one.
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

// Read implements io.Reader; the clock of silence runs only within it.
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

// Close implements io.Closer. It closes the connection unless the body was
// read to its end or finished.
func (k *call) Close() error {
	ended := k.ended
	k.ended = http.ErrBodyReadAfterClose
	if k.complete && ended == nil {
		k.detach() // the caller is done and may end its context
		go k.drain()
		return nil
	}
	k.release() // first, so that Close waits for nothing
	return k.rc.Close()
}

// drain reads the rest if it is short and comes soon.
func (k *call) drain() {
	k.silent.Reset(drainTime)
	_, _ = io.CopyN(io.Discard, k.rc, drainSize) // whatever it is, nobody waits for it
	k.release()
	_ = k.rc.Close()
}

// Finish says that an answer of [Client.Do] is complete though its body may
// not have ended: closing it then keeps the connection if the rest is short and
// comes at once. It does not wait.
func Finish(resp *http.Response) {
	if k, ok := resp.Body.(*call); ok {
		k.complete = true
	}
}

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

// lingerTime is how long what follows the terminal signal of an answer may take.
const lingerTime = 10 * time.Second

// A clock ends a call if what has to come does not, though something else does, such as
// comments. All methods of a nil one do nothing. It is used by one goroutine.
type clock struct{ timer *time.Timer }

// clockOf returns the clock of an answer. Of a stream of events it runs until the first has
// come; of what has no comments, each byte is a part of the answer.
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

// piece notes that a piece has come. Over says that the answer is complete, and more that
// the clock of what follows begins anew.
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
