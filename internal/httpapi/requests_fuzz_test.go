package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// No request panics. Invalid input is a client error with a problem document.
func FuzzRequests(f *testing.F) {
	for _, s := range [][5]string{
		{"GET", "/api/thinking/?limit=3&status=paused", "", "Accept", "text/event-stream"},
		{"POST", "/api/thinking/start", `{"question":"What is the sea?","duration_minutes":1.5}`, "Idempotency-Key", "\x01"},
		{"GET", "/api/thinking/thr_session_local/stream?after=-1", "", "Last-Event-ID", "99999999999999999999"},
		{"GET", "/api/thinking/thr_session_local/stream?limit=1", "", "Accept", "text/event-stream"},
		{"GET", "/api/thinking/thr_session_local/export?format=markdown", "", "If-None-Match", `*, "`},
		{"POST", "/api/thinking/thr_session_local/steer?wait=1s", `{"wishes":[{"order":"rank","question":"q1","priority":3}]}`, "", ""},
		{"POST", "/api/thinking/thr_session_local/fork", `{"at":3,"paused":true}`, "Idempotency-Key", "a"},
		{"POST", "/api/thinking/thr_session_local/pause", "", "", ""},
		{"POST", "/api/thinking/thr_session_local/resume/", "null", "", ""},
		{"POST", "/api/thinking/thr_session_local/cancel", "", "", ""},
		{"DELETE", "/api/thinking/thr_session_local", "", "", ""},
		{"POST", "/api/threads", `{"title":"a\u0000b"}`, "Content-Type", "text/plain"},
		{"POST", "/api/threads/thr_conversation_local/messages", `{"content":"a","media":[{"type":"a/b","data":"!!"}]}`, "Accept", "text/event-stream"},
		{"POST", "/api/threads/thr_conversation_local/messages?wait=2s", `{"content":"\ud800"}`, "Idempotency-Key", "k"},
		{"GET", "/api/threads/thr_conversation_local/events?cursor=1&limit=1", "", "", ""},
		{"POST", "/api/threads/thr_conversation_local/stop", `{"seen":"x"}`, "", ""},
		{"GET", "/api/threads//..%2f/%00", "", "Host", "evil.example"},
		{"POST", "/api/completions", `{"messages":[{"role":"user","content":"Hi"}],"isDeepThinkMode":false,"newUniqueId":"u"}`, "", ""},
		{"POST", "/api/memory", `{"text":"a"}`, "Content-Encoding", "gzip"},
		{"GET", "/api/memory/search?q=%ff&limit=1e3", "", "", ""},
		{"POST", "/api/mind/resolve", `{"entry":"x"}`, "", ""},
		{"GET", "/api/usage?by=day&since=yesterday", "", "", ""},
		{"HEAD", "/api/mind/events", "", "Accept", "text/event-stream"},
		{"OPTIONS", "/docs", "", "Origin", "http://127.0.0.1"},
		{"GET", "/openapi.json", "", "Accept", "application/x-unheard-of"},
	} {
		f.Add(s[0], s[1], []byte(s[2]), s[3], s[4])
	}
	f.Fuzz(func(t *testing.T, method, target string, body []byte, header, value string) {
		r, ok := requestOf(method, target, body, header, value)
		if !ok {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			m := &llmtest.Model{Latency: llmtest.Delay{Mean: time.Second}, Answer: func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, "It is well."), nil }}
			h := newTestServer(t, m)
			h.addThreads()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r.WithContext(ctx))
			checkAnswer(t, r, w)
		})
	})
}

func requestOf(method, target string, body []byte, header, value string) (*http.Request, bool) {
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(target, "/") || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) || method == "CONNECT" {
		return nil, false
	}
	r := &http.Request{Method: method, URL: u, Host: "127.0.0.1:8744", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header), RequestURI: target}
	r.Header.Set("Authorization", "Bearer mine")
	r.Header.Set("Content-Type", "application/json")
	if header != "" {
		r.Header.Set(header, value)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r, true
}

func checkAnswer(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	kind, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	said := w.Body.Bytes()
	switch {
	case w.Code >= 500:
		t.Errorf("%s %s: %d %.300s", r.Method, r.URL, w.Code, said)
	case w.Code >= 400:
		var doc problemDoc
		if err := json.Unmarshal(said, &doc); err != nil || kind != "application/problem+json" || doc.Status != w.Code || doc.Title == "" {
			t.Errorf("%s %s: %d %s %.300s (%v)", r.Method, r.URL, w.Code, kind, said, err)
		}
	case strings.HasSuffix(kind, "json") && kind != "application/x-ndjson":
		if !json.Valid(said) {
			t.Errorf("%s %s: %d %s %.300s", r.Method, r.URL, w.Code, kind, said)
		}
	}
}
