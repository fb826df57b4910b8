package protocoltest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/llm"
	"ponder/mode/research"
)

// The rig answers in each way.
func TestRig(t *testing.T) {
	for name, want := range map[string]string{"ponder/chat": "indeed", "ponder/session": "", "ponder/research": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Tools: Lookups(time.Second)}
				if want != "" {
					o.Model = FixedModel(want)
				}
				r := New(t, o)
				model, ok := r.Desk.Model(name)
				if !ok {
					t.Fatal("no such model")
				}
				list := r.CollectParts(r.Start(compat.Request{Model: model, Messages: []llm.Message{llm.Say(llm.User, "How deep is the sea, and why?")}}), true)
				end := list[len(list)-1].End
				if end.Status != ponder.Completed || end.Text == "" || want != "" && end.Text != want {
					t.Errorf("ended %+v", end)
				}
			})
		})
	}
}

func TestExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{Model: &Model{Answer: func(_ *llm.Request, n int) Answer {
			if n == 0 {
				return Answer{Reasoning: "I look.", Calls: []llm.ToolCall{{ID: "c1", Name: research.SearchTool, Input: []byte(`{"query":"sea"}`)}}}
			}
			return Plain("deep")
		}}, Tools: Lookups(time.Second)})
		model, _ := r.Desk.Model("ponder/chat")
		list := r.CollectParts(r.Start(compat.Request{Standalone: true, Model: model, Messages: []llm.Message{llm.Say(llm.User, "How deep?")}}), false)
		var kinds []string
		for _, p := range list {
			kinds = append(kinds, string(p.Kind))
		}
		if got := strings.Join(kinds, " "); !strings.HasSuffix(got, "searching found text text_end end") || len(r.Model.Requests()) != 2 {
			t.Errorf("told %s", got)
		}
	})
}

func TestServer(t *testing.T) {
	r := New(t, Options{Routes: func(*compat.Dispatcher) map[string]http.Handler {
		return map[string]http.Handler{"GET /hello": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) })}
	}})
	s := r.Server()
	for token, want := range map[string]int{Mine: http.StatusOK, "other": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.URL+"/hello", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != want || err != nil || want == http.StatusOK && string(body) != "hello" {
			t.Errorf("%s: %d %s %v", token, res.StatusCode, body, err)
		}
	}
}

func TestEvents(t *testing.T) {
	list := Events(": open\nretry: 1000\n\nid: 3\nevent: a\ndata: {\"x\":1}\n\ndata: [DONE]\n\ndata: cut")
	if len(list) != 2 || list[0] != (Event{"3", "a", `{"x":1}`}) || list[1].Data != "[DONE]" {
		t.Errorf("%+v", list)
	}
}
