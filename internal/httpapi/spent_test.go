package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
)

// A late retry does not recreate a removed thread.
func TestSpentKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		from := h.startSession(1)
		for path, body := range map[string]string{
			"/api/thinking/start":                     `{"question":"Why delete me?","duration_minutes":1}`,
			"/api/threads":                            `{"title":"short"}`,
			"/api/completions":                        `{"messages":[{"role":"user","content":"hi"}]}`,
			"/api/thinking/" + string(from) + "/fork": `{}`,
		} {
			before, err := h.store.List(t.Context(), ponder.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			if code := h.postJSON("gone", path, body, nil); code != http.StatusOK && code != http.StatusCreated {
				t.Errorf("%s: %d", path, code)
				continue
			}
			synctest.Wait()
			after, err := h.store.List(t.Context(), ponder.Filter{})
			if err != nil || len(after) != len(before)+1 {
				t.Fatalf("%s has made %d threads (%v)", path, len(after)-len(before), err)
			}
			for _, info := range after[:1] {
				if err := h.store.Remove(t.Context(), info.ID); err != nil {
					t.Fatal(err)
				}
			}
			r := newRequest(path, body)
			r.Header.Set("Idempotency-Key", "gone")
			code, text := h.serveRequest(r)
			left, err := h.store.List(t.Context(), ponder.Filter{})
			if err != nil || code != http.StatusConflict || !strings.Contains(text, "was removed") || len(left) != len(before) {
				t.Errorf("%s again: %d %s, %d threads (%v)", path, code, text, len(left)-len(before), err)
			}
		}
	})
}

// A retry does not restore a forgotten memory.
func TestSpentKeyOfMemory(t *testing.T) {
	d := newAPI(t, &library{owners: make(map[string][]Memory)})
	post := func() (int, string) {
		r := newRequest("/api/memory", `[{"text":"a"},{"text":"b"}]`)
		r.Header.Set("Idempotency-Key", "k")
		return d.serveRequest(r)
	}
	first, body := post()
	if again, same := post(); first != http.StatusCreated || again != first || same != body {
		t.Errorf("%d %s, then %d %s", first, body, again, same)
	}
	if code, body := d.sendRequest("mine", http.MethodDelete, "/api/memory/mem_local_1", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := post(); code != http.StatusConflict || !strings.Contains(body, "was removed") {
		t.Errorf("a forgotten entry returns: %d %s", code, body)
	}
}
