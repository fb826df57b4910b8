package metrics

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"ponder"
)

// A remote is a span that others began, or that of their request here.
type remote struct{ trace, span string }

// remoteOf reads the header traceparent of W3C's Trace Context. Callers whose trace is
// not recorded want none here.
func remoteOf(h http.Header) (remote, bool) {
	list := h.Values("traceparent")
	if len(list) != 1 {
		return remote{}, false
	}
	parts := strings.Split(list[0], "-")
	if len(parts) < 4 || len(parts) > 4 && parts[0] == "00" || parts[0] == "ff" {
		return remote{}, false
	}
	for i, size := range [...]int{1, traceSize, spanSize, 1} {
		if !isHex(parts[i], size) {
			return remote{}, false
		}
	}
	flags, _ := strconv.ParseUint(parts[3], 16, 8) // it is hexadecimal
	const recorded = 1
	r := remote{parts[1], parts[2]}
	return r, flags&recorded != 0 && strings.Trim(r.trace, "0") != "" && strings.Trim(r.span, "0") != ""
}

// isHex reports whether a text is so many bytes in small hexadecimal digits.
func isHex(text string, size int) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 2*size && text == strings.ToLower(text)
}

type remoteKey struct{}

// Handler returns a handler that does what next does. A request that is part of a trace
// (traceparent) gets a span there, and runs that it begins are below that.
func (m *Meter) Handler(next http.Handler) http.Handler {
	t := m.cfg.Traces
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := remoteOf(r.Header)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		var id [spanSize]byte
		rand.Read(id[:])
		own, seen, began := remote{caller.trace, hex.EncodeToString(id[:])}, &answered{ResponseWriter: w}, m.now()
		defer func() { t.request(caller, own, r.Method, cmp.Or(seen.status, http.StatusOK), began, m.now()) }()
		next.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), remoteKey{}, own)))
	})
}

// An answered writer notes what was answered.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	a.status = cmp.Or(a.status, status)
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// request makes the span of a request, unless it was not let in: strangers make none.
func (t *Traces) request(caller, own remote, method string, status int, began, end time.Time) {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return
	}
	s := span{trace: own.trace, id: own.span, parent: caller.span, name: verb(method), kind: kindServer, failed: status >= 500, began: began, end: end}
	s.add("http.request.method", verb(method))
	s.add("http.response.status_code", status)
	if s.failed {
		s.add("error.type", number(status))
	}
	t.put(s)
}

// maxRemotes is of how many threads it is known which request they are worked on for.
const maxRemotes = 4096

// Remotes are the requests that runs were begun by. They are safe for concurrent use.
type remotes struct {
	mu    sync.Mutex
	roots map[rootRun]remote
	said  map[ponder.ThreadID]remote // the newest message
}

type rootRun struct {
	thread ponder.ThreadID
	run    ponder.RunID
}

func rootOf(thread ponder.ThreadID, run ponder.RunID) rootRun {
	root, _, _ := strings.Cut(string(run), "/")
	return rootRun{thread, ponder.RunID(root)}
}

// note takes in events that were stored for ctx: a run belongs to the trace of the request
// that began it, or that said what woke it.
func (t *Traces) note(ctx context.Context, thread ponder.ThreadID, events []ponder.Event) {
	if t == nil {
		return
	}
	from, traced := ctx.Value(remoteKey{}).(remote)
	t.from.mu.Lock()
	defer t.from.mu.Unlock()
	for _, ev := range events {
		switch ev.Body.(type) {
		case ponder.UserMessage:
			delete(t.from.said, thread)
			if traced {
				t.from.said = with(t.from.said, thread, from)
			}
		case ponder.RunStarted:
			r, known := t.from.said[thread]
			if traced {
				r, known = from, true
			}
			if known && ev.Run.Parent() == "" {
				t.from.roots = with(t.from.roots, rootRun{thread, ev.Run}, r)
			}
		}
	}
}

// with adds to a map, which forgets any other if it is full.
func with[K comparable](m map[K]remote, key K, r remote) map[K]remote {
	if m == nil {
		m = make(map[K]remote)
	}
	for other := range m {
		if len(m) < maxRemotes {
			break
		}
		delete(m, other)
	}
	m[key] = r
	return m
}

// place puts a span of a run, or that of the run itself, into its trace: that of the
// request which began the root run, if that is known, whose span is then below the
// request's.
func (t *Traces) place(s *span, itself bool) {
	root := rootOf(s.thread, s.run)
	t.from.mu.Lock()
	defer t.from.mu.Unlock()
	from, known := t.from.roots[root]
	if !known {
		s.trace = traceOf(s.thread, s.run)
		return
	}
	s.trace = from.trace
	if itself && root.run == s.run {
		s.parent = from.span
		delete(t.from.roots, root)
	}
}
