package httpapi

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/racetest"
)

func (h *testServer) visibleFrames(id ponder.ThreadID) (list []frame) {
	h.t.Helper()
	for ev, err := range h.store.Events(context.Background(), id, 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		js, err := ev.MarshalJSON()
		if err != nil {
			h.t.Fatal(err)
		}
		if !ev.Internal {
			list = append(list, frame{id: ev.Seq, data: string(js)})
		}
	}
	return list
}

func numberedFrames(list []frame) (rest []frame) {
	for _, f := range list {
		if f.id > 0 {
			rest = append(rest, f)
		}
	}
	return rest
}

func sameFrames(t *testing.T, what string, got, want []frame) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d events of %d", what, len(got), len(want))
		return
	}
	for i, f := range want {
		if got[i] != f {
			t.Errorf("%s: event %d is %v, want %v", what, i, got[i], f)
			return
		}
	}
}

// After a break at any event, nothing is lost.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := h.startSession(3)
		time.Sleep(10 * time.Minute)
		want := h.visibleFrames(id)
		for _, path := range []string{"/api/thinking/" + string(id) + "/stream", "/api/threads/" + string(id) + "/events"} {
			code, whole := h.watchStream(t.Context(), path, 0, 0)
			if code != http.StatusOK || len(whole) < 20 {
				t.Fatalf("%s: %d, %d events", path, code, len(whole))
			}
			sameFrames(t, path, whole, want)
			for cut := 1; cut < len(whole); cut += racetest.Stride(5) {
				_, first := h.watchStream(t.Context(), path, 0, cut)
				_, rest := h.watchStream(t.Context(), path, first[len(first)-1].id, 0)
				sameFrames(t, path, append(first[:len(first):len(first)], rest...), want)
			}
			last := want[len(want)-1].id
			for _, after := range []ponder.Seq{last, last + 1000} {
				if code, list := h.watchStream(t.Context(), path, after, 0); code != http.StatusNoContent || len(list) > 0 {
					t.Errorf("behind the last event: %d, %d events", code, len(list))
				}
			}
			for _, query := range []string{"?after=9", "?starting_after=9"} {
				if _, list := h.watchStream(t.Context(), path+query, 0, 0); len(list) == 0 || list[0].id <= 9 || list[0].id > 12 {
					t.Errorf("%s: %d events", query, len(list))
				}
				if _, list := h.watchStream(t.Context(), path+query, last-1, 0); len(list) != 1 {
					t.Errorf("%s and a header: %d events", query, len(list))
				}
			}
		}
	})
}

// Live readers with broken connections get all events, and the stream ends.
func TestReconnectLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := h.startSession(3)
		path := "/api/thinking/" + string(id) + "/stream"
		var all sync.WaitGroup
		got := make([][]frame, 8)
		for i := range got {
			all.Go(func() {
				for n := 0; ; n++ {
					last := ponder.Seq(0)
					if len(got[i]) > 0 {
						last = got[i][len(got[i])-1].id
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rand.IntN(40))*time.Second)
					code, list := h.watchStream(ctx, path, last, i) // 0: cut only by time
					cancel()
					got[i] = append(got[i], numberedFrames(list)...)
					if code == http.StatusNoContent || n > 10_000 {
						return
					}
				}
			})
		}
		all.Wait()
		want := h.visibleFrames(id)
		for i := range got {
			sameFrames(t, "live", got[i], want)
		}
	})
}

// A turn stream has only text for the user. A reconnect gets the thread's events.
func TestTurnStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, textModel("The sea is salt, and that is all there is to it."))
		var opened struct {
			ID string `json:"thread_id"`
		}
		if code := h.postJSON("", "/api/threads", `{"title":"Of the sea"}`, &opened); code != http.StatusCreated {
			t.Fatal(code)
		}
		id := ponder.ThreadID(opened.ID)
		path := "/api/threads/" + opened.ID
		say := func(cut int) (int, []frame) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := newRequest(path+"/messages", `{"content":"What is the sea?"}`).WithContext(ctx)
			r.Header.Set("Accept", "text/event-stream")
			r.Header.Set("Idempotency-Key", "once")
			w := &reader{ResponseRecorder: httptest.NewRecorder(), cut: cut, leave: cancel}
			h.ServeHTTP(w, r)
			return w.Code, w.list
		}
		code, whole := say(0)
		want := h.visibleFrames(id)
		if code != http.StatusOK || len(whole) == 0 || whole[len(whole)-1].name != "turn" {
			t.Fatalf("%d %v", code, whole)
		}
		sameFrames(t, "the turn", numberedFrames(whole), want[:len(want)-1]) // the end of the run follows
		var text strings.Builder
		for _, f := range whole {
			var piece struct{ Text string }
			if f.name == deltaEvent && json.Unmarshal([]byte(f.data), &piece) == nil {
				text.WriteString(piece.Text)
			}
		}
		const answer = "The sea is salt, and that is all there is to it."
		if text.Len() == 0 || !strings.HasPrefix(answer, text.String()) { // text after the answer is omitted
			t.Errorf("pieces %q", text.String())
		}
		var turn Turn
		if err := json.Unmarshal([]byte(whole[len(whole)-1].data), &turn); err != nil || turn.Status != answered || turn.Answer != answer {
			t.Errorf("turn %+v (%v)", turn, err)
		}
		for cut := 1; cut < len(want)-1; cut++ {
			_, first := say(cut)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, rest := h.watchStream(ctx, path+"/events", first[len(first)-1].id, 0)
			cancel()
			sameFrames(t, "the turn and the thread", append(numberedFrames(first), rest...), want)
		}
		if n := h.countEvents(opened.ID, ponder.UserMessage{}); n != 1 {
			t.Errorf("it was said %d times", n)
		}
	})
}

// Streams of a session have no deltas of thoughts.
func TestNoPiecesOfThoughts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := h.startSession(2)
		_, list := h.watchStream(t.Context(), "/api/thinking/"+string(id)+"/stream", 0, 0)
		for _, f := range list {
			if f.id == 0 {
				t.Errorf("received %v", f)
			}
		}
	})
}

func TestStreamEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(h *testServer, id ponder.ThreadID)
		want string
	}{
		{"removed", func(h *testServer, id ponder.ThreadID) {
			h.sendRequest("mine", "DELETE", "/api/thinking/"+string(id), "")
		}, removedEvent},
		{"closing", func(h *testServer, _ ponder.ThreadID) { h.close() }, closingEvent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestServer(t, slowModel())
				id := h.startSession(60)
				time.Sleep(time.Minute)
				go func() {
					time.Sleep(10 * time.Second)
					tt.do(h, id)
				}()
				code, list := h.watchStream(t.Context(), "/api/thinking/"+string(id)+"/stream", 0, 0)
				if code != http.StatusOK || len(list) == 0 || list[len(list)-1].name != tt.want {
					t.Errorf("%d %v", code, list[max(0, len(list)-1):])
				}
			})
		})
	}
}

// A cursor beyond the head restarts the stream after a gap event.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := h.startSession(60)
		time.Sleep(time.Minute)
		_, list := h.watchStream(t.Context(), "/api/thinking/"+string(id)+"/stream", 100_000, 3)
		if len(list) != 4 || list[0].name != gapEvent || list[0].data != `{"after":0}` || list[1].id != 1 {
			t.Errorf("got %v", list)
		}
	})
}
