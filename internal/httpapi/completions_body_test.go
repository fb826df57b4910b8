package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/internal/access"
	"ponder/internal/stream"
	"ponder/mode/chat"
	"ponder/mode/research"
	"ponder/mode/title"
	"ponder/store/memory"
)

// What is wrong with a request is said before anything is streamed, all of it.
func TestCompletionProblems(t *testing.T) {
	r := newRig(t, thinker(sea))
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
			a := r.complete(t.Context(), "mine", "", tt.body)
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
	if code, _ := r.ask("look", "POST", "/api/completions", `{"messages":[{"role":"user","content":"a"}]}`); code != http.StatusForbidden {
		t.Errorf("a token that may only look: %d", code)
	}
}

// Images go to the model with the text; null is as if it were missing.
func TestCompletionForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, thinker(sea))
		a := r.complete(t.Context(), "mine", "", `{"models":null,"app":null,"newUniqueId":null,"conversationUniqueId":null,"isDeepThinkMode":null,"isWebSearchEnabled":null,"messageId":"m",
			"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"What is this?","parts":[{"type":"text","text":"What is this?"},{"type":"file","mediaType":"image/png","filename":"a.png","url":"data:image/png;base64,AAAA"}]}]}`)
		if a.code != http.StatusOK || len(r.said) != 1 {
			t.Fatalf("%d %s", a.code, a.body)
		}
		if m := r.said[0]; m.Content != "What is this?" || m.NoWeb || len(m.Media) != 1 || m.Media[0].Type != "image/png" || m.Media[0].Name != "a.png" {
			t.Errorf("said %+v", m)
		}
		if n := r.count(a.thread, func(ev ponder.Event) bool {
			f, ok := ev.Body.(ponder.AttachmentAdded)
			return ok && f.Content == "system: Be short."
		}); n != 1 {
			t.Error("what the system says is lost")
		}
	})
}

// The names of stages, keys and modes are those of the modes.
func TestCompletionNames(t *testing.T) {
	if modeChat != chat.Name || modeTitle != title.Name || turnEnded != chat.TurnEnded {
		t.Error("the mode chat has other names")
	}
}

// canary marks what nobody may see.
const canary = "CANARY-7f3"

// Nothing of an internal event comes out, whatever it is.
func TestCompletionLeaks(t *testing.T) {
	inner := []ponder.Event{
		{Run: "run_1", Cause: "turn-1-1#1", Body: ponder.CallStarted{Model: "test/model", Mode: "chat"}},
		{Run: "run_1", Cause: "think-1-1/1.1", Internal: true, Body: ponder.Thought{Content: canary, Kind: "think"}},
		{Run: "run_1", Internal: true, Body: ponder.InnerMonologue{Content: canary, Reason: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Observation{Content: canary, Sensor: "subconscious"}},
		{Run: "run_1", Cause: "use-1-1-0#1", Internal: true, Body: ponder.ToolCall{Name: "web_search", Args: json.RawMessage(`{"query":"` + canary + `"}`)}},
		{Run: "run_1", Cause: "use-1-1-0#1", Internal: true, Body: ponder.ToolResult{Name: "web_search", Result: `{"results":[{"url":"` + canary + `"}]}`}},
		{Run: "run_1", Internal: true, Body: ponder.Evidence{Content: canary, ID: "e1", Source: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Progress{Content: canary, Stage: "note", Label: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Synthesis{Content: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Summary{Content: canary}},
		{Run: "run_1", Cause: "turn-1-1#1", Body: ponder.CallFinished{Model: "test/model", Outcome: ponder.Outcome{Error: canary}}},
		{Run: "run_1", Internal: true, Cause: "end-1/1.1", Body: ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_1", Refused: true, Content: canary}},
		{Run: "run_1", Body: ponder.RunFinished{Status: ponder.Completed, Answer: "That is all."}},
	}
	for name, tell := range map[string]func() (teller, string){
		"chat": func() (teller, string) {
			return newTalkTeller(ponder.Event{ID: "evt_1", Seq: 1}, 0, nil, false), chat.Name
		},
		"research": func() (teller, string) { return &researchTeller{queries: make(map[string]string)}, research.Name },
	} {
		t.Run(name, func(t *testing.T) {
			teller, mode := tell()
			var all []Chunk
			all = append(all, teller.event(ponder.Event{Seq: 2, Run: "run_1", Body: ponder.RunStarted{Mode: mode, Input: "Why?"}})...)
			for i, ev := range inner {
				ev.Seq = ponder.Seq(3 + i)
				all = append(all, teller.event(ev.Stamp("thr_1", ev.Seq, ev.Time))...)
				for _, key := range []string{"muse-1", "summed-1", "plan", "turn-9-1", "write-1"} {
					all = append(all, teller.piece(stream.Piece{Run: "run_1", Key: key, Text: canary})...)
				}
				all = append(all, teller.piece(stream.Piece{Run: "run_1/muse-1", Key: "turn-1-1", Text: canary})...)
			}
			all = append(all, teller.close()...)
			js, err := json.Marshal(all)
			if err != nil || strings.Contains(string(js), canary) {
				t.Errorf("%s (%v)", js, err)
			}
			if over, _ := teller.over(); !over {
				t.Error("it is not over")
			}
		})
	}
}

// Whatever is sent, the server itself does not fail.
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
	d := &desk{store, New(f.Context(), Config{
		Store: store, Hub: stream.New(store), Service: refusing{}, Guard: access.New(access.Config{Owner: "local"}), Logger: slog.New(slog.DiscardHandler),
	})}
	f.Fuzz(func(t *testing.T, key, body string) {
		r := newRequest("/api/completions", body)
		r.Header["Idempotency-Key"] = []string{key}
		code, text := d.send(r)
		if code >= http.StatusInternalServerError && code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", code, text)
		}
		var v any
		if code != http.StatusOK && json.Unmarshal([]byte(text), &v) != nil {
			t.Errorf("%d %q", code, text)
		}
	})
}

// A refusing service does nothing: it is not configured.
type refusing struct{ Service }

func (refusing) Begin(context.Context, string, ponder.ThreadID, Start) error {
	return fmt.Errorf("begin: %w", ErrNotReady)
}

func (refusing) Open(context.Context, string, ponder.ThreadID, Conversation) error {
	return fmt.Errorf("open: %w", ErrNotReady)
}

func TestTranscript(t *testing.T) {
	list := []said{{role: "system", text: "Be short."}, {role: "user", text: " Why? "}, {role: "assistant", text: ""}, {role: "tool", text: "é" + strings.Repeat("x", 50)}}
	if got, want := transcript(list, 1000), "system: Be short.\n\nuser: Why?\n\nother: é"+strings.Repeat("x", 50); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	for most := range 80 {
		got := transcript(list, most)
		if len(got) > most+len("other: … ") || strings.ToValidUTF8(got, "") != got {
			t.Errorf("of %d bytes: %d, %q", most, len(got), got)
		}
	}
}
