package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/internal/app"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/chat"
)

// lampModel calls the tool lamp once for each message, and repeats its result.
func lampModel() *llmtest.Model {
	m := textModel("")
	m.Answer = func(req *llm.Request) (llm.Message, error) {
		for _, p := range req.Messages[len(req.Messages)-1].Parts {
			if p.Result != nil {
				return llm.Say(llm.Assistant, p.Result.Text), nil
			}
		}
		return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: "lamp", Input: json.RawMessage(`{"room":"kitchen"}`)}}}}, nil
	}
	return m
}

type approvalsDoc struct {
	Count     int `json:"approval_count"`
	Approvals []struct {
		ID     string `json:"approval_id"`
		Code   string
		Thread string `json:"thread_id"`
		Tool   string
		Args   json.RawMessage
	}
}

// TestApprovals checks that only the owner of a question answers it, once, and that its call runs as shown.
func TestApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, lampModel())
		id := h.openThread("a")
		path, questions := "/api/threads/"+id+"/messages?wait=1m", "/api/threads/"+id+"/approvals"
		var out postedDoc
		if code := h.postJSON("", path, `{"content":"Switch on the lamp"}`, &out); code != http.StatusOK || len(out.Turn.Approvals) != 1 {
			t.Fatalf("%d %+v", code, out)
		}
		q := out.Turn.Approvals[0]
		for _, from := range []string{"/api/approvals", questions} {
			var list approvalsDoc
			if code := h.getJSON(from, &list); code != http.StatusOK || list.Count != 1 || list.Approvals[0].ID != q.ID || list.Approvals[0].Code != q.Code || string(list.Approvals[0].Args) != `{"room":"kitchen"}` {
				t.Errorf("%s: %d %+v", from, code, list)
			}
		}
		for _, text := range []string{"yes", "approve", "ok, tell me more"} {
			js, _ := json.Marshal(map[string]string{"content": text})
			h.postJSON("", path, string(js), nil)
		}
		for token, want := range map[string]int{"hers": http.StatusNotFound, "look": http.StatusForbidden} {
			r := newRequest(questions+"/"+q.ID, `{"decision":"approve"}`)
			r.Header.Set("Authorization", "Bearer "+token)
			if code := h.decodeReply(r, nil); code != want {
				t.Errorf("%s: %d", token, code)
			}
		}
		for body, want := range map[string]int{`{"decision":"yes"}`: 422, `{}`: 422} {
			if code := h.postJSON("", questions+"/"+q.ID, body, nil); code != want {
				t.Errorf("%s: %d", body, code)
			}
		}
		if code := h.postJSON("", questions+"/evt_none", `{"decision":"approve"}`, nil); code != http.StatusNotFound {
			t.Errorf("an unknown question: %d", code)
		}
		if h.lamp.Load() != nil {
			t.Fatal("the call ran without an approval")
		}
		for range 2 { // a retry
			var posted postedDoc
			if code := h.postJSON("k", questions+"/"+q.ID+"?wait=1m", `{"decision":"approve"}`, &posted); code != http.StatusOK || posted.Turn.Answer != "It is bright." {
				t.Errorf("%d %+v", code, posted)
			}
		}
		if ran := h.lamp.Load(); ran == nil || *ran != `{"room":"kitchen"}` {
			t.Errorf("ran %v", ran)
		}
		if code := h.postJSON("", questions+"/"+q.ID, `{"decision":"deny"}`, nil); code != http.StatusNotFound {
			t.Errorf("a second answer: %d", code)
		}
	})
}

// TestApprovalStream checks that the stream of a decision is that of its turn, and that a code names a question.
func TestApprovalStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, lampModel())
		path := "/api/threads/" + h.openThread("a")
		var out postedDoc
		h.postJSON("", path+"/messages?wait=1m", `{"content":"Switch on the lamp"}`, &out)
		r := newRequest(path+"/approvals/"+out.Turn.Approvals[0].Code, `{"decision":"deny"}`)
		r.Header.Set("Accept", "text/event-stream")
		code, body := h.serveRequest(r)
		if code != http.StatusOK || !strings.Contains(string(body), "event: turn") || !strings.Contains(string(body), "the user denied this call") || h.lamp.Load() != nil {
			t.Errorf("%d %s", code, body)
		}
	})
}

// TestApprovalExamples checks that the description of the API shows a question, with the types of a real one.
func TestApprovalExamples(t *testing.T) {
	h := newTestServer(t, lampModel())
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Description string
					Examples    []json.RawMessage
				}
			}
		}
	}
	if code := h.getJSON("/openapi.json", &doc); code != http.StatusOK {
		t.Fatal(code)
	}
	fields := doc.Components.Schemas["Approval"].Properties
	if len(fields) != 9 {
		t.Fatalf("%d fields", len(fields))
	}
	example := make(map[string]json.RawMessage)
	for name, f := range fields {
		if f.Description == "" || len(f.Examples) != 1 {
			t.Errorf("%s: %q, %d examples", name, f.Description, len(f.Examples))
			continue
		}
		example[name] = f.Examples[0]
	}
	js, err := json.Marshal(example)
	if err != nil {
		t.Fatal(err)
	}
	var q app.Approval
	d := json.NewDecoder(strings.NewReader(string(js)))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil || q.Code != chat.ApprovalCode(q.ID) || q.Expires.Sub(q.Asked) != chat.ApprovalTime {
		t.Errorf("%v: %s", err, js)
	}
}
