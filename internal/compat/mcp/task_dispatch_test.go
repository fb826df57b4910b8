package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat/protocoltest"
)

// A client with tasks and sampling gets each prompt through its task.
func TestTaskAsks(t *testing.T) { synctest.Test(t, testTaskAsks) }

func testTaskAsks(t *testing.T) {
	r := newRig(t, hostOptions())
	able := map[string]any{"sampling": map[string]any{}, "extensions": map[string]any{tasks: map[string]any{}}}
	ask := func(method, name string, params map[string]any) map[string]any {
		t.Helper()
		_, answer := postAs(t, r, protocoltest.Mine, able, method, name, params)
		res, ok := answer["result"].(map[string]any)
		if !ok {
			t.Fatalf("%s: %v", method, answer)
		}
		return res
	}
	made := ask("tools/call", "ponder_think", map[string]any{"name": "ponder_think", "arguments": args{"question": "Why is the sea blue?", "max_calls": 12}})
	id, _ := made["taskId"].(string)
	answers := 0
	for answers < 40 {
		is := ask(methodGet, id, map[string]any{"taskId": id})
		if is["status"] == "completed" {
			result, _ := is["result"].(map[string]any)
			out, _ := result["structuredContent"].(map[string]any)
			if out["answer"] == "" || out["session"] != id || answers < 2 {
				t.Errorf("after %d answers: %v", answers, is)
			}
			return
		}
		said := map[string]any{"nobody asked": map[string]any{"role": "assistant"}, "no answer": 5}
		asks, _ := is["inputRequests"].(map[string]any)
		for step, one := range asks {
			req, _ := one.(map[string]any)
			if is["status"] != "input_required" || req["method"] != "sampling/createMessage" {
				t.Fatalf("it asks %v", is)
			}
			said[step] = map[string]any{"role": "assistant", "model": "theirs", "content": map[string]any{"type": "text", "text": answerPrompt(t, promptOf(t, req))}}
			answers++
		}
		ask(methodUpdate, id, map[string]any{"taskId": id, "inputResponses": said})
		time.Sleep(pollEvery * time.Millisecond)
	}
	t.Error("there is no end")
}

func promptOf(t *testing.T, req map[string]any) string {
	t.Helper()
	js, err := json.Marshal(req["params"])
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		SystemPrompt string
		Messages     []struct{ Content struct{ Text string } }
	}
	if err := json.Unmarshal(js, &p); err != nil {
		t.Fatal(err)
	}
	text := p.SystemPrompt
	for _, m := range p.Messages {
		text += "\n" + m.Content.Text
	}
	return text
}

// Without the extension, a client gets no tasks and cannot ask about them.
func TestTaskUndeclared(t *testing.T) {
	r := newRig(t, defaultOptions())
	id := startTask(t, r, protocoltest.Mine, "3")
	for _, method := range []string{methodGet, methodUpdate, methodCancel} {
		code, answer := postAs(t, r, protocoltest.Mine, map[string]any{}, method, id, map[string]any{"taskId": id})
		fault, _ := answer["error"].(map[string]any)
		if code != http.StatusBadRequest || fault["code"] != -32021.0 || fault["data"] == nil {
			t.Errorf("%s: %d %v", method, code, answer)
		}
	}
	if code, answer := postRequest(t, r, protocoltest.Mine, methodGet, "another", `{"taskId":"`+id+`"}`); code != http.StatusBadRequest || answer["id"] != 1.0 {
		t.Errorf("another name in the header: %d %v", code, answer)
	}
}

// In the era of sessions, a client resumes a broken stream from any event.
func TestResume(t *testing.T) {
	r := newRig(t, defaultOptions())
	url := r.Server().URL + Path
	send := func(method, body, session, after string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]string{
			"Authorization": "Bearer " + protocoltest.Mine, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": eras[1], "Mcp-Session-Id": session, "Last-Event-ID": after,
		} {
			if value != "" {
				req.Header.Set(key, value)
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	res := send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, "", "")
	framesOf(t, res)
	session := res.Header.Get("Mcp-Session-Id")
	send(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, "")
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ponder_think","arguments":{"question":"Why is the sea blue?","max_calls":3},"_meta":{"progressToken":"p"}}}`
	whole := framesOf(t, send(http.MethodPost, call, session, ""))
	if len(whole) < 3 || !strings.Contains(whole[len(whole)-1].data, `"result"`) {
		t.Fatalf("the stream is %v", whole)
	}
	for i, f := range whole[:len(whole)-1] {
		if rest := framesOf(t, send(http.MethodGet, "", session, f.id)); !slices.Equal(rest, whole[i+1:]) {
			t.Errorf("after %s there is %v, not %v", f.id, rest, whole[i+1:])
		}
	}
}

type frame struct{ id, data string }

func framesOf(t *testing.T, res *http.Response) (list []frame) {
	t.Helper()
	var now frame
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		key, value, _ := bytes.Cut(in.Bytes(), []byte(": "))
		switch string(key) {
		case "id":
			now.id = string(value)
		case "data":
			now.data = string(value)
		case "":
			list, now = append(list, now), frame{}
		}
	}
	if res.StatusCode != http.StatusOK || in.Err() != nil {
		t.Errorf("%d %v", res.StatusCode, in.Err())
	}
	return list
}

// A client that returns late finds its task waiting. A task paused by a user stays paused.
func TestTaskRests(t *testing.T) { synctest.Test(t, testTaskRests) }

func testTaskRests(t *testing.T) {
	r := newRig(t, hostOptions())
	able := map[string]any{"sampling": map[string]any{}, "extensions": map[string]any{tasks: map[string]any{}}}
	_, answer := postAs(t, r, protocoltest.Mine, able, "tools/call", "ponder_think", map[string]any{"name": "ponder_think", "arguments": args{"question": "Why is the sea blue?"}})
	made, _ := answer["result"].(map[string]any)
	id, _ := made["taskId"].(string)
	is := func(status string) {
		t.Helper()
		for range 2 { // the first poll resumes it
			_, answer = postAs(t, r, protocoltest.Mine, able, methodGet, id, map[string]any{"taskId": id})
			time.Sleep(pollEvery * time.Millisecond)
		}
		if got, _ := answer["result"].(map[string]any); got["status"] != status {
			t.Errorf("the task is %v, not %s", got, status)
		}
	}
	rests := func() {
		t.Helper()
		if is := r.Threads(protocoltest.Owner)[0].Status; is != ponder.Paused {
			t.Errorf("the session is %s", is)
		}
	}
	is("input_required")
	time.Sleep(clientTimeout + 2*heartbeatInterval)
	rests()
	is("input_required")
	work, err := r.Desk.FindJob(context.Background(), protocoltest.Owner, id)
	if err == nil {
		err = r.Desk.Pause(context.Background(), work, "paused by the user")
	}
	if err != nil {
		t.Fatal(err)
	}
	is("working")
	rests()
}
