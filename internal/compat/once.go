package compat

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"ponder"
)

// Clients that time out send a request again, mostly without saying so. A request whose
// client has gone away before it was answered is therefore remembered for a while, and so
// is one that a client says it sends again: what comes then with the same words gets the
// work that was begun.
const (
	retryTime   = 10 * time.Minute
	leaveTime   = 20 * time.Second // after which an exchange that nobody waits for is cancelled
	mostRetries = 4096
)

// Retries are the requests that may be sent again. The zero value is ready.
type retries struct {
	mu     sync.Mutex
	list   map[string]*sent
	tidied time.Time // when what was old was dropped

	lookup sync.Mutex
	busy   map[string]bool                       // by owner: see Desk.wasBusy
	causes map[string]map[string]ponder.ThreadID // see Desk.causes
}

// A sent is a request that was sent.
type sent struct {
	begun    chan struct{} // closed when work and err are known
	work     Work
	err      error
	at       time.Time
	answered bool            // whole, to a client that was there
	known    bool            // another one like it was sent to this server
	left     bool            // cancelled, since its client did not come again
	client   context.Context //nolint:containedctx // of the request; done when the client has gone
}

// Once begins what is asked for, unless the same request of the owner was sent before by a
// client that has gone away unanswered, or that says that it sends it again: then it
// returns the work of that. The caller calls answered once the client has all of the
// answer.
func (d *Desk) Once(r *http.Request, body []byte, a Ask) (w Work, answered func(), err error) {
	a.Key = cmp.Or(a.Key, r.Header.Get("Idempotency-Key"))
	defer func() { context.AfterFunc(r.Context(), w.Forget) }()
	if a.Key != "" { // the store knows
		w, err = d.Begin(r.Context(), a)
		return w, func() {}, err
	}
	s, first := d.retries.enter(hexOf(a.Owner, r.Method+r.URL.Path, string(body)), r)
	if first {
		d.begin(s, r, a)
		if s.err == nil && s.work.Way == Exchange && !a.Stay {
			context.AfterFunc(r.Context(), func() { time.AfterFunc(leaveTime, func() { d.leave(s) }) })
		}
	} else {
		select {
		case <-s.begun:
		case <-r.Context().Done():
			return Work{}, func() {}, r.Context().Err()
		}
	}
	w, answered = s.work, func() { d.retries.answered(s) }
	if !first {
		w.ear = nil // another one's
	}
	return w, answered, s.err
}

// unspent refuses a key that has made a thread which was removed since.
func (d *Desk) unspent(ctx context.Context, a Ask) error {
	if a.Key == "" {
		return nil
	}
	if _, err := d.Store.Thread(ctx, a.newThread()); errors.Is(err, ponder.ErrRemoved) {
		return &Fault{http.StatusConflict, "", "what this Idempotency-Key was used for was removed: choose a new one"}
	}
	return nil
}

// begin begins what a request asks for. Whatever happens, those who wait for it are told.
func (d *Desk) begin(s *sent, r *http.Request, a Ask) {
	defer close(s.begun)
	s.err = errors.New("the beginning failed")
	ctx := context.WithoutCancel(r.Context())
	if !s.known {
		if w, found, err := d.lost(ctx, r, a); found || err != nil {
			s.work, s.err = w, err
			return
		}
	}
	s.work, s.err = d.Begin(ctx, a)
}

// enter returns what is known of a request, and whether it is the first of its kind.
func (l *retries) enter(key string, r *http.Request) (s *sent, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if s = l.list[key]; s != nil && now.Sub(s.at) < retryTime && s.isWanted(r) {
		s.client = r.Context()
		return s, false
	}
	if l.list == nil {
		l.list = make(map[string]*sent)
	}
	l.tidy(now)
	s = &sent{begun: make(chan struct{}), at: now, client: r.Context(), known: s != nil}
	l.list[key] = s
	return s, true
}

// isWanted reports whether a request asks for what another one like it has begun.
func (s *sent) isWanted(r *http.Request) bool {
	select {
	case <-s.begun:
		if s.err != nil || s.left {
			return false
		}
	default:
	}
	return saysAgain(r) || !s.answered && s.client.Err() != nil
}

// saysAgain reports whether a client says that it has sent a request before.
func saysAgain(r *http.Request) bool {
	n := r.Header.Get("X-Stainless-Retry-Count")
	return n != "" && n != "0"
}

func (l *retries) answered(s *sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.answered = s.client.Err() == nil
}

// leave cancels an exchange whose client has gone away and not come again.
func (d *Desk) leave(s *sent) {
	d.retries.mu.Lock()
	gone := !s.answered && s.client.Err() != nil && d.Gone.Err() == nil
	s.left = s.left || gone
	d.retries.mu.Unlock()
	if !gone {
		return
	}
	ctx, cancel := context.WithTimeout(d.Gone, leaveTime)
	defer cancel()
	if err := d.Cancel(ctx, s.work); err != nil {
		d.log().Warn("what nobody waits for goes on", "thread", s.work.Thread, "error", err)
	}
}

// tidy drops what is old, now and then, and some of the rest if that is too much. The caller
// holds l.mu.
func (l *retries) tidy(now time.Time) {
	if now.Sub(l.tidied) >= retryTime/10 {
		l.tidied = now
		for key, s := range l.list {
			if now.Sub(s.at) >= retryTime {
				delete(l.list, key)
			}
		}
	}
	for key := range l.list {
		if len(l.list) < mostRetries {
			return
		}
		delete(l.list, key)
	}
}
