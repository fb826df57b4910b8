package aisdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
	"ponder/llm/llmtest"
)

func newRoutes(desk *compat.Dispatcher) map[string]http.Handler { return New(desk) }

// types have the required fields by type, since version 5.
var types = map[string][]string{
	"start": nil, "start-step": nil, "finish-step": nil, "finish": nil, "abort": nil,
	"text-start": {"id"}, "text-delta": {"id", "delta"}, "text-end": {"id"},
	"reasoning-start": {"id"}, "reasoning-delta": {"id", "delta"}, "reasoning-end": {"id"},
	"tool-input-available": {"toolCallId", "toolName", "input"}, "tool-output-available": {"toolCallId", "output"},
	"tool-output-error": {"toolCallId", "errorText"}, "source-url": {"sourceId", "url"},
	"source-document": {"sourceId", "mediaType", "title"}, "error": {"errorText"},
}

type uiReply struct {
	types           []string
	text, reasoning string
	data            map[string]int // by type
	finish          string
	failed          string
}

// readStream validates a stream like the AI SDK.
func readStream(t *testing.T, s protocoltest.Stream) uiReply {
	t.Helper()
	if s.Header.Get("X-Vercel-Ai-Ui-Message-Stream") != "v1" || !strings.HasPrefix(s.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("headers %v: %d %s", s.Header, s.Code, s.Body)
	}
	p, open := uiReply{data: make(map[string]int)}, ""
	tools := make(map[string]bool)
	events := s.Events()
	for i, e := range events {
		if e.Data == "[DONE]" {
			if i != len(events)-1 {
				t.Error("something stands behind [DONE]")
			}
			continue
		}
		var js map[string]any
		if err := json.Unmarshal([]byte(e.Data), &js); err != nil {
			t.Fatalf("%q: %v", e.Data, err)
		}
		kind, _ := js["type"].(string)
		needs, known := types[kind]
		if !known && !strings.HasPrefix(kind, "data-") {
			t.Errorf("a part of the type %q", kind)
		}
		for _, field := range needs {
			if _, ok := js[field]; !ok {
				t.Errorf("%s lacks %s: %s", kind, field, e.Data)
			}
		}
		p.types = append(p.types, kind)
		id, _ := js["id"].(string)
		switch base, step, _ := strings.Cut(kind, "-"); {
		case base == "data":
			p.data[kind]++
			if js["data"] == nil {
				t.Errorf("without data: %s", e.Data)
			}
		case step == "start" && (base == "text" || base == "reasoning"):
			if open != "" {
				t.Errorf("%s begins in %s", id, open)
			}
			open = id
		case step == "delta":
			if id != open {
				t.Errorf("a delta of %s in %s", id, open)
			}
			if base == "text" {
				p.text += js["delta"].(string)
			} else {
				p.reasoning += js["delta"].(string)
			}
		case step == "end":
			if id != open {
				t.Errorf("the end of %s in %s", id, open)
			}
			open = ""
		case kind == "tool-input-available":
			tools[js["toolCallId"].(string)] = true
		case base == "tool" && !tools[js["toolCallId"].(string)]:
			t.Errorf("the output of a tool that was not called: %s", e.Data)
		case kind == "finish":
			p.finish, _ = js["finishReason"].(string)
		case kind == "error":
			p.failed, _ = js["errorText"].(string)
		}
	}
	if open != "" || len(events) == 0 || events[len(events)-1].Data != "[DONE]" {
		t.Errorf("the stream is not ended: %q is open", open)
	}
	return p
}

func slowModel() *protocoltest.Model {
	return &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
		msg, err := llmtest.Plausible(0)(req)
		return protocoltest.Answer{Text: msg.Text(), Calls: msg.Calls(), Err: err, Wait: 3 * time.Second}
	}}
}

func chatBody(chat, model, text string) string {
	js, _ := json.Marshal(map[string]any{
		"id": chat, "model": model, "trigger": "submit-message",
		"messages": []any{map[string]any{"id": "m1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": text}}}},
	})
	return string(js)
}

