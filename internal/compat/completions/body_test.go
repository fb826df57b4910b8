package completions_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/completions"
	"ponder/internal/httpapi"
	"ponder/internal/stream"
	"ponder/store/memory"
)

// All problems of a request are reported before the stream.
func TestCompletionProblems(t *testing.T) {
	r := newRig(t, newModel(seaAnswer))
	png := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG"))
	for _, tt := range []struct {
		name, body string
		code       int
		says       []string
	}{
		{"no JSON", `{`, 400, nil},
		{"no object", `[]`, 422, []string{"body"}},
		{"no messages", `{}`, 422, []string{"messages"}},
		{"an empty list", `{"messages":[]}`, 422, []string{"body.messages"}},
		{"two things", `{"messages":[{"role":"user","content":5}],"isDeepThinkMode":"yes"}`, 422, []string{"isDeepThinkMode"}},
		{"two messages", `{"messages":[{"role":"user","content":5},{"role":"user","content":"a","parts":"b"}]}`, 422, []string{"messages[0].content", "messages[1].parts"}},
		{"no role", `{"messages":[{"content":"a"}]}`, 422, []string{"role"}},
		{"not of the user", `{"messages":[{"role":"assistant","content":"a"}]}`, 422, []string{"messages[0].role"}},
		{"spaces", `{"messages":[{"role":"user","content":" \n"}]}`, 422, []string{"expected a text"}},
		{"a file from elsewhere", `{"messages":[{"role":"user","content":"see","parts":[{"type":"file","mediaType":"image/png","url":"https://a.test/x.png"}]}]}`, 422, []string{"messages[0].parts", "data:"}},
		{"a file that is no image", `{"messages":[{"role":"user","content":"see","parts":[{"type":"file","mediaType":"application/pdf","url":"data:application/pdf;base64,AAAA"}]}]}`, 422, []string{"only images"}},
		{"an image to research", `{"isDeepThinkMode":true,"messages":[{"role":"user","content":"see","experimental_attachments":[{"url":"` + png + `"}]}]}`, 422, []string{"no images"}},
		{"no conversation", `{"conversationUniqueId":"nothing","messages":[{"role":"user","content":"a"}]}`, 404, nil},
		{"no model", `{"isDeepThinkMode":true,"models":["none/none"],"messages":[{"role":"user","content":"Why is that?"}]}`, 422, []string{"body.models"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.sendCompletion(t.Context(), "mine", "", tt.body)
			var doc struct {
				Status int
				Detail string
			}
			if err := json.Unmarshal([]byte(a.body), &doc); err != nil || a.code != tt.code || doc.Status != tt.code || doc.Detail == "" {
				t.Fatalf("%d %s (%v)", a.code, a.body, err)
			}
			for _, word := range tt.says {
				if !strings.Contains(a.body, word) {
					t.Errorf("no %q in %s", word, a.body)
				}
			}
		})
	}
	if code, _ := r.sendRequest("look", "POST", "/api/completions", `{"messages":[{"role":"user","content":"a"}]}`); code != http.StatusForbidden {
		t.Errorf("a token that may only look: %d", code)
	}
}

// Images reach the model. null equals absence.
func TestCompletionForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newModel(seaAnswer))
		a := r.sendCompletion(t.Context(), "mine", "", `{"models":null,"app":null,"newUniqueId":null,"conversationUniqueId":null,"isDeepThinkMode":null,"isWebSearchEnabled":null,"messageId":"m",
			"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"What is this?","parts":[{"type":"text","text":"What is this?"},{"type":"file","mediaType":"image/png","filename":"a.png","url":"data:image/png;base64,AAAA"}]}]}`)
		if a.code != http.StatusOK || len(r.said) != 1 {
			t.Fatalf("%d %s", a.code, a.body)
		}
		if m := r.said[0]; m.Content != "What is this?" || m.NoWeb || len(m.Media) != 1 || m.Media[0].Type != "image/png" || m.Media[0].Name != "a.png" {
			t.Errorf("said %+v", m)
		}
		if n := r.countEvents(a.thread, func(ev ponder.Event) bool {
			f, ok := ev.Body.(ponder.AttachmentAdded)
			return ok && f.Content == "system: Be short."
		}); n != 1 {
			t.Error("what the system says is lost")
		}
	})
}

// No body causes a server error.
func FuzzCompletion(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":"Why?"}]}`, `{"messages":[{"role":"user","parts":[{"type":"text","text":"a"}]}],"newUniqueId":"x","isDeepThinkMode":true}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"text","text":1}]}],"models":["",null]}`,
		`{"messages":[{"role":"\u0000","content":null,"parts":null}],"conversationUniqueId":"\ud800"}`, `null`, `[[]]`, `{"messages":[{"role":"user","content":"a"}],"messageId":"m","app":"p"}`, "\xff",
	} {
		f.Add("key", body)
		f.Add("", body)
	}
	store := memory.New()
	d := &testAPI{store, httpapi.New(f.Context(), httpapi.Config{
		Store: store, Hub: stream.New(store), Service: unreadyService{}, Requests: &notebook{}, Guard: auth.New(auth.Config{Owner: "local"}), Logger: slog.New(slog.DiscardHandler),
	})}
	f.Fuzz(func(t *testing.T, key, body string) {
		r := newRequest("mine", http.MethodPost, completions.Path, body)
		r.Header["Idempotency-Key"] = []string{key}
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		code, text := w.Code, w.Body.String()
		if code >= http.StatusInternalServerError && code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", code, text)
		}
		var v any
		if code != http.StatusOK && json.Unmarshal([]byte(text), &v) != nil {
			t.Errorf("%d %q", code, text)
		}
	})
}

// unreadyService is an unconfigured service.
type unreadyService struct{ app.ProtocolService }

func (unreadyService) Begin(context.Context, string, ponder.ThreadID, app.Start) error {
	return app.NotReadyf("begin: not configured")
}

func (unreadyService) Open(context.Context, string, ponder.ThreadID, app.Conversation) error {
	return app.NotReadyf("open: not configured")
}
