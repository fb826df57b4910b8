package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// serveTurn serves answers in turn, the last again, and records the requests.
func serveTurn(t *testing.T, answers ...string) (*[]object, llm.Model) {
	t.Helper()
	var asked []object
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body object
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		asked = append(asked, body)
		answer := answers[min(len(asked), len(answers))-1]
		if strings.HasPrefix(answer, "{") {
			w.WriteHeader(529)
			_, _ = io.WriteString(w, answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if err := llmtest.WriteInPieces(w, []byte(answer), uint64(len(asked))); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(server.Close)
	return &asked, New(Config{BaseURL: server.URL, Tools: []json.RawMessage{json.RawMessage(`{"type":"web_search_20260209","name":"web_search"}`)}}).Model("claude-sonnet-4-5")
}

// partOfTurn is the stream of one request of a turn that searches.
func partOfTurn(n int, stop string) string {
	return toStream(fmt.Sprintf(strings.Replace(begin, `"content":[]`, `"content":[],"container":{"id":"box-%[1]d","expires_at":"x"}`, 1)+`
		{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
		{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"part %[1]d, "}}
		{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srvtoolu_%[1]d","name":"web_search","input":{}}}
		{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}}
		`, n) + stopLines(stop))
}

// A paused turn continues: with its content as it is, in its container, as one answer.
func TestPausedTurn(t *testing.T) {
	asked, m := serveTurn(t, partOfTurn(1, pauseTurn), partOfTurn(2, pauseTurn), partOfTurn(3, "end_turn"))
	shown, ends := "", 0
	var done *llm.Response
	for d, err := range m.Generate(t.Context(), helloRequest()) {
		if err != nil {
			t.Fatal(err)
		}
		if shown += d.Text; d.Done != nil {
			done = d.Done
			ends++
		}
	}
	const text = "part 1, part 2, part 3, "
	if ends != 1 || shown != text || done.Message.Text() != text || done.Finish != llm.FinishStop {
		t.Errorf("%d ends, shown %q, answer %q, %s", ends, shown, done.Message.Text(), done.Finish)
	}
	if want := (llm.Usage{Input: 30, CacheRead: 9, CacheWrite: 12, Output: 21}); done.Usage != want {
		t.Errorf("usage %+v, want %+v", done.Usage, want)
	}
	if len(*asked) != 3 {
		t.Fatalf("%d requests, want 3", len(*asked))
	}
	search := func(n int) object {
		return object{"type": "server_tool_use", "id": fmt.Sprintf("srvtoolu_%d", n), "name": "web_search", "input": object{"query": "q"}}
	}
	text1 := func(n int) object { return object{"type": "text", "text": fmt.Sprintf("part %d, ", n)} }
	want := []any{object{"role": "user", "content": []any{object{"type": "text", "text": "hello"}}},
		object{"role": "assistant", "content": []any{text1(1), search(1), text1(2), search(2)}}}
	if diff := cmp.Diff(want, (*asked)[2]["messages"]); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	for i, box := range []any{nil, "box-1", "box-2"} {
		if got := (*asked)[i]["container"]; got != box {
			t.Errorf("request %d has container %v, want %v", i+1, got, box)
		}
	}
}

// A turn that always pauses is incomplete in the end, and a failure counts all its usage.
func TestEndlessPauses(t *testing.T) {
	asked, m := serveTurn(t, partOfTurn(1, pauseTurn))
	resp, err := llmtest.Generate(t, m, helloRequest())
	if err != nil || resp.Finish != llm.FinishOther || !resp.Finish.IsCut() || resp.Finish.DescribeIncomplete() == "" || len(*asked) != maxPauses+1 {
		t.Errorf("%+v, %v, %d requests", resp, err, len(*asked))
	}
	_, m = serveTurn(t, partOfTurn(1, pauseTurn), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	_, err = llmtest.Generate(t, m, helloRequest())
	if used := llm.UsageOf(err); llm.ClassOf(err) != llm.Transient || used.Output != 7 {
		t.Errorf("%v, usage %+v", err, used)
	}
}

// Two messages in one stream are no answer.
func TestSecondMessage(t *testing.T) {
	for name, body := range map[string]string{
		"at once":    begin + "\n" + begin + stopLines("end_turn"),
		"after text": begin + "\n" + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}` + "\n" + begin + stopLines("end_turn"),
		"whole":      begin + "\n" + `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`,
	} {
		if resp, err := readAnswer(t, 200, "text/event-stream", toStream(body), helloRequest()); llm.ClassOf(err) != llm.Malformed {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
}

// Emoji in two events are whole.
func TestSplitCharacters(t *testing.T) {
	delta := func(text string) string {
		return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}` + "\n"
	}
	for _, pieces := range [][]string{{`\ud83d`, `\udcad ok`}, {"\xf0\x9f", "\x92\xad ok"}, {"\xf0", "\x9f", "\x92", "\xad ok"}, {"💭", " ok"}} {
		body := begin + "\n" + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n"
		for _, p := range pieces {
			body += delta(p)
		}
		resp, err := readAnswer(t, 200, "text/event-stream", toStream(body+stopLines("end_turn")), helloRequest())
		if err != nil || resp.Message.Text() != "💭 ok" {
			t.Errorf("%q: %v, %v", pieces, resp, err)
		}
	}
}
