package protocoltest

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Request uses the token [Mine].
func Request(ctx context.Context, method, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+Mine)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (r *Rig) Do(req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.Handler.ServeHTTP(w, req)
	return w
}

func (r *Rig) Post(path, body string) *httptest.ResponseRecorder {
	return r.Do(Request(context.Background(), http.MethodPost, path, body))
}

func (r *Rig) Get(path string) *httptest.ResponseRecorder {
	return r.Do(Request(context.Background(), http.MethodGet, path, ""))
}

type Event struct {
	ID, Name, Data string
}

type Stream struct {
	Code   int
	Header http.Header
	Body   string
}

func (s Stream) Events() []Event { return Events(s.Body) }

func (s Stream) Lines() (list []string) {
	for line := range strings.SplitSeq(s.Body, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// Events parses complete events, without comments.
func Events(body string) (list []Event) {
	for {
		block, rest, ok := strings.Cut(body, "\n\n")
		if !ok {
			return list
		}
		body = rest
		var e Event
		some := false
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "id":
				e.ID, some = value, true
			case "event":
				e.Name, some = value, true
			case "data":
				if e.Data != "" {
					e.Data += "\n"
				}
				e.Data, some = e.Data+value, true
			}
		}
		if some {
			list = append(list, e)
		}
	}
}

// Stream disconnects after most events or lines; zero reads all.
func (r *Rig) Stream(req *http.Request, most int) Stream {
	ctx, leave := context.WithCancel(req.Context())
	defer leave()
	w := &reader{header: make(http.Header), most: most, leave: leave}
	r.Handler.ServeHTTP(w, req.WithContext(ctx))
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stream{Code: w.code, Header: w.header, Body: w.body.String()}
}

type reader struct {
	header http.Header
	most   int
	leave  context.CancelFunc

	mu           sync.Mutex
	code         int
	body         bytes.Buffer
	disconnected bool
}

func (r *reader) Header() http.Header { return r.header }

func (r *reader) WriteHeader(code int) {
	r.code = cmp.Or(r.code, code)
}

func (*reader) Flush() {}

func (r *reader) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.WriteHeader(http.StatusOK)
	if r.disconnected {
		return 0, context.Canceled
	}
	for i := range b {
		r.body.WriteByte(b[i])
		if b[i] == '\n' && r.most > 0 && r.countItems() >= r.most {
			r.disconnected = true
			r.leave()
			return i + 1, context.Canceled
		}
	}
	return len(b), nil
}

func (r *reader) countItems() int {
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		return len(Events(r.body.String()))
	}
	return strings.Count(r.body.String(), "\n")
}
