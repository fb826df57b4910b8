package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ponder/internal/stream"
	"ponder/store/memory"
)

type memoryRequests struct{ sync.Map }

func (n *memoryRequests) Enter(_ context.Context, id, words string) (Request, bool, error) {
	before, known := n.LoadOrStore(id, Request{Words: words})
	return before.(Request), known, nil
}

func (n *memoryRequests) Answer(_ context.Context, id, answer string) error {
	before, _ := n.Load(id)
	n.Store(id, Request{Words: before.(Request).Words, Answer: answer})
	return nil
}

func (n *memoryRequests) Leave(_ context.Context, id string) error {
	n.Delete(id)
	return nil
}

// A ticker counts its ticks; the first fails.
type ticker struct {
	library
	ticks int
}

func (k *ticker) Tick(context.Context, string) (json.RawMessage, error) {
	if k.ticks++; k.ticks == 1 {
		return nil, errors.New("no sensor works")
	}
	return json.RawMessage(`{"tick":` + strconv.Itoa(k.ticks) + `}`), nil
}

// A keyed request runs once across processes and restarts.
func TestRequestsAfterRestart(t *testing.T) {
	service, notes, store := &ticker{library: library{owners: make(map[string][]Memory)}}, &memoryRequests{}, memory.New()
	for i, tt := range []struct {
		token, key, path, body string
		status                 int
		want                   string
	}{
		{"mine", "k", "/api/mind/tick", "", 500, ""},
		{"mine", "k", "/api/mind/tick", "", 200, `"tick":2`}, // failed requests run again
		{"mine", "k", "/api/mind/tick", "", 200, `"tick":2`},
		{"hers", "k", "/api/mind/tick", "", 200, `"tick":3`},
		{"mine", "k2", "/api/mind/tick", "", 200, `"tick":4`},
		{"mine", "", "/api/mind/tick", "", 200, `"tick":5`},
		{"mine", "", "/api/mind/tick", "", 200, `"tick":6`},
		{"mine", "k", "/api/memory", `{"text":"a","title":"bad"}`, 422, "body.title"},
		{"mine", "k", "/api/memory", `{"text":"a"}`, 201, `"mem_local_0"`},
		{"mine", "k", "/api/memory", `{"text":"a"}`, 201, `"mem_local_0"`},
		{"mine", "k", "/api/memory", `{"text":"b"}`, 422, "header.Idempotency-Key"},
		{"hers", "k", "/api/memory", `{"text":"b"}`, 201, `"mem_anna_0"`},
	} { // each in a new process
		d := &testAPI{store, New(t.Context(), Config{Store: store, Hub: stream.New(store), Service: service, Guard: guardOf(), Requests: notes})}
		r := newRequest(tt.path, tt.body)
		r.Header.Set("Authorization", "Bearer "+tt.token)
		r.Header.Set("Idempotency-Key", tt.key)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%d: %d %s", i, w.Code, w.Body)
		}
	}
	if n := len(service.owners["local"]); n != 1 {
		t.Errorf("%d memories", n)
	}
	for id, v := range notes.Range {
		r := v.(Request)
		if strings.Contains(r.Answer, "mem_") && r.Answer != `["mem_local_0"]` && r.Answer != `["mem_anna_0"]` { // ids contain no text
			t.Errorf("a record stores memory content: %s %+v", id, r)
		}
	}
}
