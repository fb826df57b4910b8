package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat/anthropic"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
	"ponder/store/memory"
)

// describe returns the roles and texts of a request to a model.
func describe(req *llm.Request) string {
	var list []string
	for _, m := range req.Messages {
		text := string(m.Role) + ":"
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				text += " call " + p.Call.Name
			case p.Result != nil:
				text += " result " + p.Result.Text
			default:
				text += " " + p.Text
			}
		}
		list = append(list, text)
	}
	return strings.Join(list, " | ")
}

type failedMessage struct {
	Error struct {
		Type, Message string
		Details       struct {
			Code string `json:"error_code"`
		}
	}
}

// post sends a request and returns the id of the answer, or the code of the error.
func post(t *testing.T, r *protocoltest.Rig, body string, headers ...string) (id, code string, status int) {
	t.Helper()
	req := protocoltest.Request(t.Context(), http.MethodPost, at, body)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	got := r.Stream(req, 0)
	reply, err := readReply(got)
	if err != nil {
		t.Fatalf("%d %s: %v", got.Code, got.Body, err)
	}
	var f failedMessage
	_ = json.Unmarshal([]byte(got.Body), &f) // a stream is no JSON
	return reply.ID, f.Error.Details.Code, got.Code
}

const threadHead = `{"model":"ponder","max_tokens":9,`

func continueBody(id, text, more string) string {
	return fmt.Sprintf(threadHead+`"thread":{"type":"continue","previous_message_id":%q},"messages":[{"role":"user","content":%q}]%s}`, id, text, more)
}

// A thread with tools is an exchange for each message; the system prompt and the tools are those of its start.
func TestThreadWithTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &protocoltest.Model{Answer: func(req *llm.Request, n int) protocoltest.Answer {
			if n == 0 {
				return protocoltest.Answer{Text: "I look.", Calls: []llm.ToolCall{{ID: "c1", Name: "weather", Input: []byte(`{"city":"Rome"}`)}}}
			}
			return protocoltest.Plain(fmt.Sprintf("answer %d", n))
		}}
		r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: anthropic.New, Refuse: writeRefusal})
		first, _, _ := post(t, r, threadHead+`"stream":true,"system":"Be brief.","tools":[`+weather+`],"thread":{"type":"create"},"messages":[{"role":"user","content":"How warm?"}]}`)
		result := `,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"18"}]}]}`
		second, code, status := post(t, r, threadHead+`"thread":{"type":"continue","previous_message_id":"`+first+`"}`+result)
		if code != "" || status != http.StatusOK {
			t.Fatalf("%d %s", status, code)
		}
		third, _, _ := post(t, r, continueBody(second, "And Oslo?", `,"stream":true`))
		list := r.Model.Requests()
		last := list[len(list)-1]
		want := "user: How warm? | assistant: I look. call weather | user: result 18 | assistant: answer 1 | user: And Oslo?"
		if got := describe(last); got != want || !strings.Contains(last.System, "Be brief.") || len(last.Tools) != 1 {
			t.Errorf("asked %s with %q and %d tools, want %s", got, last.System, len(last.Tools), want)
		}

		for name, c := range map[string]struct {
			body   string
			status int
			code   string
		}{
			"unknown":         {continueBody("msg_01ARZ3NDEKTSV4RRFFQ69G5FAV", "x", ""), 404, "thread_not_found"},
			"other form":      {continueBody("resp_1", "x", ""), 404, "thread_not_found"},
			"continued":       {continueBody(second, "And Bern?", ""), 400, "thread_already_continued"},
			"system changed":  {continueBody(third, "x", `,"system":"Be verbose."`), 400, "thread_fingerprint_mismatch"},
			"tools changed":   {continueBody(third, "x", `,"tools":[]`), 400, "thread_fingerprint_mismatch"},
			"no id":           {threadHead + `"thread":{"type":"continue"},"messages":[{"role":"user","content":"x"}]}`, 400, ""},
			"no such type":    {threadHead + `"thread":{"type":"resume"},"messages":[{"role":"user","content":"x"}]}`, 400, ""},
			"nothing to send": {threadHead + `"thread":{"type":"continue","previous_message_id":"` + third + `"},"messages":[]}`, 400, ""},
		} {
			if _, code, status := post(t, r, c.body); status != c.status || code != c.code {
				t.Errorf("%s: %d %q, want %d %q", name, status, code, c.status, c.code)
			}
		}
		if _, code, _ := post(t, r, continueBody(third, "x", ""), "Authorization", "Bearer "+protocoltest.Hers); code != "thread_not_found" {
			t.Errorf("another owner: %q", code)
		}
		if _, code, status := post(t, r, continueBody(third, "And Bern?", `,"system":"Be brief.","tools": [`+weather+`]`)); status != http.StatusOK {
			t.Errorf("equal fields: %d %q", status, code)
		}
	})
}

// A message outside a thread cannot be continued.
func TestThreadless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("fine"), Routes: anthropic.New, Refuse: writeRefusal})
		for _, tools := range []string{"", `,"tools":[` + weather + `]`} {
			id, _, _ := post(t, r, threadHead+`"thread":null`+tools+`,"messages":[{"role":"user","content":"One"}]}`)
			if _, code, status := post(t, r, continueBody(id, "Two", "")); status != http.StatusNotFound || code != "thread_not_found" {
				t.Errorf("%q: %d %q", tools, status, code)
			}
		}
	})
}

