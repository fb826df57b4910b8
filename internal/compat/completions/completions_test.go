package completions_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat/completions"
	"ponder/internal/racetest"
	"ponder/llm"
	"ponder/llm/llmtest"
)

var update = flag.Bool("update", false, "write golden files")

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (go test -update writes it): %v\n%s", file, err, got)
	}
}

// Deep think streams the seed's chunks, identically on a repeat.
func TestDeepThink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newModel(seaAnswer))
		body := fmt.Sprintf(`{"isDeepThinkMode":true,"newUniqueId":"talk 1","app":"","models":["test/model"],"other":{"field":1},
			"messages":[{"role":"user","content":"I am at the coast."},{"role":"assistant","content":"Lovely."},{"role":"user","content":%q,"id":"m1"}]}`, seaQuestion)
		a := r.sendCompletion(t.Context(), "mine", "", body)
		if a.code != http.StatusOK || !a.done {
			t.Fatalf("%d %s", a.code, a.body)
		}
		checkGolden(t, "deep-think.txt", strings.Join(a.chunkTypes(), "\n")+"\n")
		if got, want := a.answerText(), r.storedMessages(a.thread); got != want || got == "" {
			t.Errorf("the text is\n%s\nnot\n%s", got, want)
		}
		checkSources(t, a)
		for i, c := range a.chunks {
			if c.Conversation != "talk 1" || len(c.Models) == 0 || c.Models[0] != "test/model" {
				t.Errorf("chunk %d: %+v", i, c)
			}
		}
		if s := r.starts[0]; s.Question != seaQuestion || s.NoWeb || !strings.Contains(s.Context, "user: I am at the coast.\n\nassistant: Lovely.") {
			t.Errorf("begun with %+v", s)
		}
		r.sendCompletion(t.Context(), "mine", "", fmt.Sprintf(`{"isDeepThinkMode":true,"isWebSearchEnabled":false,"messages":[{"role":"user","content":%q}]}`, seaQuestion))
		if s := r.starts[len(r.starts)-1]; len(r.starts) != 2 || !s.NoWeb {
			t.Errorf("without the web: %+v", s)
		}
		if strings.Contains(a.body, "u001b") {
			t.Error("an escape sequence came out")
		}
		again := r.sendCompletion(t.Context(), "mine", "", body)
		if again.body != a.body {
			t.Errorf("again:\n%s\nnot\n%s", again.body, a.body)
		}
		other := strings.Replace(body, seaQuestion, "How deep is the lake?", 1)
		if a := r.sendCompletion(t.Context(), "mine", "", other); a.code != http.StatusUnprocessableEntity || !strings.Contains(a.body, "newUniqueId") {
			t.Errorf("another question: %d %s", a.code, a.body)
		}
		if hers := r.sendCompletion(t.Context(), "hers", "", body); hers.thread == a.thread || hers.code != http.StatusOK {
			t.Errorf("another owner: %d %s", hers.code, hers.thread)
		}
	})
}

func checkSources(t *testing.T, a reply) {
	t.Helper()
	sources, tools := 0, 0
	for _, c := range a.chunks {
		switch c.Type {
		case "memory-sources":
			sources += len(c.Sources)
			if c.Summary == nil || c.Summary.Sent != sources || c.Summary.Unique < 1 || len(c.Summary.Tools) == 0 {
				t.Errorf("source %d: %+v", sources, c.Summary)
			}
		case "tool-results":
			tools++
			if c.Tools[0].Tool == "" || c.Tools[0].Result.Query == "" || c.Tools[0].Result.Number != len(c.Tools[0].Result.Results) {
				t.Errorf("tool %+v", c.Tools)
			}
		case "conversation-title":
			if c.Title == "" {
				t.Error("an empty title")
			}
		}
	}
	if sources < 2 || tools < 2 {
		t.Errorf("%d sources, %d tools", sources, tools)
	}
}

