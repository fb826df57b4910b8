package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/store/memory"
)

// A fullStore rejects all but ends of work.
type fullStore struct {
	ponder.Store
	full atomic.Bool
}

func (s *fullStore) Append(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, list ...ponder.Event) ([]ponder.Event, error) {
	if s.full.Load() {
		return nil, fmt.Errorf("append to %s: %w", id, ponder.ErrFull)
	}
	return s.Store.Append(ctx, id, fence, list...)
}

// When the disk fills, the turn fails for all readers. No event is lost, and the next turn works.
func TestTurnWithoutRoom(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed %t", streamed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { turnWithoutRoom(t, streamed) })
		})
	}
}

func turnWithoutRoom(t *testing.T, streamed bool) {
	store, m := &fullStore{Store: memory.New()}, textModel("It is salt.")
	answer, fill := m.Answer, sync.OnceFunc(func() { store.full.Store(true) })
	m.Answer = func(req *llm.Request) (llm.Message, error) {
		fill() // during the model call
		return answer(req)
	}
	h := newTestServerOn(t, m, store)
	id := h.openThread("a")
	path := "/api/threads/" + id
	var seen []frame
	var looks sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	looks.Go(func() { _, seen = h.watchStream(ctx, path+"/events", 0, 0) })
	synctest.Wait()

	said, began := postAndAwait(h, path, "What is the sea?", streamed), time.Now()
	if said.Status != failed || said.Error != noRoomText || time.Since(began) > time.Minute {
		t.Errorf("the turn: %+v", said)
	}
	if code := h.postJSON("", path+"/messages", `{"content":"And now?"}`, nil); code != http.StatusInsufficientStorage {
		t.Errorf("there is no room, and a message gets %d", code)
	}
	store.full.Store(false)
	if next := postAndAwait(h, path, "And the lakes?", streamed); next.Status != answered || next.Answer != "It is salt." {
		t.Errorf("the next turn: %+v", next)
	}
	synctest.Wait()
	cancel()
	looks.Wait()
	sameFrames(t, "who looks on", numberedFrames(seen), h.visibleFrames(ponder.ThreadID(id)))
	troubles := 0
	for _, f := range seen {
		if f.name == troubleEvent {
			troubles++
		}
	}
	if troubles != 1 {
		t.Errorf("a reader received %d trouble events: %v", troubles, seen)
	}
}

func postAndAwait(h *testServer, path, text string, streamed bool) Turn {
	h.t.Helper()
	if !streamed {
		var out postedDoc
		if code := h.postJSON("", path+"/messages?wait=5m", `{"content":"`+text+`"}`, &out); code != http.StatusOK {
			h.t.Errorf("%q: %d", text, code)
		}
		return Turn{Status: out.Turn.Status, Error: out.Turn.Error, Answer: out.Turn.Answer}
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Minute)
	defer cancel()
	r := newRequest(path+"/messages", `{"content":"`+text+`"}`).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream")
	w := &reader{ResponseRecorder: httptest.NewRecorder(), leave: cancel}
	h.ServeHTTP(w, r)
	var turn Turn
	if last := len(w.list) - 1; last < 0 || w.list[last].name != turnEvent || json.Unmarshal([]byte(w.list[last].data), &turn) != nil {
		h.t.Errorf("%q: %v", text, w.list)
	}
	return turn
}
