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
		for format, kind := range map[string]string{"json": "application/json", "markdown": "text/markdown", "jsonl": "application/x-ndjson", "of a thread": "application/x-ndjson"} {
			path := "/api/thinking/" + id + "/export?format=" + format
			if format == "of a thread" {
				path = "/api/threads/" + id + "/export"
			}
			r := newRequest(path, "")
			r.Method = http.MethodHead
			head := httptest.NewRecorder()
			h.ServeHTTP(head, r)
			r.Method = http.MethodGet
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			header, tag := w.Header(), w.Header().Get("ETag")
			if w.Code != 200 || !strings.HasPrefix(header.Get("Content-Type"), kind) || tag == "" || !strings.Contains(header.Get("Content-Disposition"), `attachment; filename="`+id) || w.Body.Len() < 100 {
				t.Errorf("%s: %d %v %d bytes", format, w.Code, header, w.Body.Len())
			}
			if format == "jsonl" && (strings.Contains(w.Body.String(), `"internal":true`) || strings.Count(w.Body.String(), "\n") < 10) {
				t.Errorf("lines: %.300s", w.Body.String())
			}
			if head.Code != 200 || head.Header().Get("ETag") != tag {
				t.Errorf("HEAD of %s: %d %v", format, head.Code, head.Header())
			}
			r.Header.Set("If-None-Match", `"other", W/`+tag)
			again := httptest.NewRecorder()
			h.ServeHTTP(again, r)
			if again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get("ETag") != tag {
				t.Errorf("%s again: %d, %d bytes", format, again.Code, again.Body.Len())
			}
		}
		if code := h.getJSON("/api/thinking/"+id+"/export?format=pdf", nil); code != 422 {
			t.Errorf("pdf: %d", code)
		}
	})
}