// A turn streams live, and its text equals the stored one.
func TestTalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const said = "  Because the air scatters blue light more than red light, and so the blue comes from everywhere.\n\nThat is all of it.  \n"
		r := newRig(t, newModel(func(*llm.Request) string { return said }))
		a := r.sendCompletion(t.Context(), "mine", "", `{"newUniqueId":"c","messages":[{"role":"user","parts":[{"type":"step-start"},{"type":"text","text":"Why is the sky "},{"type":"text","text":"blue?"}]}]}`)
		if a.code != http.StatusOK || !a.done || a.answerText() != strings.TrimSpace(said) || a.answerText() != r.storedMessages(a.thread) {
			t.Fatalf("%d %s\n%q", a.code, a.body, r.storedMessages(a.thread))
		}
		if n := strings.Count(a.body, `"models":["test/model"]`); n != len(a.chunks) {
			t.Errorf("%d of %d chunks name the model", n, len(a.chunks))
		}
		if n := strings.Count(a.body, `"type":"text"`); n < 10 {
			t.Errorf("%d chunks of text", n)
		}
		if types := strings.Join(a.chunkTypes(), " "); types != "text conversation-title" {
			t.Errorf("types %s", types)
		}
		if r.said[0].Content != "Why is the sky blue?" || r.opened[0].Title == "" {
			t.Errorf("said %+v, opened %+v", r.said, r.opened)
		}
		next := r.sendCompletion(t.Context(), "mine", "", `{"conversationUniqueId":"c","isWebSearchEnabled":false,"messages":[{"role":"user","content":"Why is the sky blue?"},
			{"role":"assistant","content":"`+strings.ReplaceAll(strings.TrimSpace(said), "\n", `\n`)+`"},{"role":"user","content":"And at night?"}]}`)
		if next.thread != a.thread || next.answerText() == "" || !next.done || !r.said[1].NoWeb {
			t.Errorf("the next turn: %s, %+v", next.body, r.said[1])
		}
		if types := strings.Join(next.chunkTypes(), " "); types != "text" {
			t.Errorf("types %s", types)
		}
		if n := r.countEvents(a.thread, func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.AttachmentAdded); return ok }); n != 0 {
			t.Error("what the conversation had heard was told it again")
		}
		if code, body := r.sendRequest("mine", "GET", "/api/threads/c", ""); code != http.StatusOK || !strings.Contains(body, string(a.thread)) {
			t.Errorf("by the name that the client gave it: %d %s", code, body)
		}
		if code, body := r.sendRequest("hers", "POST", "/api/completions", `{"conversationUniqueId":"`+string(a.thread)+`","messages":[{"role":"user","content":"And?"}]}`); code != http.StatusNotFound {
			t.Errorf("another owner: %d %s", code, body)
		}
	})
}

// A conversation knows messages from elsewhere and research.
func TestTalkAfterResearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newModel(seaAnswer))
		a := r.sendCompletion(t.Context(), "mine", "", fmt.Sprintf(`{"newUniqueId":"c","isDeepThinkMode":true,"messages":[{"role":"user","content":%q}]}`, seaQuestion))
		answer, err := json.Marshal(a.answerText())
		if err != nil {
			t.Fatal(err)
		}
		said := fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":%s}`, seaQuestion, answer)
		b := r.sendCompletion(t.Context(), "mine", "", `{"conversationUniqueId":"c","messages":[`+said+`,{"role":"user","content":"Thank you. And the lakes?"}]}`)
		if b.code != http.StatusOK || b.thread == a.thread || b.chunks[0].Conversation != "c" {
			t.Fatalf("%d %s", b.code, b.body)
		}
		attached := func(ev ponder.Event) bool {
			f, ok := ev.Body.(ponder.AttachmentAdded)
			return ok && strings.Contains(f.Content, "user: "+seaQuestion) && strings.Contains(f.Content, "assistant: The sea")
		}
		if n := r.countEvents(b.thread, attached); n != 1 {
			t.Fatalf("told %d times what was researched", n)
		}
		lakes, err := json.Marshal(b.answerText())
		if err != nil {
			t.Fatal(err)
		}
		said += fmt.Sprintf(`,{"role":"user","content":"Thank you. And the lakes?"},{"role":"assistant","content":%s}`, lakes)
		c := r.sendCompletion(t.Context(), "mine", "", `{"conversationUniqueId":"c","messages":[`+said+`,{"role":"user","content":"Rivers?"}]}`)
		if n := r.countEvents(b.thread, func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.AttachmentAdded); return ok }); n != 1 || c.thread != b.thread {
			t.Errorf("told %d times, on %s", n, c.thread)
		}
		d := r.sendCompletion(t.Context(), "mine", "", `{"conversationUniqueId":"c","isDeepThinkMode":true,"messages":[`+said+`,{"role":"user","content":"How deep are rivers on average, then?"}]}`)
		if d.thread == a.thread || d.thread == b.thread || !strings.Contains(r.starts[1].Context, "lakes?") || d.answerText() != r.storedMessages(d.thread) {
			t.Errorf("researched on %s with %+v", d.thread, r.starts)
		}
	})
}

