package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/mode/session"
)

func TestViolationsOnce(t *testing.T) {
	d := newAPI(t, nil)
	for name, body := range map[string]string{
		"cost":     `{"question":"Why is it so?","max_cost_usd":-1}`,
		"no cost":  `{"question":"Why is it so?","max_cost_usd":0}`,
		"long":     `{"question":"` + strings.Repeat("a", 20_001) + `"}`,
		"in bytes": `{"question":"` + strings.Repeat("é", 10_001) + `"}`,
	} {
		code, text := d.sendRequest("mine", http.MethodPost, "/api/thinking/start", body)
		var doc huma.ErrorModel
		if err := json.Unmarshal([]byte(text), &doc); err != nil || code != http.StatusUnprocessableEntity || len(doc.Errors) != 1 {
			t.Errorf("%s: %d %s (%v)", name, code, text, err)
		}
	}
}

// Invalid JSON is refused even if no body is needed.
func TestBodyOfNoUse(t *testing.T) {
	d := newAPI(t, nil)
	for body, want := range map[string]int{"{": http.StatusBadRequest, "pause": http.StatusBadRequest, "": http.StatusNotFound, " ": http.StatusNotFound, "{}": http.StatusNotFound} {
		if code, text := d.sendRequest("mine", http.MethodPost, "/api/thinking/thr_none/pause", body); code != want {
			t.Errorf("%q: %d %s", body, code, text)
		}
	}
}

// All routes name the header of a reused key.
func TestKeyIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		var made struct {
			ID string `json:"thread_id"`
		}
		if code := h.postJSON("", "/api/threads", `{}`, &made); code != http.StatusCreated {
			t.Fatal(code)
		}
		say := func(content string) (int, string) {
			r := newRequest("/api/threads/"+made.ID+"/messages", `{"content":"`+content+`"}`)
			r.Header.Set("Idempotency-Key", "k")
			return h.serveRequest(r)
		}
		if code, body := say("a"); code != http.StatusAccepted {
			t.Fatalf("%d %s", code, body)
		}
		if code, body := say("b"); code != http.StatusUnprocessableEntity || !strings.Contains(body, `"detail":"header.Idempotency-Key: `) {
			t.Errorf("%d %s", code, body)
		}
	})
}

// A session has the model of its thread until a model has answered.
func TestModelBeforeAnswers(t *testing.T) {
	s := sessionOf(ponder.Info{Thread: ponder.Thread{ID: "thr_1", Model: "p/m"}}, session.NewView(), time.Now())
	if s.Model != "p/m" {
		t.Errorf("the model is %q", s.Model)
	}
}
