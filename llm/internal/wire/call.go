package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"ponder/llm"
)

// drainTime and drainSize bound what is read after the end of an answer to
// keep its connection.
const (
	drainTime = time.Second
	drainSize = 64 << 10
)

// A call is one request under way: it ends the request's own context when the
// caller's ends or nothing has come for too long.
type call struct {
	client *Client
	model  string
	caller context.Context
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	detach func() bool // stops following the caller's context
	silent *time.Timer
	idle   time.Duration
}

// errSilence is the cause when nothing came for too long.
type errSilence time.Duration

func (e errSilence) Error() string { return fmt.Sprintf("no data for %v", time.Duration(e)) }

func (c *Client) call(ctx context.Context, model string) *call {
	k := &call{client: c, model: c.full(model), caller: ctx, idle: orElse(c.IdleTimeout, defaultIdle)}
	k.ctx, k.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	k.detach = context.AfterFunc(ctx, func() { k.cancel(ctx.Err()) })
	first := orElse(c.HeaderTimeout, defaultHeader)
	k.silent = time.AfterFunc(first, func() { k.cancel(errSilence(first)) })
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
	k.detach()
	k.cancel(nil)
}

// wrap puts the call's reader around the body of its answer.
func (k *call) wrap(resp *http.Response) {
	k.silent.Stop()
	k.silent = time.AfterFunc(k.idle, func() { k.cancel(errSilence(k.idle)) })
	resp.Body = &body{call: k, rc: resp.Body}
}

// fail completes an error with what the call knows.
func (k *call) fail(e *llm.Error) *llm.Error {
	e.Model = k.model
	if e.Advice == "" {
		e.Advice = k.client.advise(e.Class)
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
		return e
	}
	err = cause(err)
	if why := unreachable(err); why != "" {
		return k.fail(&llm.Error{Class: llm.Unreachable, Message: why, Err: err})
	}
	return k.fail(&llm.Error{Class: llm.Transient, Message: "connection lost: " + oneLine(err.Error()), Err: err})
}

// broken says why the body could not be read on.
func (k *call) broken(err error) error {
	if e := k.stopped(); e != nil {
		return e
	}
	return k.fail(&llm.Error{Class: llm.Truncated, Message: "connection lost in mid-answer: " + oneLine(cause(err).Error()), Err: err})
}

// stopped returns the error of a call that was ended on this side, or nil.
func (k *call) stopped() error {
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
		return "no such host: " + oneLine(dns.Name)
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
		return "cannot connect" + where + ": " + oneLine(op.Err.Error())
	}
	if untrusted(err) {
		return oneLine(err.Error())
	}
	return ""
}

// body reads an answer under its call's idle timeout.
type body struct {
	call     *call
	rc       io.ReadCloser
	ended    error // what Read returns from now on
	complete bool  // the rest is of no interest
}

// Read implements io.Reader; the clock of silence runs only within it.
func (b *body) Read(p []byte) (int, error) {
	if b.ended != nil {
		return 0, b.ended
	}
	b.call.silent.Reset(b.call.idle)
	n, err := b.rc.Read(p)
	b.call.silent.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.call.broken(err)
	}
	b.ended = err
	return n, err
}

// Close implements io.Closer. It closes the connection unless the body was
// read to its end or finished.
func (b *body) Close() error {
	ended := b.ended
	b.ended = http.ErrBodyReadAfterClose
	if b.complete && ended == nil {
		b.call.detach() // the caller is done and may end its context
		go b.drain()
		return nil
	}
	b.call.release() // first, so that Close waits for nothing
	return b.rc.Close()
}

// drain reads the rest if it is short and comes soon.
func (b *body) drain() {
	b.call.silent.Reset(drainTime)
	_, _ = io.CopyN(io.Discard, b.rc, drainSize) // whatever it is, nobody waits for it
	b.call.release()
	_ = b.rc.Close()
}

// Finish says that an answer of [Client.Do] is complete though its body may
// not have ended: closing it then keeps the connection if the rest is short and
// comes at once. It does not wait.
func Finish(resp *http.Response) {
	if b, ok := resp.Body.(*body); ok {
		b.complete = true
	}
}
