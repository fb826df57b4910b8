package thread

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

const talk ponder.ThreadID = "thr_talk"

// newConversation creates a conversation with turns of a message, a thought, a call and an answer.
func newConversation(t testing.TB, turns int) *countingStore {
	t.Helper()
	s := newStore(t)
	var evs []ponder.Event
	for n := range turns {
		cause := fmt.Sprint("k-", n, "#1")
		evs = append(evs, ponder.Event{Time: day, Body: ponder.UserMessage{Content: fmt.Sprint("question ", n)}},
			ponder.Event{Time: day, Internal: true, Body: ponder.Thought{Content: fmt.Sprint("secret ", n), Kind: "think"}},
			ponder.Event{Time: day, Run: "run_1", Cause: cause, Body: ponder.CallStarted{Model: "p/m"}},
			ponder.Event{Time: day, Body: ponder.AssistantMessage{Content: fmt.Sprint("answer ", n)}})
	}
	if err := s.Create(t.Context(), ponder.Thread{ID: talk, Kind: ponder.KindConversation}, evs...); err != nil {
		t.Fatal(err)
	}
	return s
}

// readThread calls thread_read as a mode does.
func readThread(t testing.TB, s *countingStore, mode, in string) excerpt {
	t.Helper()
	ctx := ponder.WithToolContext(t.Context(), ponder.ToolContext{Thread: talk, Mode: mode})
	text, err := NewRead(s, "deep").Do(ctx, json.RawMessage(in))
	if err != nil {
		t.Fatal(err)
	}
	var out excerpt
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRead(t *testing.T) {
	s := newConversation(t, 100)
	for _, c := range []struct {
		name, in    string
		first, last ponder.Seq
		n           int
		more        bool
	}{
		{"the newest", `{}`, 361, 400, 20, false},
		{"a few of the newest", `{"limit":3}`, 396, 400, 3, false},
		{"from", `{"from":5,"limit":4}`, 5, 12, 4, true},
		{"from, to its end", `{"from":397}`, 397, 400, 2, false},
		{"a range", `{"from":1,"to":8}`, 1, 8, 4, false},
		{"one that is whole", `{"from":1,"to":8,"limit":4}`, 1, 8, 4, false},
		{"a range that is too long", `{"from":1,"to":400,"limit":50}`, 1, 100, 50, true},
		{"more than there may be", `{"limit":1000000}`, 301, 400, 50, false},
		{"to", `{"to":20,"limit":2}`, 17, 20, 2, false},
		{"around", `{"around":21,"limit":5}`, 17, 25, 5, false},
		{"around the first", `{"around":1,"limit":3}`, 1, 5, 3, false},
		{"around one that is far away", `{"around":99999,"limit":3}`, 397, 400, 2, false},
		{"after the end", `{"from":9000000000000000000}`, 0, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := readThread(t, s, "chat", c.in)
			if len(out.Events) != c.n || out.More != c.more || out.Head != 400 {
				t.Fatalf("%d events, more %v, head %d", len(out.Events), out.More, out.Head)
			}
			if c.n > 0 && (out.Events[0].Seq != c.first || out.Events[c.n-1].Seq != c.last) {
				t.Errorf("events %d to %d, want %d to %d", out.Events[0].Seq, out.Events[c.n-1].Seq, c.first, c.last)
			}
			if !slices.IsSortedFunc(out.Events, func(a, b passage) int { return int(a.Seq - b.Seq) }) {
				t.Error("they are not in order")
			}
		})
	}
}

// Only a mode whose text no user sees may read internal events.
func TestReadInternal(t *testing.T) {
	s := newConversation(t, 3)
	count := func(mode string) (n int) {
		for _, p := range readThread(t, s, mode, `{}`).Events {
			if strings.Contains(p.Content, "secret") {
				n++
			}
			if p.Type == "call_started" {
				t.Error("a call is shown")
			}
		}
		return n
	}
	if got := []int{count("chat"), count(""), count("deep")}; !slices.Equal(got, []int{0, 0, 3}) {
		t.Errorf("%v thoughts are shown to chat, no mode and deep", got)
	}
}

func TestReadIsBounded(t *testing.T) {
	s := newStore(t)
	huge := strings.Repeat("長い\x1b[2J", 5_000)
	evs := []ponder.Event{
		{Time: day, Body: ponder.ToolResult{Name: huge, Result: huge, Untrusted: true}},
		{Time: day, Body: ponder.AttachmentAdded{Name: huge, Content: "text"}},
		ponder.Event{Time: day, Body: ponder.UserMessage{Content: "gone"}}.WithoutContent(),
	}
	for range 60 {
		evs = append(evs, ponder.Event{Time: day, Body: ponder.UserMessage{Content: huge}})
	}
	if err := s.Create(t.Context(), ponder.Thread{ID: talk}, evs...); err != nil {
		t.Fatal(err)
	}
	for in, limit := range map[string]int{`{"limit":50}`: 30_000, `{"limit":1}`: 20_000, `{"from":1,"to":3}`: 30_000} {
		out := readThread(t, s, "chat", in)
		js, err := json.Marshal(out)
		if err != nil || len(js) > limit || !utf8.Valid(js) || strings.ContainsRune(string(js), '\x1b') {
			t.Errorf("%s: %d bytes, %v", in, len(js), err)
		}
	}
	if n := len(readThread(t, s, "chat", `{"limit":1}`).Events[0].Content); n < 10_000 {
		t.Errorf("one event alone is cut to %d bytes", n)
	}
	few := readThread(t, s, "chat", `{"from":1,"to":3}`).Events
	want := passage{Seq: 3, Time: day, Type: "user_message", Role: "user", Erased: true}
	if d := cmp.Diff(want, few[2]); d != "" || !few[0].Untrusted {
		t.Errorf("erased: %s; untrusted: %v", d, few[0].Untrusted)
	}
}

// A use reads only a part of a long thread.
func TestReadOfLongThread(t *testing.T) {
	s := newConversation(t, 5_000)
	for _, in := range []string{`{}`, `{"around":10000}`, `{"from":18000}`, `{"to":14000,"limit":50}`} {
		s.events = 0
		readThread(t, s, "chat", in)
		if s.events > 1000 {
			t.Errorf("%s: %d events were read", in, s.events)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	s := newConversation(t, 2)
	tool := NewRead(s)
	on := ponder.WithToolContext(t.Context(), ponder.ToolContext{Thread: talk})
	for name, c := range map[string]struct {
		ctx context.Context
		in  string
	}{
		"no thread":          {t.Context(), `{}`},
		"one that is gone":   {ponder.WithToolContext(t.Context(), ponder.ToolContext{Thread: "thr_none"}), `{}`},
		"both ways":          {on, `{"around":3,"from":1}`},
		"backwards":          {on, `{"from":3,"to":1}`},
		"less than nothing":  {on, `{"from":-1}`},
		"no number":          {on, `{"from":"the beginning"}`},
		"a part of a number": {on, `{"limit":1.5}`},
		"no JSON":            {on, `around 3`},
	} {
		if out, err := tool.Do(c.ctx, json.RawMessage(c.in)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	var typed struct {
		Properties map[string]struct{ Type string }
	}
	if err := json.Unmarshal(tool.Schema, &typed); err != nil || len(typed.Properties) != 4 {
		t.Fatalf("schema: %v", err)
	}
	for name, p := range typed.Properties {
		if p.Type != "integer" {
			t.Errorf("%s is of type %q", name, p.Type)
		}
	}
}
