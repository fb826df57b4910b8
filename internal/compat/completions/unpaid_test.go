package completions_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
)

// An unpaidModel model fails with an exhausted quota after its text.
type unpaidModel struct {
	after time.Duration
	says  string
}

func (unpaidModel) Name() string { return "test/poor" }

func (m unpaidModel) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.says == "" || yield(llm.Delta{Text: m.says}, nil) {
			select {
			case <-time.After(m.after):
			case <-ctx.Done():
			}
			yield(llm.Delta{}, &llm.Error{Class: llm.Payment, Model: m.Name(), Message: "the day of this token is spent"})
		}
	}
}

// If the quota ends before any output, the status reports it, and the conversation exists.
func TestTalkUnpaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, unpaidModel{})
		const body = `{"newUniqueId":"c","messages":[{"role":"user","content":"Why?"}]}`
		begun := time.Now()
		for range 2 { // a repeat too
			a := r.sendCompletion(t.Context(), "mine", "", body)
			var doc struct {
				Status int
				Detail string
			}
			if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.code != http.StatusPaymentRequired || doc.Status != a.code || !strings.Contains(doc.Detail, "daily limit of this token") {
				t.Fatalf("%d %s (%v)", a.code, a.body, err)
			}
			if n := r.countEvents(a.thread, func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok }); n != 1 {
				t.Errorf("said %d times on %q", n, a.thread)
			}
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %s", took)
		}
		if code, body := r.sendRequest("mine", "GET", "/api/threads/c", ""); code != http.StatusOK {
			t.Errorf("the conversation: %d %s", code, body)
		}
	})
}

// If the quota ends later, the stream ends with an error chunk.
func TestTalkUnpaidLate(t *testing.T) {
	for name, m := range map[string]unpaidModel{"late": {after: time.Minute}, "said": {after: time.Second, says: "Because it is. "}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, m)
				a := r.sendCompletion(t.Context(), "mine", "", `{"messages":[{"role":"user","content":"Why?"}]}`)
				if types := strings.Join(a.chunkTypes(), " "); a.code != http.StatusOK || !a.done || !strings.HasSuffix(types, "error conversation-title") || a.answerText() != "" {
					t.Errorf("%d %s", a.code, a.body)
				}
			})
		})
	}
}

// A slow answer starts its stream early, with heartbeats.
func TestStreamBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(seaAnswer)
		m.Latency.Mean = time.Hour
		r := newRig(t, m)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if a := r.sendCompletion(ctx, "mine", "", `{"messages":[{"role":"user","content":"Why?"}]}`); a.code != http.StatusOK || a.thread == "" || !strings.HasPrefix(a.body, ":") {
			t.Errorf("%d %q on %q", a.code, a.body, a.thread)
		}
	})
}
