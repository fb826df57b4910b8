package openai

import (
	"encoding/json"
	"testing"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

func FuzzEncode(f *testing.F) {
	f.Add("gpt-5", "Be brief.", "What <is> this?", `{"type":"object","description":"<An> answer.","properties":{"a":{"type":"string"}}}`, "answer", "", 100, uint8(0))
	f.Add("m", "", "\xff \u2028 \"\\", `{ "type" : "string" , "x": "\ufffd" }`, "<a>", "look", 0, uint8(255))
	f.Add("m", "s", "", `{`, "", "none", -1, uint8(5))
	f.Add("m", "s", "hm", ``, "a", "", 7, uint8(2))
	f.Fuzz(func(t *testing.T, id, system, text, schema, name, choice string, tokens int, has uint8) {
		p := New(Config{BaseURL: []string{"https://api.openai.com/v1", "http://localhost:8000", "https://openrouter.ai/api/v1", "https://api.mistral.ai/v1"}[has>>4&3], Chat: true})
		req := &llm.Request{System: system, MaxTokens: tokens, ToolChoice: choice, Cache: has&8 != 0}
		if has&1 == 0 {
			req.Schema = &llm.Schema{Name: name, JSON: json.RawMessage(schema)}
		}
		if has&2 != 0 {
			req.Messages = append(req.Messages, fullRequest(p.Model(id).Name()).Messages...)
		}
		if has&4 != 0 {
			req.Tools = fullRequest(id).Tools
		}
		req.Messages = append(req.Messages, llm.Say(llm.User, text), llm.Say(llm.Assistant, system))
		m, _ := p.Model(id).(*model)
		plan, err := m.planChat(req, 0)
		if err != nil {
			return
		}
		got, err := encodeBody(plan.body)
		want, wantErr := wire.Body(plan.body)
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%v: wrote %s\nwant %s (%v)", err, got, want, wantErr)
		}
	})
}
