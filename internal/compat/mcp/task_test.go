package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

func postRequest(t *testing.T, r *rig, token, method, name, params string) (code int, answer map[string]any) {
	t.Helper()
	if params == "" {
		params = "{}"
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		t.Fatal(err)
	}
	return postAs(t, r, token, map[string]any{"extensions": map[string]any{tasks: map[string]any{}}}, method, name, p)
}

// postAs is post with client capabilities.
func postAs(t *testing.T, r *rig, token string, able map[string]any, method, name string, p map[string]any) (code int, answer map[string]any) {
	t.Helper()
	p["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": able,
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": p})
	if err != nil {
		t.Fatal(err)
	}
	req := protocoltest.Request(context.Background(), http.MethodPost, Path, string(body))
	req.Header.Set("Authorization", "Bearer "+token)
	for key, value := range map[string]string{"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": modern, "Mcp-Method": method, "Mcp-Name": name} {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	w := r.Do(req)
	text := w.Body.Bytes()
	for _, ev := range protocoltest.Events(w.Body.String()) {
		text = []byte(ev.Data)
	}
	if err := json.Unmarshal(bytes.TrimSpace(text), &answer); err != nil {
		t.Fatalf("%s: %d %s", method, w.Code, text)
	}
	return w.Code, answer
}

func startTask(t *testing.T, r *rig, token string, calls string) string {
	t.Helper()
	_, answer := postRequest(t, r, token, "tools/call", "ponder_deep_think", `{"name":"ponder_deep_think","arguments":{"question":"Why is the sea blue?","max_calls":`+calls+`}}`)
	res, _ := answer["result"].(map[string]any)
	id, _ := res["taskId"].(string)
	ttl, known := res["ttlMs"]
	if id == "" || res["resultType"] != "task" || res["status"] != "working" || !known || ttl != nil || res["createdAt"] == "" {
		t.Fatalf("no task: %v", answer)
	}
	return id
}

func TestTask(t *testing.T) {
	r := newRig(t, defaultOptions())
	id := startTask(t, r, protocoltest.Mine, "3")
	howEnded(t, r)
	_, answer := postRequest(t, r, protocoltest.Mine, "tasks/get", id, `{"taskId":"`+id+`"}`)
	res, _ := answer["result"].(map[string]any)
	result, _ := res["result"].(map[string]any)
	out, _ := result["structuredContent"].(map[string]any)
	if res["status"] != "completed" || res["resultType"] != "complete" || result["resultType"] != "complete" || out["answer"] == "" || out["session"] != id {
		t.Errorf("the task is %v", res)
	}
	if _, answer := postRequest(t, r, protocoltest.Mine, "tasks/cancel", id, `{"taskId":"`+id+`"}`); answer["error"] != nil {
		t.Errorf("cancel an ended task: %v", answer)
	}
	for _, one := range []struct{ token, id, name string }{{protocoltest.Hers, id, id}, {protocoltest.Mine, "nothing", "nothing"}, {protocoltest.Mine, id, "other"}} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if _, answer := postRequest(t, r, one.token, method, one.name, `{"taskId":"`+one.id+`"}`); answer["error"] == nil {
				t.Errorf("%s %v: %v", method, one, answer)
			}
		}
	}
}

func TestTaskCancelled(t *testing.T) {
	r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}})
	id := startTask(t, r, protocoltest.Mine, "100")
	if _, answer := postRequest(t, r, protocoltest.Mine, "tasks/cancel", id, `{"taskId":"`+id+`"}`); answer["error"] != nil {
		t.Fatal(answer)
	}
	howEnded(t, r)
	_, answer := postRequest(t, r, protocoltest.Mine, "tasks/get", id, `{"taskId":"`+id+`"}`)
	if res, _ := answer["result"].(map[string]any); res["status"] != "cancelled" {
		t.Error(answer)
	}
}

// howEnded waits for the end of the owner's only thread.
func howEnded(t *testing.T, r *rig) ponder.Status {
	t.Helper()
	list := r.Threads(protocoltest.Owner)
	if len(list) != 1 {
		t.Fatalf("%d threads", len(list))
	}
	for ev, err := range ponder.Follow(t.Context(), r.Store, list[0].ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if fin, ok := ev.Body.(ponder.RunFinished); ok && ev.Run.Parent() == "" {
			return fin.Status
		}
	}
	return ""
}

func TestProgressAndCancel(t *testing.T) {
	type step struct {
		of any // the token, which tells late progress of another transport
		at float64
	}
	told := make(chan step, 1000)
	co := func() *sdk.ClientOptions {
		return &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			select {
			case told <- step{req.Params.ProgressToken, req.Params.Progress}:
			default:
			}
		}}
	}
	o := func() protocoltest.Options {
		return protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}}
	}
	forEachEra(t, o, co, func(t *testing.T, r *rig, s *sdk.ClientSession) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p := &sdk.CallToolParams{Name: "ponder_think", Arguments: args{"question": "Why is the sea blue?"}}
		p.SetProgressToken(t.Name())
		ended := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, p)
			ended <- err
		}()
		last := 0.0
		for seen := 0; seen < 2; {
			now := <-told
			if now.of != t.Name() {
				continue
			}
			if now.at <= last {
				t.Errorf("progress of %v after %v", now.at, last)
			}
			last = now.at
			seen++
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("a call that was cancelled has a result")
		}
		if got := howEnded(t, r); got != ponder.Cancelled {
			t.Errorf("it ended as %s", got)
		}
	})
}

