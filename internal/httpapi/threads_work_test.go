package httpapi

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/mode/session"
)

// The server works on threads of other processes if work is left.
func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		budget := ponder.Budget{Time: time.Minute}
		ev := ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Input: "What is the sea?", Budget: budget}}
		if err := h.store.Create(t.Context(), ponder.Thread{ID: "thr_made", Kind: ponder.KindSession, Owner: "local"}, ev); err != nil {
			t.Fatal(err)
		}
		const path = "/api/threads/thr_made/work"
		if code := h.postJSON("", "/api/threads/thr_none/work", "", nil); code != http.StatusNotFound {
			t.Errorf("a thread that is not there: %d", code)
		}
		for _, key := range []string{"k", "k", ""} {
			if code := h.postJSON(key, path, "", nil); code != http.StatusOK {
				t.Errorf("work: %d", code)
			}
		}
		synctest.Wait()
		if info, err := h.store.Thread(t.Context(), "thr_made"); err != nil || !info.Held {
			t.Errorf("no holder: %+v (%v)", info, err)
		}
		h.postJSON("", "/api/thinking/thr_made/pause", "", nil)
		synctest.Wait()
		if code := h.postJSON("", path, `{"model":"test/model"}`, nil); code != http.StatusConflict {
			t.Errorf("a session that is paused: %d", code)
		}
		h.postJSON("", "/api/thinking/thr_made/cancel", "", nil)
		synctest.Wait()
		if code := h.postJSON("", path, "", nil); code != http.StatusConflict {
			t.Errorf("a session that has ended: %d", code)
		}
	})
}

// The server answers a message that another process appended.
func TestWorkOnConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, textModel("It is salt."))
		id := h.openThread("a")
		if _, err := h.store.Append(t.Context(), ponder.ThreadID(id), 0, ponder.Event{Body: ponder.UserMessage{Content: "What is the sea?"}}); err != nil {
			t.Fatal(err)
		}
		if code := h.postJSON("", "/api/threads/"+id+"/work", "", nil); code != http.StatusOK {
			t.Errorf("work: %d", code)
		}
		time.Sleep(time.Minute)
		if n := h.countEvents(id, ponder.AssistantMessage{}); n != 1 {
			t.Errorf("%d answers", n)
		}
	})
}
