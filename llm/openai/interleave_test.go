package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// A streamedItem is an item of a response and its events.
type streamedItem struct {
	typ, text string
}

// itemEvents returns the events of an item. Its name is in by, as index, ID or both.
func itemEvents(n int, it streamedItem, by string, size int) (list []string) {
	name := ""
	if by != "id" {
		name += fmt.Sprintf(`,"output_index":%d`, n)
	}
	id := fmt.Sprintf("item-%d", n)
	idOf := func(event int) string {
		if by == "rotating" { // as GitHub's server
			return fmt.Sprintf("%s-%d", id, event)
		}
		return id
	}
	list = append(list, event1("response.output_item.added", name+fmt.Sprintf(`,"item":{"type":%q,"id":%q}`, it.typ, idOf(0))))
	typ, whole := "response.output_text.delta", `"content":[{"type":"output_text","text":`+string(rawJSON(it.text))+`}]`
	if it.typ == "reasoning" {
		typ, whole = "response.reasoning_summary_text.delta", `"summary":[{"type":"summary_text","text":`+string(rawJSON(it.text))+`}]`
	}
	for at := 0; at < len(it.text); at += size {
		list = append(list, event1(typ, name+fmt.Sprintf(`,"item_id":%q,"summary_index":0,"delta":%s`, idOf(at+1), rawJSON(it.text[at:min(at+size, len(it.text))]))))
	}
	return append(list, event1("response.output_item.done", name+fmt.Sprintf(`,"item":{"type":%q,"id":%q,%s}`, it.typ, idOf(1000), whole)))
}

// Items that interleave in any order give each text once, in order of the items, and the
// deltas give the same text.
func TestInterleavedItems(t *testing.T) {
	items := []streamedItem{{"reasoning", "First I think."}, {"message", "So it is."}, {"reasoning", "Then I check."}, {"message", "It is so."}}
	const text, thought = "So it is.It is so.", "First I think.Then I check."
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // for variety
		by := []string{"index", "id", "both", "rotating"}[seed%4]
		queues := make([][]string, len(items))
		left := 0
		body := ""
		for i, it := range items {
			events := itemEvents(i, it, by, 1+rnd.IntN(5))
			body += events[0] // the items begin in order
			queues[i] = events[1:]
			left += len(queues[i])
		}
		for ; left > 0; left-- {
			i := rnd.IntN(len(queues))
			for len(queues[i]) == 0 {
				i = (i + 1) % len(queues)
			}
			body, queues[i] = body+queues[i][0], queues[i][1:]
		}
		_, p := serveCanned(t, Config{Responses: true}, streamAnswer(body+event1("response.completed", completed)))
		var shownText, shownThought string
		for d, err := range p.Model("m").Generate(t.Context(), askRequest("q")) {
			if err != nil {
				t.Fatal(err)
			}
			shownText, shownThought = shownText+d.Text, shownThought+d.Reasoning
			if d.Done == nil {
				continue
			}
			var thoughts string
			for _, part := range d.Done.Message.Parts {
				thoughts += part.Reasoning
			}
			if got := d.Done.Message.Text(); got != text || shownText != text || thoughts != thought || shownThought != thought {
				t.Errorf("seed %d by %s: text %q, shown %q, reasoning %q, shown %q", seed, by, got, shownText, thoughts, shownThought)
			}
		}
	}
}

// Of full reasoning and its summary only one counts, and text without an end is shown.
func TestItemsOfOddServers(t *testing.T) {
	reasoning := func(typ, text string) string {
		return event1("response."+typ+".delta", `,"output_index":0,"item_id":"r","delta":`+string(rawJSON(text)))
	}
	end := event1("response.completed", completed)
	for name, tt := range map[string]struct{ body, text, thought string }{
		"both kinds of reasoning": {reasoning("reasoning_text", "a") + reasoning("reasoning_summary_text", "A") + reasoning("reasoning_text", "b") +
			event1("response.output_item.done", `,"output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"text":"A"}],"content":[{"text":"ab"}]}`) + end, "", "ab"},
		"no ends": {reasoning("reasoning_text", "a") + event1("response.output_text.delta", `,"output_index":1,"delta":"x"`) + event1("response.output_text.delta", `,"output_index":2,"delta":"z"`) +
			event1("response.output_text.delta", `,"output_index":1,"delta":"y"`) + end, "xyz", "a"},
		"one index for all":  {itemsInTurn(`,"output_index":0`) + end, "onetwo", ""},
		"no index and no ID": {itemsInTurn("") + end, "onetwo", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, p := serveCanned(t, Config{Responses: true}, streamAnswer(tt.body))
			resp, err := llmtest.Generate(t, p.Model("m"), askRequest("q"))
			if err != nil {
				t.Fatal(err)
			}
			if got := summarizeResponse(t, resp); got.Text != tt.text || got.Reasoning != tt.thought {
				t.Errorf("text %q, reasoning %q", got.Text, got.Reasoning)
			}
		})
	}
}

func itemsInTurn(index string) (body string) {
	for _, text := range []string{"one", "two"} {
		body += event1("response.output_text.delta", index+`,"delta":"`+text+`"`) +
			event1("response.output_item.done", index+`,"item":{"type":"message","content":[{"type":"output_text","text":"`+text+`"}]}`)
	}
	return body
}

