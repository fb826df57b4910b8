package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := string(h.startSession(2))
		time.Sleep(5 * time.Minute)
		for format, kind := range map[string]string{"json": "application/json", "markdown": "text/markdown", "html": "text/html", "jsonl": "application/x-ndjson"} {
			exportAs(t, h, "/api/thinking/"+id+"/export?format="+format, id, kind)
			exportAs(t, h, "/api/threads/"+id+"/export?format="+format, id, kind)
		}
		lines := exportAs(t, h, "/api/threads/"+id+"/export", id, "application/x-ndjson")
		if strings.Contains(lines, `"internal":true`) || strings.Count(lines, "\n") < 10 {
			t.Errorf("lines: %.300s", lines)
		}
		if page := exportAs(t, h, "/api/threads/"+id+"/export?format=html", id, "text/html"); !strings.HasPrefix(page, "<!DOCTYPE html>") || !strings.Contains(page, "Content-Security-Policy") {
			t.Errorf("page: %.300s", page)
		}
		if code := h.getJSON("/api/thinking/"+id+"/export?format=docx", nil); code != 422 {
			t.Errorf("docx: %d", code)
		}
		talk := h.openThread("talk")
		if code, body := h.sendRequest("mine", "GET", "/api/threads/"+talk+"/export?format=html", ""); code != 422 && code != 400 || !strings.Contains(body, "use jsonl") {
			t.Errorf("html of a conversation: %d %s", code, body)
		}
	})
}

// exportAs checks that a client may download, compare and keep an export, and returns it.
func exportAs(t *testing.T, h *testServer, path, id, kind string) string {
	t.Helper()
	r := newRequest(path, "")
	r.Method = http.MethodHead
	head := httptest.NewRecorder()
	h.ServeHTTP(head, r)
	r.Method = http.MethodGet
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	header, tag := w.Header(), w.Header().Get("ETag")
	if w.Code != 200 || !strings.HasPrefix(header.Get("Content-Type"), kind) || tag == "" || !strings.Contains(header.Get("Content-Disposition"), `attachment; filename="`+id) || w.Body.Len() < 100 {
		t.Errorf("%s: %d %v %d bytes", path, w.Code, header, w.Body.Len())
	}
	if head.Code != 200 || head.Header().Get("ETag") != tag {
		t.Errorf("HEAD of %s: %d %v", path, head.Code, head.Header())
	}
	r.Header.Set("If-None-Match", `"other", W/`+tag)
	again := httptest.NewRecorder()
	h.ServeHTTP(again, r)
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get("ETag") != tag {
		t.Errorf("%s again: %d, %d bytes", path, again.Code, again.Body.Len())
	}
	return w.Body.String()
}
