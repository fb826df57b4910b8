package httpapi

import (
	"encoding/json"
	"testing"
	"time"

	"ponder"
	"ponder/mode/session"
)

// TestCreated shows an accepted session as created until its first action.
func TestCreated(t *testing.T) {
	d := newAPI(t, nil)
	id := ponder.ThreadID("thr_new")
	start := ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Version: 1, Input: "Why?", Budget: ponder.Budget{Time: time.Minute}}}
	if err := d.store.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: "local", Title: "Why?", Created: time.Now()}, start); err != nil {
		t.Fatal(err)
	}
	var one struct{ Session map[string]any }
	check := func(status string, created, thinking int) {
		t.Helper()
		_, body := d.sendRequest("mine", "GET", "/api/thinking/"+string(id), "")
		if err := json.Unmarshal([]byte(body), &one); err != nil || one.Session["status"] != status || (one.Session["started_at"] == nil) != (status == "created") {
			t.Errorf("want %s: %s", status, body)
		}
		for filter, want := range map[string]int{"created": created, "thinking": thinking} {
			var all struct {
				Count int `json:"session_count"`
			}
			_, body := d.sendRequest("mine", "GET", "/api/thinking?status="+filter, "")
			if err := json.Unmarshal([]byte(body), &all); err != nil || all.Count != want {
				t.Errorf("%s, want %d: %s", filter, want, body)
			}
		}
	}
	check("created", 1, 0)
	if err := d.store.Join(t.Context(), ponder.Node{ID: "node_1"}); err != nil {
		t.Fatal(err)
	}
	lease, err := d.store.Take(t.Context(), id, "node_1")
	if err != nil {
		t.Fatal(err)
	}
	first := ponder.Event{ID: ponder.NewID("evt"), Thread: id, Run: "run_1", After: lease.Head, Cause: "focus-1/1.1", Time: time.Now(), Body: ponder.Progress{Stage: "focus", Content: "Why?"}}
	if _, err := d.store.Append(t.Context(), id, lease.Fence, first); err != nil {
		t.Fatal(err)
	}
	check("thinking", 0, 1)
}