// A call of a custom tool has text as input, and goes back with its own type.
func TestCustomCalls(t *testing.T) {
	for name, input := range map[string]string{"text": "*** Begin Patch\n\"x\"", "JSON": `{"a":1}`, "empty": ""} {
		t.Run(name, func(t *testing.T) {
			body := event1("response.output_item.added", `,"output_index":0,"item":{"type":"custom_tool_call","id":"i","call_id":"c","name":"f","input":""}`) +
				event1("response.custom_tool_call_input.delta", `,"output_index":0,"item_id":"i","delta":`+string(rawJSON(input))) +
				event1("response.custom_tool_call_input.done", `,"output_index":0,"item_id":"i","input":`+string(rawJSON(input))) +
				event1("response.output_item.done", `,"output_index":0,"item":{"type":"custom_tool_call","id":"i","call_id":"c","name":"f","input":`+string(rawJSON(input))+`}`) +
				event1("response.completed", completed)
			server, p := serveCanned(t, Config{Responses: true}, streamAnswer(body))
			req := askRequest("q")
			resp, err := llmtest.Generate(t, p.Model("m"), req)
			if err != nil {
				t.Fatal(err)
			}
			calls := resp.Message.Calls()
			if len(calls) != 1 || calls[0].ID != "c" || calls[0].Name != "f" || resp.Finish != llm.FinishTools {
				t.Fatalf("calls %+v, %s", calls, resp.Finish)
			}
			req.Messages = append(req.Messages, resp.Message, llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "c", Name: "f", Text: "done"}}}})
			for i, m := range []llm.Model{p.Model("m"), p.Model("other")} {
				if _, err := llmtest.Generate(t, m, req); err != nil {
					t.Fatal(err)
				}
				typ, field := customCall, "input"
				if i == 1 {
					typ, field = "function_call", "arguments"
				}
				call, result := valueAt(server.asked[i+1], "input", 1), valueAt(server.asked[i+1], "input", 2)
				if stringAt(call, "type") != typ || stringAt(result, "type") != typ+"_output" || stringAt(result, "output") != "done" {
					t.Errorf("sent %s and %s", rawJSON(call), rawJSON(result))
				}
				want := input
				if i == 1 {
					want = argumentText(calls[0].Input)
				}
				if name == "empty" && i == 0 {
					want = "{}" // an empty input cannot be told from an empty object
				}
				if diff := cmp.Diff(want, stringAt(call, field)); diff != "" {
					t.Errorf("input (-want +got):\n%s", diff)
				}
			}
			if !json.Valid(calls[0].Input) {
				t.Errorf("input %s", calls[0].Input)
			}
		})
	}
}

// Emoji in two chunks are whole, with chunks and writes of every size, in both dialects.
func TestSplitCharacters(t *testing.T) {
	const text = "I 💭 a 語 — 👩‍👧."
	escaped := ""
	for _, r := range text {
		escaped += strings.Trim(fmt.Sprintf("%+q", string(r)), `"`)
	}
	escaped = strings.NewReplacer(`\U0001f4ad`, `\ud83d\udcad`, `\U0001f469`, `\ud83d\udc69`, `\U0001f467`, `\ud83d\udc67`).Replace(escaped)
	units := func(size int) (list []string) { // pieces of escapes or bytes
		for i := 0; i < len(escaped); {
			piece := ""
			for range size {
				if i < len(escaped) {
					n := 1
					if escaped[i] == '\\' {
						n = 6
					}
					piece, i = piece+escaped[i:i+n], i+n
				}
			}
			list = append(list, piece)
		}
		return list
	}
	for size := 1; size <= 8; size++ {
		var raw []string
		for at := 0; at < len(text); at += size {
			raw = append(raw, text[at:min(at+size, len(text))])
		}
		for kind, pieces := range map[string][]string{"escapes": units(size), "bytes": raw} {
			chat, resp, thought := "", event1("response.output_item.added", `,"output_index":0,"item":{"type":"message","id":"i"}`), ""
			for _, piece := range pieces {
				chat += `data: {"choices":[{"index":0,"delta":{"content":"` + piece + `"},"logprobs":null}]}` + "\n\n"
				thought += `data: {"choices":[{"index":0,"delta":{"reasoning_content":"` + piece + `"}}]}` + "\n\n"
				resp += event1("response.output_text.delta", `,"output_index":0,"item_id":"i","delta":"`+piece+`"`)
			}
			for dialect, body := range map[string]string{"chat": thought + chat + finish + done, "responses": resp + event1("response.completed", completed)} {
				_, p := serveCanned(t, Config{Chat: dialect == "chat"}, streamAnswer(body))
				got, err := llmtest.Generate(t, p.Model("m"), askRequest("q"))
				if err != nil {
					t.Fatal(err)
				}
				if s := summarizeResponse(t, got); s.Text != text || dialect == "chat" && s.Reasoning != text {
					t.Errorf("%s of %d %s: %q, %q", dialect, size, kind, s.Text, s.Reasoning)
				}
			}
		}
	}
}