// A thread without tools is one conversation of Ponder.
func TestThreadOfConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
			return protocoltest.Plain(fmt.Sprintf("answer %d", n))
		}}
		r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: anthropic.New, Refuse: writeRefusal})
		id, _, _ := post(t, r, threadHead+`"system":"Be brief.","thread":{"type":"create"},"messages":[{"role":"user","content":"Question 0"}]}`)
		for i := range 5 {
			next, code, status := post(t, r, continueBody(id, fmt.Sprintf("Question %d", i+1), []string{"", `,"stream":true`}[i%2]))
			if status != http.StatusOK || next == id {
				t.Fatalf("%d: %d %q", i, status, code)
			}
			id = next
		}
		if n := len(r.Threads(protocoltest.Owner)); n != 1 {
			t.Errorf("%d threads", n)
		}
		// A request with a schema needs all messages.
		if _, code, status := post(t, r, continueBody(id, "Last", `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`)); status != http.StatusOK {
			t.Fatalf("%d %q", status, code)
		}
		list := r.Model.Requests()
		last := list[len(list)-1]
		want := "user: Question 0 | assistant: answer 0"
		if got := describe(last); !strings.HasPrefix(got, want) || strings.Count(got, "user:") != 7 || !strings.HasSuffix(got, "user: Last") {
			t.Errorf("asked %s", got)
		}
		if !strings.Contains(last.System, "Be brief.") {
			t.Errorf("system %q", last.System)
		}
	})
}

// A failed request leaves the thread where it was. A running one makes others wait.
func TestThreadAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
			switch n {
			case 1:
				return protocoltest.Answer{Err: &llm.Error{Class: llm.Auth, Message: "no"}}
			case 2:
				return protocoltest.Answer{Text: "late", Wait: time.Minute}
			}
			return protocoltest.Plain("fine")
		}}
		r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: anthropic.New, Refuse: writeRefusal})
		first, _, _ := post(t, r, threadHead+`"tools":[`+weather+`],"thread":{"type":"create"},"messages":[{"role":"user","content":"One"}]}`)
		if _, code, status := post(t, r, continueBody(first, "Two", "")); status != http.StatusBadGateway {
			t.Fatalf("%d %q", status, code)
		}
		done := make(chan string)
		go func() {
			id, _, _ := post(t, r, continueBody(first, "Three", ""))
			done <- id
		}()
		time.Sleep(10 * time.Second)
		if _, code, status := post(t, r, continueBody(first, "Four", "")); status != http.StatusBadRequest || code != "thread_continue_in_flight" {
			t.Errorf("%d %q", status, code)
		}
		third := <-done
		if _, code, status := post(t, r, continueBody(third, "Four", "")); status != http.StatusOK {
			t.Errorf("%d %q", status, code)
		}
		list := r.Model.Requests()
		if got, want := describe(list[len(list)-1]), "user: One | assistant: fine | user: Three | assistant: late | user: Four"; got != want {
			t.Errorf("asked %s", got)
		}
	})
}

func TestSearchResults(t *testing.T) {
	const found = `{"type":"search_result","source":"https://a.test/sea","title":"The sea","content":[{"type":"text","text":"It is deep."},{"type":"text","text":"It is salty."}],"citations":{"enabled":true}}`
	req := postBody(t, `{"model":"ponder","max_tokens":7,"tools":[`+weather+`],"messages":[{"role":"user","content":[`+found+`,{"type":"text","text":"How warm?"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"weather","input":{}},{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[`+found+`,{"type":"document","source":{"type":"content","content":[{"type":"text","text":"A page."}]}}]}]}]}`)
	const want = "Search result: The sea\nSource: https://a.test/sea\n\nIt is deep.\n\nIt is salty."
	if got := req.Messages[0].Parts[0].Text; got != want {
		t.Errorf("in a message: %q", got)
	}
	if got := req.Messages[2].Parts[0].Result.Text; got != want+"\nA page." {
		t.Errorf("in a tool result: %q", got)
	}
}

// Tools are added and removed in the middle of a conversation.
func TestToolChanges(t *testing.T) {
	const rain, snow = `{"name":"rain","input_schema":{"type":"object"}}`, `{"name":"snow","input_schema":{"type":"object"}}`
	req := postBody(t, `{"model":"ponder","max_tokens":7,"tools":[`+weather+`,`+rain+`],"messages":[{"role":"user","content":"One"},
		{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"weather"}},{"type":"tool_removal","tool":{"type":"tool_reference","name":"rain"}},
			{"type":"tool_addition","tool":{"type":"tool_definition","definition":`+snow+`}},{"type":"tool_addition","tool":{"type":"tool_reference","name":"rain"}},{"type":"text","text":"Be brief."}]},
		{"role":"user","content":"Two"}]}`)
	var names []string
	for _, tool := range req.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "snow rain" || req.System != "Be brief." {
		t.Errorf("tools %s, system %q", got, req.System)
	}
}

// TestThreadCircle checks that records that name each other, as in a forged log, end the search.
func TestThreadCircle(t *testing.T) {
	store := memory.New()
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Routes: anthropic.New, Store: store})
		id, _, _ := post(t, r, `{"model":"ponder","max_tokens":9,"thread":{"type":"create"},"messages":[{"role":"user","content":"one"}]}`)
		thread := r.Threads("local")[0].ID
		for _, internal := range []bool{false, true} {
			_, err := store.Append(t.Context(), thread, 0, ponder.Event{ID: ponder.NewID("evt"), Internal: internal, Body: ponder.Observation{
				Sensor: "anthropic.thread", Content: fmt.Sprintf(`{"id":%q,"previous":%q,"messages":[]}`, id, id),
			}})
			if err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{true: "thread_not_found"}[internal]
			if _, code, _ := post(t, r, continueBody(id, "two", "")); code != want {
				t.Errorf("internal %t: code %q, want %q", internal, code, want)
			}
		}
	})
}
