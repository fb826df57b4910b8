package httpapi

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// TestInnerThoughts requires that a conversation shows inner thoughts only on request, and no other internal event.
func TestInnerThoughts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, textModel("It is salt."))
		id := ponder.ThreadID(h.openThread("Of the sea"))
		if err := h.store.Join(t.Context(), ponder.Node{ID: "node_9"}); err != nil {
			t.Fatal(err)
		}
		lease, err := h.store.Take(t.Context(), id, "node_9")
		if err != nil {
			t.Fatal(err)
		}
		internal := func(cause string, body ponder.Body) ponder.Event {
			return ponder.Event{ID: ponder.NewID("evt"), Thread: id, Run: "run_1", After: lease.Head, Cause: cause, Time: time.Now(), Internal: true, Body: body}
		}
		if _, err := h.store.Append(t.Context(), id, lease.Fence,
			internal("noted-1/1.2", ponder.InnerMonologue{Content: "hmm: REFLECTION"}),
			internal("thought-1/1.1", ponder.Thought{Content: "BEFORE", Kind: "think"}),
			internal("end-1/1.1", ponder.Progress{Stage: "turn", Content: "SECRET"}),
		); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string][]string{"": nil, "?inner=false": nil, "?inner=true": {"REFLECTION", "BEFORE"}} {
			var out struct {
				Events []struct{ Content string }
			}
			if code := h.getJSON("/api/threads/"+string(id)+"/events"+query, &out); code != 200 {
				t.Fatalf("%s: %d", query, code)
			}
			var got []string
			for _, e := range out.Events {
				got = append(got, e.Content)
			}
			if text := strings.Join(got, " "); len(got) != len(want) || strings.Contains(text, "SECRET") || len(want) > 0 && !strings.Contains(text, want[0]) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	})
}
