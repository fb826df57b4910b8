package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
)

// A pair is the same operations twice: as huma binds them, and as they are bound here.
type pair struct {
	theirs, ours     huma.API
	theirMux, ourMux *http.ServeMux
	routes           []string // "GET /0/{id}", one for each
}

func newPair() *pair {
	p := &pair{theirMux: http.NewServeMux(), ourMux: http.NewServeMux()}
	cfg := func() huma.Config {
		cfg := settings("test")
		cfg.Transformers = nil // which would leave out some of what is wrong
		return cfg
	}
	p.theirs, p.ours = huma.NewAPI(cfg(), adapter{p.theirMux}), huma.NewAPI(cfg(), adapter{p.ourMux})
	return p
}

// add adds an operation to both.
func add[I, O any](p *pair, method string, status int, handler func(context.Context, *I) (*O, error)) {
	path := fmt.Sprintf("/%d/{id}", len(p.routes))
	op := func() huma.Operation {
		return huma.Operation{OperationID: fmt.Sprintf("op-%d", len(p.routes)), Method: method, Path: path, DefaultStatus: status, Errors: []int{http.StatusConflict}}
	}
	huma.Register(p.theirs, op(), handler)
	register(p.ours, op(), reflect.ValueOf(handler))
	if item := p.theirs.OpenAPI().Paths[path]; item.Post != nil && item.Post.RequestBody != nil {
		delete(item.Post.RequestBody.Content, "application/octet-stream")
	}
	p.routes = append(p.routes, method+" "+path)
}

// A sent is a request of a test.
type sent struct {
	route  int
	query  string
	header http.Header
	body   string
	gone   bool // the client
}

// A heard is what a client is told.
type heard struct {
	Status int
	Header http.Header
	Body   string
	Panic  string
}

func answerOf(mux *http.ServeMux, route string, s sent) (got heard) {
	method, path, _ := strings.Cut(route, " ")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.gone {
		cancel()
	}
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1"+strings.Replace(path, "{id}", "an%20id", 1), io.NopCloser(bytes.NewReader([]byte(s.body))))
	r.URL.RawQuery, r.ContentLength = s.query, int64(len(s.body))
	maps.Copy(r.Header, s.header)
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil {
			got.Panic = fmt.Sprint(p)
		}
		got.Status, got.Header, got.Body = w.Code, w.Header(), w.Body.String()
	}()
	mux.ServeHTTP(w, r)
	return got
}

// compare sends a request to both, and returns what differs and the answer.
func (p *pair) compare(s sent) (diff string, ours heard) {
	theirs, ours := answerOf(p.theirMux, p.routes[s.route], s), answerOf(p.ourMux, p.routes[s.route], s)
	if l, r := theirs, ours; l.Body != r.Body && strings.Count(l.Body, "unexpected property") > 1 { // which come in the order of a map
		exact := !strings.ContainsAny(s.body, `.[\`) // with these in a name, the next has a place that depends on the order
		l.Body, r.Body = ordered(l.Body, exact), ordered(r.Body, exact)
		return cmp.Diff(l, r), ours
	}
	return cmp.Diff(theirs, ours), ours
}

// ordered returns a problem document with what is wrong in an order, with or without places.
func ordered(body string, places bool) string {
	var doc huma.ErrorModel
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		return body
	}
	lines := []string{fmt.Sprint(doc.Status, doc.Title, doc.Detail)}
	for _, e := range doc.Errors {
		if !places {
			e.Location = ""
		}
		lines = append(lines, fmt.Sprintf("%s %s %v", e.Location, e.Message, e.Value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