func TestWays(t *testing.T) {
	for name, want := range map[string][]string{
		"ponder/chat":     {"text-delta", "data-conversation-title"},
		"ponder/session":  {"reasoning-delta", "data-ponder-thought", "data-ponder-question"},
		"ponder/research": {"data-deep-think-progress", "data-memory-sources", "tool-input-available", "tool-output-available"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := protocoltest.New(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second), Routes: newRoutes})
				p := readStream(t, r.Stream(protocoltest.Request(t.Context(), "POST", "/ai/chat", chatBody("c1", name, "How deep is the sea, and why?")), 0))
				for _, kind := range want {
					if !slices.Contains(p.types, kind) {
						t.Errorf("no %s in %v", kind, slices.Compact(p.types))
					}
				}
				if p.types[0] != "start" || p.finish != "stop" || p.text == "" {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

// A reconnect during the work gets all of it, a later one nothing.
func TestResume(t *testing.T) {
	for _, name := range []string{"ponder/chat", "ponder/session", "ponder/research"} {
		t.Run(name, func(t *testing.T) {
			for cut := 1; cut < 60; cut += 7 {
				synctest.Test(t, func(t *testing.T) { checkResume(t, name, cut) })
			}
		})
	}
}

func checkResume(t *testing.T, name string, cut int) {
	model := slowModel()
	if name == "ponder/chat" {
		model = &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
			return protocoltest.Answer{Reasoning: "Let me see. It is deep.", Text: protocoltest.LongText(20), Pause: 50 * time.Millisecond}
		}}
	}
	step := time.Second
	if name == "ponder/chat" {
		step = 20 * time.Millisecond
	}
	r := protocoltest.New(t, protocoltest.Options{Model: model, Tools: protocoltest.Lookups(time.Second), Routes: newRoutes})
	body := chatBody("c1", name, "How deep is the sea, and why?")
	whole := make(chan protocoltest.Stream, 1)
	ctx := context.WithoutCancel(t.Context())
	go func() { whole <- r.Stream(protocoltest.Request(ctx, "POST", "/ai/chat", body), 0) }()
	synctest.Wait()
	for range cut {
		time.Sleep(step)
	}
	again := r.Stream(protocoltest.Request(ctx, "GET", "/ai/chat/c1/stream", ""), 0)
	first := readStream(t, <-whole)
	if again.Code == http.StatusNoContent {
		return // it had ended
	}
	second := readStream(t, again)
	if second.text != first.text || second.reasoning != first.reasoning || fmt.Sprint(second.types) != fmt.Sprint(first.types) {
		t.Errorf("cut at %d: again\n%+v, and at first\n%+v", cut, second, first)
	}
	synctest.Wait()
	if late := r.Get("/ai/chat/c1/stream"); late.Code != http.StatusNoContent {
		t.Errorf("afterwards %d %s", late.Code, late.Body)
	}
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
			return protocoltest.Answer{Text: strings.Repeat("on and on ", 100), Pause: time.Second}
		}}
		r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: newRoutes})
		whole := make(chan protocoltest.Stream, 1)
		ctx := context.WithoutCancel(t.Context())
		go func() {
			whole <- r.Stream(protocoltest.Request(ctx, "POST", "/ai/chat", chatBody("a b/c", "ponder/chat", "Go on.")), 0)
		}()
		time.Sleep(5 * time.Second)
		if got := r.Post("/ai/chat/a%20b%2Fc/stop", ""); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "true") {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		p := readStream(t, <-whole)
		if last := p.types[len(p.types)-1]; last != "abort" && last != "error" {
			t.Errorf("ended with %s", last)
		}
		if got := r.Post("/ai/chat/nothing/stop", ""); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "false") {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	})
}

