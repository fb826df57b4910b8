package completions_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/llm"
)

// A conversation and its research know each other, even if the client repeats nothing.
func TestConversationOfThreads(t *testing.T) {
	for _, deepFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, newModel(func(req *llm.Request) string {
				if req.Schema == nil && !deepFirst {
					return "The coast is long [e2]."
				}
				return seaAnswer(req)
			}))
			ask := func(name string, deep bool, question string) reply {
				a := r.sendCompletion(t.Context(), "mine", "", fmt.Sprintf(`{%q:"conv-10","isDeepThinkMode":%v,"messages":[{"role":"user","content":%q}]}`, name, deep, question))
				if a.code != http.StatusOK || a.answerText() == "" {
					t.Fatalf("%d %s", a.code, a.body)
				}
				return a
			}
			first := ask("newUniqueId", deepFirst, seaQuestion)
			second := ask("conversationUniqueId", !deepFirst, "And what about the lakes of the north?")
			third := ask("conversationUniqueId", deepFirst, "And what of the rivers in the south?")
			if first.thread == second.thread {
				t.Fatal("one thread")
			}
			if deepFirst {
				told := func(ev ponder.Event) bool {
					f, ok := ev.Body.(ponder.AttachmentAdded)
					return ok && strings.Contains(f.Content, "user: "+seaQuestion) && strings.Contains(f.Content, "assistant: The sea is 4,001")
				}
				if n := r.countEvents(second.thread, told); n != 1 {
					t.Errorf("%d copies of the research", n)
				}
				if c := r.starts[1].Context; !strings.Contains(c, seaQuestion) || !strings.Contains(c, "lakes of the north") {
					t.Errorf("research gets %q", c)
				}
			} else if c := r.starts[0].Context; !strings.Contains(c, seaQuestion) || !strings.Contains(c, "The coast is long") {
				t.Errorf("research gets %q", c)
			}
			r.checkRelated(first, second, third)
		})
	}
}

// checkRelated checks that threads beside are listed and deleted together.
func (r *rig) checkRelated(first, second, third reply) {
	r.t.Helper()
	for _, path := range []string{"", "/events", "/export"} {
		if code, body := r.sendRequest("mine", "GET", "/api/threads/conv-10"+path, ""); code != http.StatusOK || path != "/export" && !strings.Contains(body, `"`+string(second.thread)+`"`) {
			r.t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, body := r.sendRequest("hers", "GET", "/api/threads/"+string(second.thread), ""); code != http.StatusNotFound {
		r.t.Errorf("another owner: %d %s", code, body)
	}
	if code, body := r.sendRequest("mine", "DELETE", "/api/threads/conv-10", ""); code != http.StatusOK {
		r.t.Fatalf("delete: %d %s", code, body)
	}
	for _, a := range []reply{first, second, third} {
		if code, body := r.sendRequest("mine", "GET", "/api/threads/"+string(a.thread), ""); code != http.StatusNotFound {
			r.t.Errorf("left behind: %d %s", code, body)
		}
	}
}

func (r *rig) Remove(ctx context.Context, id ponder.ThreadID) error { return r.store.Remove(ctx, id) }
