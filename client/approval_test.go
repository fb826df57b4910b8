package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestApprovals checks the requests about questions, and that a retry of a decision has the same key.
func TestApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		w := &wire{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				io.WriteString(w, `{"success":true,"approval_count":1,"approvals":[{"approval_id":"evt_1","code":"3F9K2M","thread_id":"thr_1","tool":"lamp","args":{"room":  "kitchen"},"reason":"it acts","untrusted_sources":["a.test"],"expires":"2026-11-27T12:00:00Z"}]}`)
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			bodies = append(bodies, string(bytes.TrimSpace(body)))
			io.WriteString(w, `{"success":true,"turn":{"status":"answered","answer":"It is bright."}}`)
		}), fault: func(n int, _ *http.Request) fault {
			if n == 2 {
				return fault{before: errors.New("no connection")}
			}
			return fault{}
		}}
		c := New("ponder.test", "token")
		c.HTTP = &http.Client{Transport: w}
		all, err := c.Approvals(t.Context(), "")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if _, err := c.Approvals(t.Context(), "thr_1"); err != nil {
			t.Fatal(err)
		}
		q := all[0]
		if q.Tool != "lamp" || string(q.Args) != `{"room":  "kitchen"}` || q.Code != "3F9K2M" || q.Expires.IsZero() || len(q.Untrusted) != 1 {
			t.Errorf("read %+v", q)
		}
		for _, approve := range []bool{true, false} {
			turn, err := c.Decide(t.Context(), q, approve, time.Minute)
			if err != nil || turn.Answer != "It is bright." {
				t.Error(turn, err)
			}
		}
		var paths []string
		for _, r := range w.asked {
			paths = append(paths, r.Method+" "+r.URL.RequestURI())
		}
		want := []string{
			"GET /api/approvals", "GET /api/threads/thr_1/approvals", "POST /api/threads/thr_1/approvals/evt_1?wait=60.000",
			"POST /api/threads/thr_1/approvals/evt_1?wait=60.000", "POST /api/threads/thr_1/approvals/evt_1?wait=60.000",
		}
		if js, err := json.Marshal(paths); err != nil || len(paths) != len(want) {
			t.Fatalf("asked %s %v", js, err)
		}
		for i := range want {
			if paths[i] != want[i] {
				t.Errorf("request %d is %s", i, paths[i])
			}
		}
		key := func(n int) string { return w.asked[n].Header.Get("Idempotency-Key") }
		if key(2) == "" || key(2) != key(3) || key(3) == key(4) {
			t.Errorf("keys %q %q %q", key(2), key(3), key(4))
		}
		if len(bodies) != 2 || bodies[0] != `{"decision":"approve"}` || bodies[1] != `{"decision":"deny"}` {
			t.Errorf("sent %q", bodies)
		}
	})
}