// A repeated request gets the complete answer without another model call.
func TestCompletionAttach(t *testing.T) {
	for _, deep := range []bool{false, true} {
		for ms := 100; ms < 14_000; ms += 650 * racetest.Stride(3) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(seaAnswer)
				r := newRig(t, m)
				body := fmt.Sprintf(`{"newUniqueId":"c","isDeepThinkMode":%v,"messages":[{"role":"user","content":%q}]}`, deep, seaQuestion)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms)*time.Millisecond)
				defer cancel()
				var wg sync.WaitGroup
				var other reply
				wg.Go(func() { r.sendCompletion(ctx, "mine", "", body) })
				wg.Go(func() { time.Sleep(50 * time.Millisecond); other = r.sendCompletion(t.Context(), "mine", "", body) })
				time.Sleep(time.Duration(ms+10) * time.Millisecond)
				a := r.sendCompletion(t.Context(), "mine", "", body)
				wg.Wait()
				if a.answerText() != r.storedMessages(a.thread) || a.answerText() == "" || !a.done {
					t.Errorf("after %d ms:\n%s\nnot\n%s", ms, a.answerText(), r.storedMessages(a.thread))
				}
				if other.answerText() != a.answerText() || other.thread != a.thread {
					t.Errorf("after %d ms another got:\n%s\nnot\n%s", ms, other.answerText(), a.answerText())
				}
				if n := r.countEvents(a.thread, func(ev ponder.Event) bool {
					b, started := ev.Body.(ponder.RunStarted)
					_, said := ev.Body.(ponder.UserMessage)
					return said || started && b.Mode == "research"
				}); n != 1 {
					t.Errorf("it was begun %d times", n)
				}
				if c := m.Counts(); c.Repeated > 0 {
					t.Errorf("asked again: %+v", c)
				}
			})
		}
	}
}

// A retried model call replaces the text.
func TestTalkPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fickle{}
		r := newRig(t, m)
		a := r.sendCompletion(t.Context(), "mine", "key", `{"messages":[{"role":"user","content":"Why?"}]}`)
		if a.answerText() != "So it is." || a.answerText() != r.storedMessages(a.thread) || !strings.Contains(a.body, `"replace":true`) || !strings.Contains(a.body, "Perhaps") {
			t.Errorf("%s", a.body)
		}
		if a.chunks[0].Conversation != string(a.thread) {
			t.Errorf("the conversation is %s", a.chunks[0].Conversation)
		}
	})
}

// The reason of a failure follows the partial text.
func TestTalkFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &llmtest.Model{ID: "test/model", Failures: 1000, Failure: &llm.Error{Class: llm.Auth, Model: "test/model", Message: "the key is wrong"}}
		r := newRig(t, m)
		a := r.sendCompletion(t.Context(), "mine", "", `{"messages":[{"role":"user","content":"Why?"}]}`)
		last := completions.Chunk{}
		for _, c := range a.chunks {
			if c.Type == "error" {
				last = c
			}
		}
		if a.code != http.StatusOK || !a.done || !strings.HasPrefix(last.Error, "no answer: ") || len(a.answerText()) > 0 {
			t.Errorf("%d %s", a.code, a.body)
		}
	})
}

// A stopping server ends the stream after heartbeats; the answer is there after the restart.
func TestCompletionStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(func(*llm.Request) string { return "In the end." })
		m.Latency.Mean = time.Minute
		r := newRig(t, m)
		body := `{"messages":[{"role":"user","content":"Why?"}]}`
		go func() { time.Sleep(40 * time.Second); r.stop() }()
		a := r.sendCompletion(t.Context(), "mine", "k", body)
		if n := strings.Count(a.body, ": keep-alive"); n < 1 || !a.done || len(a.chunks) != 1 || !strings.Contains(a.chunks[0].Error, "the server stops") {
			t.Errorf("%s", a.body)
		}
		time.Sleep(5 * time.Minute)
		if got := r.storedMessages(a.thread); got != "In the end." {
			t.Errorf("stored %q", got)
		}
	})
}

func TestCompletionRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(seaAnswer)
		m.Latency.Mean = time.Minute
		r := newRig(t, m)
		go func() {
			time.Sleep(10 * time.Second)
			list, err := r.store.List(context.Background(), ponder.Filter{})
			if err != nil || len(list) != 1 || r.store.Remove(context.Background(), list[0].ID) != nil {
				t.Errorf("%v %v", list, err)
			}
		}()
		a := r.sendCompletion(t.Context(), "mine", "k", `{"messages":[{"role":"user","content":"Why?"}]}`)
		if !a.done || len(a.chunks) != 1 || !strings.Contains(a.chunks[0].Error, "removed") {
			t.Errorf("%s", a.body)
		}
	})
}

// A cancelled turn reports it after the partial text.
func TestTalkStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(seaAnswer)
		m.Between.Mean = time.Second
		r := newRig(t, m)
		go func() {
			time.Sleep(8 * time.Second)
			list, err := r.store.List(context.Background(), ponder.Filter{})
			if err != nil || len(list) != 1 {
				t.Errorf("%v %v", list, err)
				return
			}
			if _, err := r.store.Append(context.Background(), list[0].ID, 0, ponder.Event{Body: ponder.Steer{Do: ponder.Cancel, Content: "The sea"}}); err != nil {
				t.Error(err)
			}
		}()
		a := r.sendCompletion(t.Context(), "mine", "", `{"messages":[{"role":"user","content":"Why?"}]}`)
		if types := strings.Join(a.chunkTypes(), " "); types != "text error conversation-title" || !a.done || !strings.Contains(a.body, "cancelled") {
			t.Errorf("%s", a.body)
		}
	})
}
