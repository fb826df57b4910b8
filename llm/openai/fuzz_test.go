package openai

import (
	"encoding/json"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func fuzzAnswer(t *testing.T, c Config, a cannedAnswer) {
	_, p := serveCanned(t, c, a)
	req := askRequest("x")
	req.Tools = []llm.Tool{{Name: "f"}}
	resp, err := llmtest.Generate(t, p.Model("m"), req)
	if err != nil {
		return
	}
	u := resp.Usage
	if u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output < 0 || u.Reasoning < 0 || u.Reasoning > u.Output || u.Total() < 0 {
		t.Errorf("usage %+v", u)
	}
	ids := map[string]bool{}
	for _, c := range resp.Message.Calls() {
		if !json.Valid(c.Input) || c.ID == "" || c.Name == "" || c.Name != "" && ids[c.ID] {
			t.Errorf("call %+v", c)
		}
		ids[c.ID] = true
	}
	stored, err := json.Marshal(resp)
	if err != nil {
		t.Fatalf("the answer cannot be stored: %v", err)
	}
	var again llm.Response
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatalf("the answer cannot be read again: %v", err)
	}
	req.Messages = append(req.Messages, again.Message, llm.Say(llm.User, "y"))
	if _, err := llmtest.Generate(t, p.Model("m"), req); err != nil && llm.ClassOf(err) == llm.BadRequest {
		t.Errorf("the answer cannot be sent back: %v", err)
	}
}

func FuzzChat(f *testing.F) {
	f.Add(sayChunk("<think>a</think>b")+finish+counted+done, false)
	f.Add(callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`)+finish, false)
	f.Add(`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"a"}]}],"reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"b","index":0,"signature":"s"}]}}]}`+"\n\n"+finish, false)
	f.Add(`{"object":"chat.completion","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`, true)
	f.Fuzz(func(t *testing.T, body string, whole bool) {
		a := streamAnswer(body)
		if whole {
			a.ctype = "application/json"
		}
		fuzzAnswer(t, Config{Chat: true}, a)
	})
}

func FuzzResponses(f *testing.F) {
	f.Add(event1("response.output_text.delta", `,"delta":"Hi"`)+event1("response.completed", completed), false)
	f.Add(event1("response.output_item.done", `,"item":{"type":"reasoning","id":"r","summary":[{"text":"a"}],"encrypted_content":"e"}`)+
		event1("response.output_item.done", `,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`)+event1("response.incomplete", completed), false)
	f.Add(`{"object":"response","status":"completed","output":[{"type":"message","content":[{"text":"Hi"}]}]}`, true)
	f.Fuzz(func(t *testing.T, body string, whole bool) {
		a := streamAnswer(body)
		if whole {
			a.ctype = "application/json"
		}
		fuzzAnswer(t, Config{Responses: true}, a)
	})
}

func FuzzStrictSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		out, ok := strictSchema(json.RawMessage(schema), false)
		if ok && !json.Valid(out) {
			t.Errorf("%q becomes %q", schema, out)
		}
		if again, still := strictSchema(out, false); ok && (!still || string(again) != string(out)) {
			t.Errorf("%q becomes %q and then %q", schema, out, again)
		}
	})
}
