package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
)

// Requests keep which requests were made with an Idempotency-Key that is in no event of a
// thread, for a week at least. They are safe for concurrent use, by several processes.
type Requests interface {
	// Enter notes a request, and returns what is known of it if it was made before. The id
	// stands for the owner, the route and the key, words for what is asked for.
	Enter(ctx context.Context, id, words string) (before Request, known bool, err error)
	// Answer notes what a request came to, as JSON.
	Answer(ctx context.Context, id, answer string) error
	// Leave forgets a request that came to nothing.
	Leave(ctx context.Context, id string) error
}

// A Request is a request that a client made under an idempotency key.
type Request = app.SentRequest

// once does a request once, also where another process of the same database has done it,
// and returns its answer. A request that was started and never answered is done again, and
// so is each request without a key.
func (a *api) once(ctx context.Context, id onceID, words string, do func() (string, error)) (string, error) {
	if id.key == "" {
		return do()
	}
	unlock, err := a.onces.lock(ctx, id)
	if err != nil {
		return "", err
	}
	defer unlock()
	sum := app.Sum(id.owner, id.route, id.key)
	key := hex.EncodeToString(sum[:])
	before, known, err := a.Requests.Enter(ctx, key, words)
	switch {
	case err != nil:
		return "", err
	case known && before.Words != words:
		return "", otherWords()
	case known && before.Answer != "":
		return before.Answer, nil
	}
	answer, err := do()
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		if left := a.Requests.Leave(ctx, key); left != nil {
			a.Logger.Warn("a request that failed stays noted", "error", left)
		}
		return "", err
	}
	return answer, a.Requests.Answer(ctx, key, answer)
}

// Times of a request's body.
const (
	bodyTime  = 30 * time.Second // that every body may take to arrive
	leastPace = 16 << 10         // bytes that give it a second more
	leaveTime = 2 * time.Second  // for what is still sent by whom no answer is owed
)

// takeBody reads the body of a request, so that no handler waits for it; those read it from
// memory. It returns why a body that did not arrive is refused. A stream that comes after
// it has no deadline.
func takeBody(w http.ResponseWriter, r *http.Request) *auth.Refusal {
	if !hasBody(r) {
		return nil
	}
	src := &arriving{src: http.MaxBytesReader(w, r.Body, MaxBody), ctl: http.NewResponseController(w), begun: time.Now()}
	body, err := io.ReadAll(src)
	if err == nil {
		_ = src.ctl.SetReadDeadline(time.Time{}) // what cannot do that has had none
		r.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &auth.Refusal{Status: http.StatusRequestEntityTooLarge, Detail: "the body has more than " + strconv.FormatInt(large.Limit, 10) + " bytes"}
	case time.Now().Before(src.until):
		return &auth.Refusal{Status: http.StatusBadRequest, Detail: "the body of the request did not arrive as a whole"}
	}
	return &auth.Refusal{Status: http.StatusRequestTimeout, Detail: "the body of the request came too slowly"}
}

// dismiss is called before the answer to a request whose body nobody reads: the server would
// wait for the rest of it otherwise, for as long as the client likes.
func dismiss(w http.ResponseWriter, r *http.Request) {
	if !hasBody(r) {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(leaveTime))
	if r.ProtoMajor == 1 { // in HTTP/2 the stream alone is closed, and the word would end all others
		w.Header().Set("Connection", "close")
	}
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// An arriving is a body on its way, which has to keep a pace.
type arriving struct {
	src   io.Reader
	ctl   *http.ResponseController
	begun time.Time
	until time.Time // the deadline
	n     int64     // bytes that have come
}

func (b *arriving) Read(p []byte) (int, error) {
	until := b.begun.Add(bodyTime + time.Duration(b.n/leastPace)*time.Second)
	if until.After(b.until) {
		b.until = until
		_ = b.ctl.SetReadDeadline(until) // what cannot do that is no connection
	}
	n, err := b.src.Read(p)
	b.n += int64(n)
	return n, err
}

// A Page is which part of a list is wanted.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"how many at most"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the page before"`
}

// cursorOf returns a position as a cursor, of which callers need not know the form.
func cursorOf(p ponder.Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.Created.UnixMicro(), 10) + " " + string(p.ID)))
}

// positionOf reads a cursor.
func positionOf(cursor string) (ponder.Position, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(text), " ")
	micros, errAt := strconv.ParseInt(at, 10, 64)
	if err != nil || errAt != nil || !ok || id == "" {
		return ponder.Position{}, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "query.cursor", Message: "it is no next_cursor of a page", Value: cursor})
	}
	return ponder.Position{Created: time.UnixMicro(micros).UTC(), ID: ponder.ThreadID(id)}, nil
}

// list returns a page of the threads of whoever asks, the newest first, and the cursor
// of the next page; empty if this is the last.
func (a *api) list(ctx context.Context, in Page, f ponder.Filter) (list []ponder.Info, next string, err error) {
	if in.Cursor != "" {
		if f.Before, err = positionOf(in.Cursor); err != nil {
			return nil, "", err
		}
	}
	if f.Owner = auth.CallerOf(ctx).Owner; f.Owner == "" { // to a filter, that is everybody
		return nil, "", nil
	}
	f.Limit = in.Limit + 1
	if list, err = a.Store.List(ctx, f); err != nil {
		return nil, "", a.failed(err)
	}
	if len(list) > in.Limit {
		list = list[:in.Limit]
		next = cursorOf(list[in.Limit-1].Position())
	}
	return list, next, nil
}

