package anthropic_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/internal/compat/anthropic"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// postBody returns the model request for a body.
func postBody(t *testing.T, body string) (asked *llm.Request) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("fine"), Routes: anthropic.New, Refuse: writeRefusal})
		got := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, at, body), 0)
		if reply, err := readReply(got); err != nil || got.Code != http.StatusOK || reply.Text != "fine" {
			t.Fatalf("%d %s, %v", got.Code, got.Body, err)
		}
		asked = r.Model.Requests()[0]
	})
	return asked
}

func TestResults(t *testing.T) {
	req := postBody(t, `{"model":"ponder","max_tokens":7,"tools":[`+weather+`,{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"any"},"temperature":0,
		"system":[{"type":"text","text":"One."},{"type":"text","text":"Two."}],"messages":[{"role":"user","content":"How warm?"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"x"},{"type":"text","text":"I look."},
			{"type":"tool_use","id":"c1","name":"weather","input":{"city":"Rome"}},{"type":"tool_use","id":"c2","name":"weather"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"18"},
			{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"none"},{"type":"image","source":{"type":"url","url":"https://a.test/b.png"}}]},
			{"type":"text","text":"Well?"}]}]}`)
	if req.System != "One.\n\nTwo." || req.ToolChoice != "required" || len(req.Tools) != 1 || req.MaxTokens != 7 || *req.Temperature != 0 || len(req.Messages) != 3 {
		t.Fatalf("asked %+v", req)
	}
	said, came := req.Messages[1].Parts, req.Messages[2].Parts
	if len(said) != 3 || said[0].Text != "I look." || string(said[1].Call.Input) != `{"city":"Rome"}` || string(said[2].Call.Input) != `{}` {
		t.Errorf("said %+v", said)
	}
	if len(came) != 3 || came[0].Result.Text != "18" || came[0].Result.Name != "weather" || !came[1].Result.Failed || came[1].Result.Media == nil || came[2].Text != "Well?" {
		t.Errorf("came %+v", came)
	}
}

func TestFormAndEffort(t *testing.T) {
	for more, want := range map[string]string{
		`"thinking":{"type":"enabled","budget_tokens":2000}`: "low", `"thinking":{"type":"enabled","budget_tokens":20000}`: "high",
		`"thinking":{"type":"adaptive"}`: "", `"output_config":{"effort":"medium"},"thinking":{"type":"enabled","budget_tokens":2000}`: "medium",
		`"output_config":{"effort":"max"}`: "high",
	} {
		const hello = `"tools":[` + weather + `],"messages":[{"role":"user","content":"hello"}]}`
		if req := postBody(t, `{"model":"ponder","max_tokens":7,`+more+`,`+hello); req.Effort != want {
			t.Errorf("%s: effort %q", more, req.Effort)
		}
	}
	req := postBody(t, `{"model":"ponder","max_tokens":7,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},"messages":[{"role":"user","content":"hello"}]}`)
	if req.Schema == nil || string(req.Schema.JSON) != `{"type":"object"}` {
		t.Errorf("schema %+v", req.Schema)
	}
}

func TestImages(t *testing.T) {
	req := postBody(t, `{"model":"ponder","max_tokens":7,"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},
		{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}},
		{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Some words."}}]}]}`)
	var list []string
	text := ""
	for _, m := range req.Messages {
		text += m.Text()
		for _, p := range m.Parts {
			if p.Media != nil {
				list = append(list, p.Media.Type+" "+p.Media.Name)
			}
		}
	}
	if got := strings.Join(list, ", "); got != "image/png , application/pdf a.pdf" || !strings.Contains(text, "Some words.") {
		t.Errorf("shown %s, and %s", got, text)
	}
}

// Counting calls no model.
func TestCount(t *testing.T) {
	r := protocoltest.New(t, protocoltest.Options{Routes: anthropic.New})
	small := r.Post(at+"/count_tokens", `{"model":"ponder","messages":[{"role":"user","content":"hello"}]}`)
	large := r.Post(at+"/count_tokens", `{"model":"ponder","system":"`+strings.Repeat("word ", 100)+`","messages":[{"role":"user","content":"hello"}]}`)
	if small.Code != http.StatusOK || len(large.Body.String()) <= len(small.Body.String()) || len(r.Model.Requests()) > 0 {
		t.Errorf("%s, and %s", small.Body, large.Body)
	}
}
