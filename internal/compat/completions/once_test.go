package completions_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// A key identifies one request: its words, conversation and mode.
func TestCompletionKeys(t *testing.T) {
	body := func(deep bool, more, question string) string {
		return fmt.Sprintf(`{"isDeepThinkMode":%v,%s"messages":[{"role":"user","content":%q}]}`, deep, more, question)
	}
	for name, first := range map[string]string{
		"deep": body(true, "", seaQuestion), "plain": body(false, "", "What is a cat?"),
		"deep, named": body(true, `"newUniqueId":"c",`, seaQuestion), "plain, named": body(false, `"newUniqueId":"c",`, "What is a cat?"),
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, newModel(seaAnswer))
			a := r.sendCompletion(t.Context(), "mine", "r7", first)
			if a.code != http.StatusOK {
				t.Fatalf("%s: %d %s", name, a.code, a.body)
			}
			for _, other := range []string{
				body(false, "", "How do dogs bark?"), body(true, "", "How do dogs bark at night?"), body(true, "", "What is a cat?"),
				body(false, "", seaQuestion), body(true, `"newUniqueId":"c",`, "How do dogs bark at night?"), body(false, `"newUniqueId":"c",`, "And then?"),
			} {
				if b := r.sendCompletion(t.Context(), "mine", "r7", other); b.code != http.StatusUnprocessableEntity || !strings.Contains(b.body, "Idempotency-Key") {
					t.Errorf("%s, then %s: %d %s", name, other, b.code, b.body)
				}
			}
			if again := r.sendCompletion(t.Context(), "mine", "r7", first); again.thread != a.thread || again.answerText() != a.answerText() {
				t.Errorf("%s again: %s", name, again.body)
			}
		})
	}
}