// linkTo returns the header that leads to the next page, or "".
func linkTo(path string, query url.Values, next string) string {
	if next == "" {
		return ""
	}
	for name := range query {
		if query.Get(name) == "" {
			query.Del(name)
		}
	}
	query.Set("cursor", next)
	return fmt.Sprintf(`<%s?%s>; rel="next"`, path, query.Encode())
}

// What pages of other sites that may ask are told (CORS). They send a token like all others:
// no cookies are asked for or sent.
const (
	pageMethods = "GET, POST, DELETE"
	pageReads   = "Content-Disposition, ETag, Link, Mcp-Session-Id, Ponder-Server, Request-Id, Retry-After, WWW-Authenticate, " +
		"X-Request-Id, X-Should-Retry, X-Thread-Id, X-Vercel-AI-UI-Message-Stream"
	pageKeeps = "600" // seconds that a browser takes this for granted
)

// mostAsked is how long the list of headers may be that a page wants to send, in bytes.
const mostAsked = 2 << 10

// page lets pages read answers that were named in the configuration, and answers what
// browsers ask before they let one ask: it reports whether that is all. No token comes with
// that, and nothing but what holds for all is told.
func (a *api) page(w http.ResponseWriter, r *http.Request) (answered bool) {
	if !a.Guard.HasPages() {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin, ok := a.Guard.Page(r)
	if !ok {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", pageReads)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", pageMethods)
	h.Set("Access-Control-Max-Age", pageKeeps)
	if asked := r.Header.Get("Access-Control-Request-Headers"); areNames(asked) { // which clients of all languages have many of
		h.Set("Access-Control-Allow-Headers", asked)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	dismiss(w, r)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// areNames reports whether a text is a list of names of headers.
func areNames(list string) bool {
	if list == "" || len(list) > mostAsked {
		return false
	}
	return strings.IndexFunc(list, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_, ", c)
	}) < 0
}

// untilTomorrow returns how long this day still has: what a token may begin in a day is
// free again then.
func untilTomorrow(now time.Time) time.Duration {
	y, m, d := now.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()).Sub(now)
}

// An OnceKey is a header of requests that start work: a request that is sent again with
// the same key does what it did, once.
type OnceKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"a text of your choice: the same request with the same key is done once, and answered alike; another request with it is refused (422)"`
}

// thread returns the id of the thread that a request makes: a new one, or, if it has a
// key, always the same for the owner, the route and the key.
func (k OnceKey) thread(owner, route string) ponder.ThreadID {
	if k.Key == "" {
		return ponder.ThreadID(ponder.NewID("thr"))
	}
	return ponder.ThreadID("thr_" + app.Letters(app.Sum(owner, route, k.Key)))
}

// spent is the error of a key that was used for something that is not there any more.
func spent() error {
	return huma.Error409Conflict("what this Idempotency-Key was used for was removed: choose a new one")
}

// unspent refuses a key that has made a thread which was removed since: what its owner has
// removed is not done again because a request comes late.
func (a *api) unspent(ctx context.Context, key string, id ponder.ThreadID) error {
	if key == "" {
		return nil
	}
	if _, err := a.Store.Thread(ctx, id); errors.Is(err, ponder.ErrRemoved) {
		return spent()
	}
	return nil
}

// cause returns the cause of an event that a request appends, which the store takes
// once; empty if the request has no key.
func (k OnceKey) cause(owner, route string) string {
	if k.Key == "" {
		return ""
	}
	sum := app.Sum(owner, route, k.Key)
	return "post-" + hex.EncodeToString(sum[:16])
}

// words returns what tells a request from another one with the same key.
func words(body any) string {
	js, err := json.Marshal(body)
	if err != nil { // which bodies that were read from JSON cannot be
		return ""
	}
	sum := app.Sum(string(js))
	return "post-" + hex.EncodeToString(sum[:16])
}

// otherWords is the error of a key that was used for another request.
func otherWords() error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "header.Idempotency-Key", Message: "this key was used for another request: choose a new one",
	})
}

// A onceID names a request with an Idempotency-Key.
type onceID struct{ owner, route, key string }

// A onceLock is a lock for each request that is being answered. The zero value is ready.
type onceLock struct {
	mu   sync.Mutex
	held map[onceID]chan struct{} // closed when the request is answered
}

// lock waits until no other request has the same id.
func (o *onceLock) lock(ctx context.Context, id onceID) (unlock func(), err error) {
	for {
		o.mu.Lock()
		over, busy := o.held[id]
		if !busy {
			break
		}
		o.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer o.mu.Unlock()
	if o.held == nil {
		o.held = make(map[onceID]chan struct{})
	}
	over := make(chan struct{})
	o.held[id] = over
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.held, id)
		close(over)
	}, nil
}