func slowAnswer(*llm.Request, int) protocoltest.Answer {
	return protocoltest.Answer{Wait: 20 * time.Millisecond}
}

func TestLeftAlone(t *testing.T) {
	asked := make(chan struct{}, 100)
	r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(req *llm.Request, n int) protocoltest.Answer {
		asked <- struct{}{}
		return slowAnswer(req, n)
	}}})
	s := r.openStream(t, "", testCaller(), nil)
	go s.CallTool(context.Background(), &sdk.CallToolParams{Name: "ponder_think", Arguments: args{"question": "Why is the sea blue?", "max_calls": 4}})
	<-asked
	s.Close()
	if got := howEnded(t, r); got != ponder.Completed {
		t.Errorf("what a client left ended as %s", got)
	}
}

func TestOwnersApart(t *testing.T) {
	r := newRig(t, hostOptions())
	mine := r.openStream(t, "", testCaller(), nil)
	hers := r.openStream(t, "", auth.Caller{Owner: "anna", Scopes: auth.Scopes()}, nil)
	_, out, _ := callTool(t, mine, "ponder_step", args{"question": "Why is the sea blue?"})
	for _, one := range []struct {
		tool string
		args args
	}{
		{"ponder_step", args{"session": out["session"]}}, {"ponder_step", args{"session": out["session"], "step": out["step"], "answer": "{}"}},
		{"ponder_session", args{"action": "status", "session": out["session"]}}, {"ponder_session", args{"action": "cancel", "session": out["session"]}},
		{"ponder_session", args{"action": "export", "session": out["session"]}}, {"ponder_steer", args{"session": out["session"], "action": "answer_now"}},
	} {
		if text, _, failed := callTool(t, hers, one.tool, one.args); !failed || strings.Contains(text, "sea") {
			t.Errorf("%v of another owner: %s", one, text)
		}
	}
	if text, _, _ := callTool(t, hers, "ponder_session", args{"action": "list"}); strings.Contains(text, "sea") {
		t.Errorf("the list of another owner: %s", text)
	}
	look := r.openStream(t, "", testCaller(auth.Read), nil)
	for _, tool := range []string{"ponder_think", "ponder_step", "ponder_chat"} {
		if text, _, failed := callTool(t, look, tool, args{"question": "Why?"}); !failed || !strings.Contains(text, "scope") {
			t.Errorf("%s with the scope read: %s", tool, text)
		}
	}
}

func TestHostile(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		long := strings.Repeat("x", 1<<20)
		for _, one := range []struct {
			tool string
			args any
		}{
			{"ponder_think", args{}}, {"ponder_think", args{"question": ""}}, {"ponder_think", args{"question": 5}}, {"ponder_think", []int{1}},
			{"ponder_think", args{"question": "Why?", "effort": "endless"}}, {"ponder_think", args{"question": "Why?", "minutes": -1}},
			{"ponder_think", args{"question": "Why?", "minutes": 1e300}}, {"ponder_think", args{"question": "Why?", "max_calls": -1}},
			{"ponder_think", args{"question": "Why?", "model": "host/by_1"}}, {"ponder_think", args{"question": "Why?", "model": "nonsense"}},
			{"ponder_step", args{"question": "Why?", "steps": 1 << 30}}, {"ponder_step", args{"question": "Why?", "mode": "fly"}}, {"ponder_step", args{}},
			{"ponder_step", args{"session": "../../etc/passwd", "answer": "x"}}, {"ponder_step", args{"session": long}},
			{"ponder_session", args{"action": "fly"}}, {"ponder_session", args{"action": "status"}}, {"ponder_session", args{"action": "status", "session": "\x00"}},
			{"ponder_session", args{"action": "export", "session": "x", "format": "exe"}}, {"ponder_steer", args{"session": ""}},
			{"ponder_recall", args{"query": "", "limit": 1}}, {"ponder_recall", args{"query": "x", "limit": 1 << 40}}, {"ponder_remember", args{"text": " "}},
			{"ponder_remember", args{"text": long}},
		} {
			res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: one.tool, Arguments: one.args})
			if err == nil && !res.IsError {
				t.Errorf("%s takes %.80v: %v", one.tool, one.args, res.StructuredContent)
			}
			if err == nil && len(textOf(res.Content...)) > 2000 {
				t.Errorf("%s: a long error", one.tool)
			}
		}
		if _, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: "nothing"}); err == nil {
			t.Error("a tool that is not there")
		}
		p := &sdk.CallToolParams{Name: "ponder_think", Arguments: args{"question": "Why?"}, RequestState: "bm90aGluZw"}
		if res, err := s.CallTool(context.Background(), p); err == nil && !res.IsError {
			t.Error("a state that was not signed")
		}
	})
}

func FuzzHTTP(f *testing.F) {
	f.Add(modern, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}`)
	f.Add("2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	f.Add("", `[]`)
	f.Add("9999", `{"jsonrpc":"2.0","id":{},"method":null}`)
	f.Fuzz(func(t *testing.T, era, body string) {
		if strings.ContainsAny(era, "\r\n\x00") || strings.Contains(body, "subscriptions/listen") {
			return
		}
		r := newRig(t, hostOptions())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		req := protocoltest.Request(ctx, http.MethodPost, Path, body)
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Protocol-Version", era)
		if w := r.Do(req); w.Code >= http.StatusInternalServerError {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
