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

// An Update is what a stream says at once: an event, a piece of what a model is writing,
// that the stream goes on elsewhere, or how a turn has ended. One of them is set.
type Update struct {
	Event *ponder.Event
	Piece *Piece
	Gap   *Gap
	Turn  *Turn
}

// A Piece is a part of what a model is writing at the moment. Pieces may be lost: what
// was written comes as an event in the end.
type Piece struct {
	Run  ponder.RunID `json:"run_id"`
	Key  string       `json:"key"` // the action that it is written for
	Text string       `json:"text"`
}

// A Gap is that the thread is not the one that the cursor was of, or has not come so far.
// The stream goes on behind After; whoever has put together what came before it begins
// anew.
type Gap struct {
	After ponder.Seq `json:"after"`
}

const (
	// silence is how long a stream may say nothing; a server gives signs of life every 15 s.
	silence = 45 * time.Second

	// farewell is how long the end of a connection may take on which all is said. One that
	// is read to its end is used again.
	farewell = 100 * time.Millisecond
)

// A follower is a stream over however many connections.
type follower struct {
	*Client
	call  call
	seen  ponder.Seq
	alive time.Time // when there was a connection last
	fails int       // connections without anything new, since something was
	pause time.Duration
	ended bool // the last event was the end of a run
	over  bool // there will be nothing more
	yield func(Update, error) bool
}

// errStop is that nobody reads any more.
var errStop = errors.New("stopped")

// follow returns what a stream says behind an event, until it is over, ctx is done, or
// it stays broken for longer than patience. An error is the last that it yields.
func (c *Client) follow(ctx context.Context, path string, after ponder.Seq) iter.Seq2[Update, error] {
	return c.stream(ctx, call{method: http.MethodGet, path: path}, after)
}

// stream returns what comes of a request; see follow.
func (c *Client) stream(ctx context.Context, r call, after ponder.Seq) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		f := &follower{Client: c, call: r, seen: after, alive: time.Now(), yield: yield}
		for {
			err := f.connect(ctx)
			if f.over || errors.Is(err, errStop) {
				return
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			} else if f.wait(ctx, err) {
				continue
			}
			err = cmp.Or(err, io.ErrUnexpectedEOF)
			yield(Update{}, fmt.Errorf("%s %s: %w", r.method, r.path, err))
			return
		}
	}
}

// wait waits before the next connection, and reports whether to make one.
func (f *follower) wait(ctx context.Context, err error) bool {
	if err == nil {
		err = lostError{io.ErrUnexpectedEOF}
	}
	d, ok := waitFor(err, f.fails)
	if f.fails++; !ok || f.Patience < 0 {
		return false
	}
	if f.fails == 1 && f.ended {
		return true // this answers whether there will be more
	}
	d = max(d, f.pause)
	patience := cmp.Or(f.Patience, DefaultPatience)
	return time.Since(f.alive)+d <= patience && sleep(ctx, d)
}

// connect reads from one connection until it ends.
func (f *follower) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := f.call
	r.header = http.Header{"Accept": {"text/event-stream"}}
	if f.seen > 0 {
		r.header.Set("Last-Event-ID", strconv.FormatInt(int64(f.seen), 10))
	}
	resp, err := f.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		f.over = true
		return nil
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return errors.New("the answer is no stream of events: is the address right?")
	}
	defer func() { f.alive = time.Now() }()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	in := newEventReader(heard{resp.Body, func() {
		if !f.over {
			quiet.Reset(silence)
		}
	}})
	for {
		m, err := in.next()
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
		if err := f.take(m); err != nil {
			return err
		}
		if f.over {
			quiet.Reset(farewell)
		}
	}
}

// take passes a message on. What it does not know it leaves out: servers learn.
func (f *follower) take(m message) error {
	var u Update
	switch {
	case m.name == "delta":
		u.Piece = new(Piece)
		if err := json.Unmarshal(m.data, u.Piece); err != nil {
			return fmt.Errorf("a piece cannot be read: %w", err)
		}
	case m.name == "gap":
		u.Gap = new(Gap)
		if err := json.Unmarshal(m.data, u.Gap); err != nil {
			return fmt.Errorf("a gap cannot be read: %w", err)
		}
		f.seen = u.Gap.After
	case m.name == "turn":
		u.Turn, f.over = new(Turn), true
		if err := json.Unmarshal(m.data, u.Turn); err != nil {
			f.over = false
			return fmt.Errorf("the end of a turn cannot be read: %w", err)
		}
	case m.name == "removed":
		f.fails, f.ended = 0, true // the next connection says so
		return nil
	case m.name != "message" || m.id == "":
		return nil
	default:
		var ev ponder.Event
		if err := json.Unmarshal(m.data, &ev); err != nil {
			return fmt.Errorf("an event cannot be read: %w", err)
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

// heard tells when something is read.
type heard struct {
	io.Reader
	tell func()
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.tell()
	}
	return n, err
}