func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: slowModel(), Routes: newRoutes})
		whole := make(chan protocoltest.Stream, 1)
		ctx := context.WithoutCancel(t.Context())
		go func() {
			whole <- r.Stream(protocoltest.Request(ctx, "POST", "/ai/chat", chatBody("c1", "ponder/session", "How deep is the sea?")), 0)
		}()
		time.Sleep(5 * time.Second)
		for _, tt := range []struct {
			body string
			code int
		}{{`{}`, 400}, {`{"text":"Who has measured it?"}`, 200}, {`{"answerNow":true}`, 200}} {
			if got := r.Post("/ai/chat/c1/steer", tt.body); got.Code != tt.code {
				t.Errorf("%s: %d %s", tt.body, got.Code, got.Body)
			}
		}
		readStream(t, <-whole)
		if got := r.Post("/ai/chat/c1/steer", `{"answerNow":true}`); got.Code != http.StatusConflict {
			t.Errorf("afterwards %d %s", got.Code, got.Body)
		}
	})
}

// A chat continues, and a failure is reported.
func TestGoesOnAndFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
			if n >= 2 {
				return protocoltest.Answer{Err: &llm.Error{Class: llm.Auth, Message: "key rejected"}}
			}
			return protocoltest.Plain("indeed")
		}}
		r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: newRoutes})
		for range 2 {
			r.Stream(protocoltest.Request(t.Context(), "POST", "/ai/chat", chatBody("c1", "", "Is it?")), 0)
		}
		if n := len(r.Threads(protocoltest.Owner)); n != 1 {
			t.Errorf("%d threads", n)
		}
		s := r.Stream(protocoltest.Request(t.Context(), "POST", "/ai/chat", chatBody("c2", "", "Is it so?")), 0)
		if s.Code != http.StatusBadGateway || !strings.Contains(s.Body, `{"error":"no answer: the provider of the model rejects the API key`) {
			t.Errorf("%d %s", s.Code, s.Body)
		}
	})
}

// A restarted answer must extend the sent text, or the stream fails. A repeat gets all of it.
func TestBegunAnew(t *testing.T) {
	const first = "The sea is deep, as all know who were there once."
	for again, fails := range map[string]bool{first + " So it is.": false, "It is 42.": true, "The sea is": true} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			model := &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
				if asked++; asked == 1 {
					return protocoltest.Answer{Text: first, Pause: 100 * time.Millisecond, Err: &llm.Error{Class: llm.Truncated, Message: "it broke off"}, After: 3}
				}
				return protocoltest.Answer{Text: again, Pause: 100 * time.Millisecond}
			}}
			r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: newRoutes})
			body := chatBody("c1", "ponder/chat", "How deep?")
			p := readStream(t, r.Stream(protocoltest.Request(t.Context(), "POST", "/ai/chat", body), 0))
			texts := len(slices.DeleteFunc(slices.Clone(p.types), func(kind string) bool { return kind != "text-start" }))
			if !fails {
				if p.text != again || p.failed != "" || p.finish != "stop" || texts != 1 {
					t.Errorf("%q: %+v", again, p)
				}
				return
			}
			if p.text == "" || !strings.HasPrefix(first, p.text) || !strings.Contains(p.failed, "restarted its answer") || p.finish != "" || texts != 1 {
				t.Errorf("%q: %+v", again, p)
			}
			if p := readStream(t, r.Stream(protocoltest.Request(t.Context(), "POST", "/ai/chat", body), 0)); p.text != again || p.failed != "" {
				t.Errorf("%q: asked again, %+v", again, p)
			}
		})
	}
}

func FuzzRequests(f *testing.F) {
	f.Add(chatBody("c1", "ponder/chat", "hello"))
	f.Add(`{"id":"","messages":[{"role":"user","parts":[{"type":"file","url":"data:image/png;base64,AAAA"}]}]}`)
	f.Add(`{"messages":[{"role":"tool"}],"model":"x"}`)
	f.Add(`{"messages":[],"reasoningEffort":"much"}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, body string) {
		synctest.Test(t, func(t *testing.T) {
			r := protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("so"), Routes: newRoutes})
			s := r.Stream(protocoltest.Request(t.Context(), "POST", "/ai/chat", body), 0)
			if s.Code >= http.StatusInternalServerError {
				t.Errorf("%d: %s", s.Code, s.Body)
			}
			var said struct{ Error string }
			if s.Code != http.StatusOK && (json.Unmarshal([]byte(s.Body), &said) != nil || said.Error == "") {
				t.Errorf("%d: %s", s.Code, s.Body)
			}
		})
	})
}
