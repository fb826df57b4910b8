package httpapi

import (
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
	"ponder/internal/limitio"
)

// Requests stores, for at least a week, requests whose Idempotency-Key no thread stores. It is safe for
// concurrent use by several processes.
type Requests interface {
	// Enter records a request, or returns an existing one. id covers owner, route and key; words the content.
	Enter(ctx context.Context, id, words string) (before Request, known bool, err error)
	Answer(ctx context.Context, id, answer string) error
	// Leave removes a failed request.
	Leave(ctx context.Context, id string) error
}

type Request = app.SentRequest

// runOnce runs do once for a key, across processes, and returns the stored answer. Without a key or an answer,
// do runs.
func (a *api) runOnce(ctx context.Context, id onceID, words string, do func() (string, error)) (string, error) {
	if id.key == "" {
		return do()
	}
	unlock, err := a.onceLock.lock(ctx, id)
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
		return "", reusedKeyError()
	case known && before.Answer != "":
		return before.Answer, nil
	}
	answer, err := do()
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		if left := a.Requests.Leave(ctx, key); left != nil {
			a.Logger.Warn("cannot remove the record of a failed request", "error", left)
		}
		return "", err
	}
	return answer, a.Requests.Answer(ctx, key, answer)
}

const (
	bodyTime    = 30 * time.Second // for any body
	minBodyRate = 16 << 10         // bytes for one more second
	leaveTime   = 2 * time.Second  // for ignored bodies
)

// takeBody reads the body into memory, so that handlers do not wait. It refuses incomplete, slow and large
// bodies, and clears the deadline for streams. The caller must release the body, which is nil if there is none.
func takeBody(w http.ResponseWriter, r *http.Request, memory *limitio.Memory) (*limitio.Body, *auth.Refusal) {
	if !hasBody(r) {
		return nil, nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &auth.Refusal{Status: http.StatusUnsupportedMediaType, Detail: "the server does not decode bodies: send the body without Content-Encoding"}
	}
	src := &bodyReader{src: r.Body, ctl: http.NewResponseController(w), begun: time.Now()}
	body, err := memory.ReadBody(r.Context(), src, limitio.BodyLimit{Bytes: MaxBody, Size: r.ContentLength, Numbers: r.URL.Path == tokenLists})
	if err == nil {
		_ = src.ctl.SetReadDeadline(time.Time{}) // other connections had no deadline
		r.Body = body
		return body, nil
	}
	if refused := bodyRefusal(err); refused != nil {
		return nil, refused
	}
	if time.Now().Before(src.until) {
		return nil, &auth.Refusal{Status: http.StatusBadRequest, Detail: "the request body is incomplete: send it again"}
	}
	return nil, &auth.Refusal{Status: http.StatusRequestTimeout, Detail: "the request body arrived too slowly: send it again"}
}

// tokenLists is the route whose texts may be lists of token IDs.
const tokenLists = "/v1/embeddings"

const busyRetry = 5 * time.Second

// bodyRefusal returns the refusal of a body over a limit, or nil.
func bodyRefusal(err error) *auth.Refusal {
	switch {
	case errors.Is(err, limitio.ErrTooLarge):
		return &auth.Refusal{Status: http.StatusRequestEntityTooLarge, Detail: "the body has more than " + strconv.Itoa(MaxBody) + " bytes"}
	case errors.Is(err, limitio.ErrDense):
		return &auth.Refusal{Status: http.StatusRequestEntityTooLarge, Detail: "the body: " + err.Error()}
	case errors.Is(err, limitio.ErrDeep), errors.Is(err, limitio.ErrNumber):
		return &auth.Refusal{Status: http.StatusBadRequest, Detail: "the body: " + err.Error()}
	case errors.Is(err, limitio.ErrBusy):
		return &auth.Refusal{Status: http.StatusServiceUnavailable, Retry: busyRetry, Detail: err.Error() + ": send the request again later"}
	}
	return nil
}

// discardBody must precede the response if the body is unread, or the server waits for its rest.
func discardBody(w http.ResponseWriter, r *http.Request) {
	if !hasBody(r) {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(leaveTime))
	if r.ProtoMajor == 1 { // would end the other streams in HTTP/2
		w.Header().Set("Connection", "close")
	}
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// A bodyReader is a body with a minimum rate.
type bodyReader struct {
	src   io.Reader
	ctl   *http.ResponseController
	begun time.Time
	until time.Time // deadline
	n     int64     // received bytes
}

func (b *bodyReader) Read(p []byte) (int, error) {
	until := b.begun.Add(bodyTime + time.Duration(b.n/minBodyRate)*time.Second)
	if until.After(b.until) {
		b.until = until
		_ = b.ctl.SetReadDeadline(until) // not a connection
	}
	n, err := b.src.Read(p)
	b.n += int64(n)
	return n, err
}

type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"maximum number of items"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}

