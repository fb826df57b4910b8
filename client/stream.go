package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ponder"
)

// An Update is an item of a stream. Exactly one field is set.
type Update struct {
	Event *ponder.Event
	Piece *Piece
	Gap   *Gap
	Turn  *Turn
}

// A Piece is a part of the text that a model writes. Pieces may be lost; an event has the
// whole text later.
type Piece struct {
	Run  ponder.RunID `json:"run_id"`
	Key  string       `json:"key"` // of the action
	Text string       `json:"text"`
}

// A Gap says that the thread was replaced, or is shorter than the cursor. The stream
// continues after After. Callers must drop the state from earlier events.
type Gap struct {
	After ponder.Seq `json:"after"`
}

const (
	// silence limits the time without data; the server sends a heartbeat every 15 s.
	silence = 45 * time.Second

	// endWait limits the wait for the end of a connection after the last message. A
	// connection that was read to its end can be reused.
	endWait = 100 * time.Millisecond
)

// A follower reads one stream over several connections.
type follower struct {
	*Client
	call  call
	seen  ponder.Seq
	alive time.Time // the end of the last connection
	fails int       // connections without news since the last news
	pause time.Duration
	ended bool // the last event ended a root run
	over  bool // the stream is complete
	yield func(Update, error) bool
}

// errStop says that the caller stopped the iteration.
var errStop = errors.New("stopped")

// followStream iterates over a stream after an event, until it is complete, ctx ends, or it is
// disconnected for longer than patience. An error ends the iteration.
func (c *Client) followStream(ctx context.Context, path string, after ponder.Seq) iter.Seq2[Update, error] {
	return c.streamUpdates(ctx, call{method: http.MethodGet, path: path}, after)
}

// streamUpdates iterates over the stream that a request returns; see follow.
func (c *Client) streamUpdates(ctx context.Context, r call, after ponder.Seq) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		f := &follower{Client: c, call: r, seen: after, alive: time.Now(), yield: yield}
		for {
			err := f.connectOnce(ctx)
			if f.over || errors.Is(err, errStop) {
				return
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			} else if f.waitReconnect(ctx, err) {
				continue
			}
			err = cmp.Or(err, io.ErrUnexpectedEOF)
			yield(Update{}, fmt.Errorf("%s %s: %w", r.method, r.path, err))
			return
		}
	}
}

// waitReconnect waits before the next connection, and reports whether to connect.
func (f *follower) waitReconnect(ctx context.Context, err error) bool {
	if err == nil {
		err = lostError{io.ErrUnexpectedEOF}
	}
	d, ok := waitFor(err, f.fails)
	if f.fails++; !ok || f.RetryTime < 0 {
		return false
	}
	if f.fails == 1 && f.ended {
		return true // the answer says whether the stream continues
	}
	d = max(d, f.pause)
	patience := cmp.Or(f.RetryTime, DefaultRetryTime)
	return time.Since(f.alive)+d <= patience && sleepContext(ctx, d)
}

func (f *follower) connectOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := f.call
	r.header = http.Header{"Accept": {"text/event-stream"}}
	if f.seen > 0 {
		r.header.Set("Last-Event-ID", strconv.FormatInt(int64(f.seen), 10))
	}
	resp, err := f.sendRequest(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		f.over = true
		return nil
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return errors.New("the answer is not an event stream; check the address")
	}
	defer func() { f.alive = time.Now() }()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	in := newEventReader(activityReader{resp.Body, func() {
		if !f.over {
			quiet.Reset(silence)
		}
	}})
	for {
		m, err := in.nextMessage()
		f.pause = in.retry
		switch {
		case f.over && err != nil, errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			return err
		case err != nil:
			return lostError{err}
		case f.over:
			continue
		}
		if err := f.handleMessage(m); err != nil {
			return err
		}
		if f.over {
			quiet.Reset(endWait)
		}
	}
}

// handleMessage processes a message. It ignores unknown messages, so that servers may add some.
func (f *follower) handleMessage(m message) error {
	var u Update
	switch {
	case m.name == "delta":
		u.Piece = new(Piece)
		if err := json.Unmarshal(m.data, u.Piece); err != nil {
			return fmt.Errorf("read a delta: %w", err)
		}
	case m.name == "gap":
		u.Gap = new(Gap)
		if err := json.Unmarshal(m.data, u.Gap); err != nil {
			return fmt.Errorf("read a gap: %w", err)
		}
		f.seen = u.Gap.After
	case m.name == "turn":
		u.Turn, f.over = new(Turn), true
		if err := json.Unmarshal(m.data, u.Turn); err != nil {
			f.over = false
			return fmt.Errorf("read the end of a turn: %w", err)
		}
	case m.name == "removed":
		f.fails, f.ended = 0, true // the next connection reports it
		return nil
	case m.name != "message" || m.id == "":
		return nil
	default:
		var ev ponder.Event
		if err := json.Unmarshal(m.data, &ev); err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		if ev.Seq <= f.seen {
			return nil
		}
		_, fin := ev.Body.(ponder.RunFinished)
		f.seen, f.fails, f.ended = ev.Seq, 0, fin && ev.Run.Parent() == ""
		u.Event = &ev
	}
	if !f.yield(u, nil) {
		return errStop
	}
	return nil
}

type activityReader struct {
	io.Reader
	onRead func()
}

func (h activityReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.onRead()
	}
	return n, err
}
