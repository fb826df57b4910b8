package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// rolesOf writes messages as "role:text", with parts as [types] and calls as (names).
func rolesOf(t *testing.T, asked object) string {
	t.Helper()
	var body struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Calls   []struct {
				Function struct{ Name string } `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(rawJSON(asked), &body); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range body.Messages {
		var text string
		var parts []struct{ Type, Text string }
		if json.Unmarshal(m.Content, &parts) == nil && parts != nil {
			for _, p := range parts {
				text += "[" + p.Type + " " + p.Text + "]"
			}
		} else if len(m.Content) > 0 && json.Unmarshal(m.Content, &text) != nil {
			t.Fatalf("content %s", m.Content)
		}
		for _, c := range m.Calls {
			text += "(" + c.Function.Name + ")"
		}
		list = append(list, m.Role+":"+strings.ReplaceAll(text, "\n\n", "/"))
	}
	return strings.Join(list, " ")
}

const strictWords = "Conversation roles must alternate user/assistant/user/assistant/..."

// inStream is the refusal of a server that already began its answer.
func inStream(message string) cannedAnswer {
	return streamAnswer("event: error\ndata: " + `{"error":{"message":` + string(rawJSON(message)) + "}}\n\n")
}

// Refused roles are folded or joined, now and later, in any form of refusal.
func TestRoles(t *testing.T) {
	say := llm.Say
	image := llm.Part{Media: &llm.Media{Type: "image/png", Data: []byte("png")}}
	called := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c", Name: "f", Input: json.RawMessage(`{}`)}}}}
	result := llm.Part{Result: &llm.ToolResult{ID: "c", Name: "f", Text: "r"}}
	long := "\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n...% 2 == 0) -%}↵        {{ raise_exception(\"" + strictWords + "\") }}"
	ask := []llm.Message{say(llm.User, "q")}
	for name, tt := range map[string]struct {
		refusals []cannedAnswer
		messages []llm.Message
		system   string
		want     string
	}{
		"Gemma at vLLM":             {[]cannedAnswer{{400, "application/json", `{"object":"error","message":"System role not supported","type":"BadRequestError","code":400}`}}, ask, "s", "user:s/q"},
		"Mistral at LM Studio":      {[]cannedAnswer{{400, "application/json", `{"error":"Error rendering prompt with jinja template: \"Only user and assistant roles are supported!\"."}`}}, ask, "s", "user:s/q"},
		"in a stream":               {[]cannedAnswer{inStream("Error rendering prompt with jinja template: \"Only user and assistant roles are supported!\".")}, ask, "s", "user:s/q"},
		"Gemma at Google":           {[]cannedAnswer{refuseAnswer(400, "Developer instruction is not enabled for models/gemma-3-27b-it")}, ask, "s", "user:s/q"},
		"o1-mini":                   {[]cannedAnswer{refuseAnswer(400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.")}, ask, "s", "user:s/q"},
		"status 500":                {[]cannedAnswer{refuseAnswer(500, "Jinja Exception: System role not supported")}, ask, "s", "user:s/q"},
		"parts":                     {[]cannedAnswer{refuseAnswer(400, "System role not supported")}, []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "q"}, image}}}, "s", "user:[text s][text q][image_url ]"},
		"no user's message":         {[]cannedAnswer{refuseAnswer(400, "System role not supported")}, []llm.Message{say(llm.Assistant, "a"), say(llm.User, "q")}, "s", "user:s assistant:a user:q"},
		"no message":                {[]cannedAnswer{refuseAnswer(400, "System role not supported")}, nil, "s", "user:s"},
		"system counts as a turn":   {[]cannedAnswer{refuseAnswer(400, strictWords)}, ask, "s", "user:s/q"},
		"equal users":               {[]cannedAnswer{refuseAnswer(400, strictWords)}, []llm.Message{say(llm.User, "a"), say(llm.User, "b"), say(llm.Assistant, "c"), say(llm.Assistant, "d"), say(llm.User, "q")}, "s", "system:s user:a/b assistant:c/d user:q"},
		"equal users, at llama":     {[]cannedAnswer{refuseAnswer(500, long)}, []llm.Message{say(llm.User, "a"), say(llm.User, "b")}, "", "user:a/b"},
		"equal users and system":    {[]cannedAnswer{refuseAnswer(400, strictWords), refuseAnswer(400, strictWords)}, []llm.Message{say(llm.User, "a"), say(llm.User, "q")}, "s", "user:s/a/q"},
		"a joined image":            {[]cannedAnswer{refuseAnswer(400, strictWords)}, []llm.Message{{Role: llm.User, Parts: []llm.Part{image}}, say(llm.User, "q")}, "", "user:[image_url ][text q]"},
		"calls":                     {[]cannedAnswer{refuseAnswer(400, strictWords)}, []llm.Message{say(llm.User, "a"), say(llm.Assistant, "b"), called, {Role: llm.User, Parts: []llm.Part{result}}}, "", "user:a assistant:b(f) tool:r"},
		"a user after results":      {[]cannedAnswer{refuseAnswer(400, "Unexpected role 'user' after role 'tool'")}, []llm.Message{say(llm.User, "a"), called, {Role: llm.User, Parts: []llm.Part{result, {Text: "q"}}}}, "", "user:a assistant:(f) tool:r/q"},
		"an image after results":    {[]cannedAnswer{refuseAnswer(400, strictWords)}, []llm.Message{say(llm.User, "a"), called, {Role: llm.User, Parts: []llm.Part{result, image}}}, "", "user:a assistant:(f) tool:r assistant:" + noMessage + " user:[image_url ]"},
		"the assistant begins":      {[]cannedAnswer{refuseAnswer(400, strictWords)}, []llm.Message{say(llm.Assistant, "a"), say(llm.User, "q")}, "", "user:" + noMessage + " assistant:a user:q"},
		"the assistant begins, too": {[]cannedAnswer{refuseAnswer(400, "After the optional system message, conversation roles must alternate user and assistant roles")}, []llm.Message{say(llm.Assistant, "a"), say(llm.User, "q")}, "s", "system:s user:" + noMessage + " assistant:a user:q"},
	} {
		t.Run(name, func(t *testing.T) {
			server, p := serveCanned(t, Config{BaseURL: "http://localhost"}, append(tt.refusals, streamAnswer(sayChunk("ok")+finish))...)
			req := &llm.Request{System: tt.system, Messages: tt.messages}
			for range 2 {
				resp, err := llmtest.Generate(t, p.Model("m"), req)
				if err != nil || resp.Message.Text() != "ok" {
					t.Fatal(resp, err)
				}
			}
			if len(server.asked) != len(tt.refusals)+2 {
				t.Fatalf("%d requests were sent, want %d and one again", len(server.asked), len(tt.refusals)+1)
			}
			for _, asked := range server.asked[len(tt.refusals):] {
				if got := rolesOf(t, asked); got != tt.want {
					t.Errorf("sent %s, want %s", got, tt.want)
				}
			}
			other := len(server.asked)
			server.answers = []cannedAnswer{streamAnswer(sayChunk("ok") + finish)}
			if _, err := llmtest.Generate(t, p.Model("other"), req); err != nil {
				t.Fatal(err)
			}
			if got := rolesOf(t, server.asked[other]); got == tt.want {
				t.Errorf("another model got %s", got)
			}
		})
	}
}

// Other errors change no roles.
func TestOtherRefusals(t *testing.T) {
	for _, a := range []cannedAnswer{
		refuseAnswer(401, "System role not supported"), refuseAnswer(429, strictWords), refuseAnswer(400, "the system is overloaded"),
		refuseAnswer(400, "maximum context length is 9 tokens, your system message is not supported"), refuseAnswer(400, "the model must alternate current"),
	} {
		server, p := serveCanned(t, Config{BaseURL: "http://localhost"}, a)
		req := &llm.Request{System: "s", Messages: []llm.Message{llm.Say(llm.User, "a"), llm.Say(llm.User, "b")}}
		if _, err := llmtest.Generate(t, p.Model("m"), req); err == nil || len(server.asked) != 1 {
			t.Errorf("%s: %d requests, %v", a.body, len(server.asked), err)
		}
	}
	// An error after words is no refusal of the request.
	server, p := serveCanned(t, Config{BaseURL: "http://localhost"}, streamAnswer(sayChunk("ok")+inStream("System role not supported").body))
	if _, err := llmtest.Generate(t, p.Model("m"), &llm.Request{System: "s", Messages: askRequest("q").Messages}); err == nil || len(server.asked) != 1 {
		t.Errorf("%d requests, %v", len(server.asked), err)
	}
}

// Servers of Responses refuse the same roles, and some of them objects with text.
func TestRolesOfResponses(t *testing.T) {
	say := llm.Say
	image := llm.Part{Media: &llm.Media{Type: "image/png", Data: []byte("png")}}
	called := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c", Name: "f", Input: json.RawMessage(`{}`)}}}}
	result := llm.Part{Result: &llm.ToolResult{ID: "c", Name: "f", Text: "r"}}
	ask := []llm.Message{say(llm.User, "q")}
	const imageItem = `[{"image_url":"data:image/png;base64,cG5n","type":"input_image"}]`
	const call = `{"arguments":"{}","call_id":"c","name":"f","type":"function_call"}`
	for name, tt := range map[string]struct {
		refusal  string
		messages []llm.Message
		want     string
	}{
		"no system role":         {"System role not supported", ask, `{"content":"s\n\nq","role":"user"}`},
		"system counts as turn":  {strictWords, ask, `{"content":"s\n\nq","role":"user"}`},
		"equal roles":            {strictWords, []llm.Message{say(llm.User, "a"), say(llm.User, "b"), say(llm.Assistant, "c"), say(llm.Assistant, "d"), say(llm.User, "q")}, `{"content":"s","role":"system"} {"content":"a\n\nb","role":"user"} {"content":"c\n\nd","role":"assistant"} {"content":"q","role":"user"}`},
		"the assistant begins":   {strictWords, []llm.Message{say(llm.Assistant, "a"), say(llm.User, "q")}, `{"content":"s","role":"system"} {"content":"(no message)","role":"user"} {"content":"a","role":"assistant"} {"content":"q","role":"user"}`},
		"a user after results":   {"Unexpected role 'user' after role 'tool'", []llm.Message{say(llm.User, "a"), called, {Role: llm.User, Parts: []llm.Part{result, {Text: "q"}}}}, `{"content":"s","role":"system"} {"content":"a","role":"user"} ` + call + ` {"call_id":"c","output":"r\n\nq","type":"function_call_output"}`},
		"an image after results": {strictWords, []llm.Message{say(llm.User, "a"), called, {Role: llm.User, Parts: []llm.Part{result, image}}}, `{"content":"s","role":"system"} {"content":"a","role":"user"} ` + call + ` {"call_id":"c","output":"r","type":"function_call_output"} {"content":"(no message)","role":"assistant"} {"content":` + imageItem + `,"role":"user"}`},
		"no objects with text":   {"1 validation error: Input tag 'input_text' found using 'type' does not match any of the expected tags", []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "q"}, image}}}, `{"content":"s","role":"system"} {"content":"q","role":"user"} {"content":` + imageItem + `,"role":"user"}`},
	} {
		t.Run(name, func(t *testing.T) {
			server, p := serveCanned(t, Config{BaseURL: "http://localhost", Responses: true}, refuseAnswer(400, tt.refusal), streamAnswer(event1("response.completed", completed)))
			for range 2 {
				if _, err := llmtest.Generate(t, p.Model("m"), &llm.Request{System: "s", Messages: tt.messages}); err != nil {
					t.Fatal(err)
				}
			}
			if len(server.asked) != 3 {
				t.Fatalf("%d requests, want 3", len(server.asked))
			}
			for _, asked := range server.asked[1:] {
				var items []json.RawMessage
				if err := json.Unmarshal(rawJSON(asked["input"]), &items); err != nil {
					t.Fatal(err)
				}
				var list []string
				for _, item := range items {
					list = append(list, string(item))
				}
				if got := strings.Join(list, " "); got != tt.want {
					t.Errorf("sent %s, want %s", got, tt.want)
				}
			}
		})
	}
}