// cursorOf returns an opaque cursor.
func cursorOf(p ponder.Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.Created.UnixMicro(), 10) + " " + string(p.ID)))
}

func positionOf(cursor string) (ponder.Position, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(text), " ")
	micros, errAt := strconv.ParseInt(at, 10, 64)
	if err != nil || errAt != nil || !ok || id == "" {
		return ponder.Position{}, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{Location: "query.cursor", Message: "invalid cursor: use next_cursor of the previous page", Value: cursor})
	}
	return ponder.Position{Created: time.UnixMicro(micros).UTC(), ID: ponder.ThreadID(id)}, nil
}

// threadPage returns a page of the caller's threads, newest first. next is empty on the last.
func (a *api) threadPage(ctx context.Context, in Page, f ponder.Filter) (list []ponder.Info, next string, err error) {
	if in.Cursor != "" {
		if f.Before, err = positionOf(in.Cursor); err != nil {
			return nil, "", err
		}
	}
	if f.Owner = auth.CallerOf(ctx).Owner; f.Owner == "" { // an empty owner would match all
		return nil, "", nil
	}
	f.Limit = in.Limit + 1
	if list, err = a.Store.List(ctx, f); err != nil {
		return nil, "", a.apiError(err)
	}
	if len(list) > in.Limit {
		list = list[:in.Limit]
		next = cursorOf(list[in.Limit-1].Position())
	}
	return list, next, nil
}

// linkTo returns the Link header, or "".
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

// CORS headers. Pages of other origins send tokens, because the server accepts cookies only from its own pages.
const (
	pageMethods = "GET, POST, DELETE"
	pageReads   = "Content-Disposition, ETag, Link, Mcp-Session-Id, Ponder-Server, Request-Id, Retry-After, WWW-Authenticate, " +
		"X-Request-Id, X-Should-Retry, X-Thread-Id, X-Vercel-AI-UI-Message-Stream"
	pageKeeps = "600" // seconds
)

// maxRequestedHeaders is in bytes.
const maxRequestedHeaders = 2 << 10

// allowOrigin adds CORS headers for configured origins and answers preflights, which have no token. It reports
// whether the response is complete.
func (a *api) allowOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
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
	if asked := r.Header.Get("Access-Control-Request-Headers"); areNames(asked) { // client libraries send many
		h.Set("Access-Control-Allow-Headers", asked)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	discardBody(w, r)
	w.WriteHeader(http.StatusNoContent)
	return true
}

func areNames(list string) bool {
	if list == "" || len(list) > maxRequestedHeaders {
		return false
	}
	return strings.IndexFunc(list, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_, ", c)
	}) < 0
}

func untilTomorrow(now time.Time) time.Duration {
	y, m, d := now.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()).Sub(now)
}

// An OnceKey is the idempotency header.
type OnceKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"client's key: the server runs a request with this key once and repeats its answer; it refuses a different request with the same key (422)"`
}

// threadID derives an id from owner, route and key; without a key, the id is random.
func (k OnceKey) threadID(owner, route string) ponder.ThreadID {
	if k.Key == "" {
		return ponder.ThreadID(ponder.NewID("thr"))
	}
	return ponder.ThreadID("thr_" + app.Letters(app.Sum(owner, route, k.Key)))
}

func keyUsedError() error {
	return huma.Error409Conflict("the result of this Idempotency-Key was removed: use a new key")
}

// checkKeyUnused refuses a key whose thread was removed, so that a late retry cannot recreate it.
func (a *api) checkKeyUnused(ctx context.Context, key string, id ponder.ThreadID) error {
	if key == "" {
		return nil
	}
	if _, err := a.Store.Thread(ctx, id); errors.Is(err, ponder.ErrRemoved) {
		return keyUsedError()
	}
	return nil
}

// causeKey returns the unique cause of a request's event; empty without a key.
func (k OnceKey) causeKey(owner, route string) string {
	if k.Key == "" {
		return ""
	}
	sum := app.Sum(owner, route, k.Key)
	return "post-" + hex.EncodeToString(sum[:16])
}

// bodyDigest returns a digest, to detect a reused key.
func bodyDigest(body any) string {
	js, err := json.Marshal(body)
	if err != nil {
		return ""
	}
	sum := app.Sum(string(js))
	return "post-" + hex.EncodeToString(sum[:16])
}

func reusedKeyError() error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "header.Idempotency-Key", Message: "this key belongs to another request: use a new key",
	})
}

type onceID struct{ owner, route, key string }

// A onceLock locks by id. The zero value is ready.
type onceLock struct {
	mu   sync.Mutex
	held map[onceID]chan struct{} // closed when the request is answered
}

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
