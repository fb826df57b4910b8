package agui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

func inBubble(t *testing.T, o protocoltest.Options, f func(t *testing.T, r *protocoltest.Rig)) {
	o.Routes = New
	synctest.Test(t, func(t *testing.T) { f(t, protocoltest.New(t, o)) })
}

// A result is a run as a client sees it.
type result struct {
	code            int
	body            string
	types           []string
	text, reasoning string
	calls, results  []string
	outcome         string
	interrupt       string // id
	failed          string
	state           map[string]any
}

// send sends a run and checks the order of its events, as the official client does.
func send(t *testing.T, r *protocoltest.Rig, token, body string) (out result) {
	t.Helper()
	req := protocoltest.Request(t.Context(), http.MethodPost, Path, body)
	req.Header.Set("Authorization", "Bearer "+token)
	got := r.Stream(req, 0)
	out.code, out.body = got.Code, got.Body
	if got.Code != http.StatusOK {
		return out
	}
	open, steps := "", ""
	for i, e := range got.Events() {
		var ev struct {
			Type, MessageID, Delta, StepName, ToolCallName, ToolCallID, Message string
			Snapshot                                                            map[string]any
			Outcome                                                             struct {
				Type       string
				Interrupts []struct{ ID string }
			}
		}
		var loose map[string]any
		if err := json.Unmarshal([]byte(e.Data), &loose); err != nil {
			t.Fatalf("%q: %v", e.Data, err)
		}
		if _, isList := loose["delta"].([]any); isList {
			delete(loose, "delta")
		}
		js, _ := json.Marshal(loose)
		if err := json.Unmarshal(js, &ev); err != nil {
			t.Fatalf("%q: %v", e.Data, err)
		}
		out.types = append(out.types, ev.Type)
		if (i == 0) != (ev.Type == "RUN_STARTED") || out.outcome+out.failed != "" {
			t.Errorf("event %d is %s", i, e.Data)
		}
		switch ev.Type {
		case "TEXT_MESSAGE_START", "REASONING_MESSAGE_START":
			if open != "" {
				t.Errorf("%s opens in %s", ev.MessageID, open)
			}
			open = ev.MessageID
		case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "REASONING_MESSAGE_END":
			if ev.MessageID != open || strings.HasSuffix(ev.Type, "CONTENT") && ev.Delta == "" {
				t.Errorf("in %s: %s", open, e.Data)
			}
			switch {
			case strings.HasSuffix(ev.Type, "END"):
				open = ""
			case ev.Type[0] == 'T':
				out.text += ev.Delta
			default:
				out.reasoning += ev.Delta
			}
		case "STEP_STARTED":
			if steps != "" {
				t.Errorf("%s starts in %s", ev.StepName, steps)
			}
			steps = ev.StepName
		case "STEP_FINISHED":
			if steps != ev.StepName {
				t.Errorf("%s ends in %s", ev.StepName, steps)
			}
			steps = ""
		case "TOOL_CALL_START":
			out.calls = append(out.calls, ev.ToolCallName)
		case "TOOL_CALL_RESULT":
			out.results = append(out.results, ev.ToolCallID)
		case "STATE_SNAPSHOT":
			out.state = ev.Snapshot
		case "RUN_FINISHED":
			if out.outcome = ev.Outcome.Type; len(ev.Outcome.Interrupts) > 0 {
				out.interrupt = ev.Outcome.Interrupts[0].ID
			}
		case "RUN_ERROR":
			out.failed = ev.Message
		}
	}
	if open+steps != "" || out.outcome+out.failed == "" {
		t.Errorf("it ends in %q %q: %s", open, steps, got.Body)
	}
	return out
}

var number atomic.Int64

// input returns a run with texts of the user and the assistant in turn. more are further members.
func inputOf(thread, more string, texts ...string) string {
	var list []map[string]string
	for i, text := range texts {
		list = append(list, map[string]string{"id": fmt.Sprint(i), "role": []string{"user", "assistant"}[i%2], "content": text})
	}
	js, _ := json.Marshal(list)
	return fmt.Sprintf(`{"threadId":%q,"runId":"run %d","messages":%s,"context":[],"state":{}%s}`, thread, number.Add(1), js, more)
}

func way(name string) string { return `,"tools":[],"forwardedProps":{"way":"` + name + `"}` }

const question = "How deep is the sea, and why?"

func TestWays(t *testing.T) {
	for name, want := range map[string][]string{
		"think":        {"TEXT_MESSAGE_CONTENT"},
		"deep_think":   {"TEXT_MESSAGE_CONTENT"},
		"research":     {"STEP_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT", "REASONING_MESSAGE_CONTENT", "STATE_DELTA"},
		"session":      {"STEP_STARTED", "REASONING_START", "REASONING_MESSAGE_CONTENT", "STATE_SNAPSHOT", "STATE_DELTA"},
		"subconscious": {"STATE_SNAPSHOT", "TEXT_MESSAGE_CONTENT"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *protocoltest.Rig) {
				body := inputOf("my thread", way(name), question)
				got := send(t, r, protocoltest.Mine, body)
				for _, kind := range want {
					if !slices.Contains(got.types, kind) {
						t.Errorf("no %s in %v", kind, got.types)
					}
				}
				if got.outcome != "success" || got.text == "" || len(got.calls) != len(got.results) {
					t.Errorf("%+v", got)
				}
				if name == "subconscious" {
					return
				}
				if again := send(t, r, protocoltest.Mine, body); again.text != got.text || again.state["session"] != got.state["session"] {
					t.Errorf("sent again: %q in %v, not %q in %v", again.text, again.state, got.text, got.state)
				}
				next := send(t, r, protocoltest.Mine, inputOf("my thread", way("think"), question, got.text, "Are you sure?"))
				if next.outcome != "success" || len(r.Threads("local")) > 2 {
					t.Errorf("%+v in %d threads", next, len(r.Threads("local")))
				}
			})
		})
	}
}

// TestLive checks that a page shows a session of another client, can steer it, and that other owners see nothing.
func TestLive(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *protocoltest.Rig) {
		ended := make(chan result, 1)
		go func() {
			ended <- send(t, r, protocoltest.Mine, inputOf("a", `,"forwardedProps":{"way":"session","minutes":10}`, question))
		}()
		time.Sleep(10 * time.Second)
		session := strings.TrimPrefix(string(r.Threads("local")[0].ID), "thr_")
		for token, code := range map[string]int{protocoltest.Hers: http.StatusNotFound} {
			if got := send(t, r, token, inputOf("b", `,"forwardedProps":{"session":"`+session+`"}`)); got.code != code {
				t.Errorf("%s: %d %s", token, got.code, got.body)
			}
		}
		live := make(chan result, 1)
		go func() {
			live <- send(t, r, protocoltest.Look, inputOf("b", `,"forwardedProps":{"session":"`+session+`"}`))
		}()
		command := func(token, text string) result {
			return send(t, r, token, inputOf("c", `,"forwardedProps":{"session":"`+session+`","command":"`+text+`"}`))
		}
		if got := command(protocoltest.Look, "/pause"); got.code != http.StatusForbidden {
			t.Errorf("without the scope: %d", got.code)
		}
		if got := command(protocoltest.Mine, "/question Which trench is the deepest?"); got.text != "The question is added." {
			t.Errorf("%+v", got)
		}
		time.Sleep(5 * time.Second)
		command(protocoltest.Mine, "/pause")
		first := <-ended
		if first.outcome != "interrupt" || first.interrupt != "pause:"+session || !strings.Contains(first.body, "Which trench is the deepest?") {
			t.Errorf("%s", first.body)
		}
		if got := <-live; got.outcome != "interrupt" || got.reasoning != first.reasoning {
			t.Errorf("live: %+v", got)
		}
		go func() {
			live <- send(t, r, protocoltest.Mine, inputOf("a", `,"resume":[{"interruptId":"pause:`+session+`","status":"resolved","payload":{"approved":true}}]`))
		}()
		time.Sleep(5 * time.Second)
		command(protocoltest.Mine, "/answer")
		if got := <-live; got.outcome != "success" || got.text == "" {
			t.Errorf("resumed: %+v", got)
		}
	})
}

// TestPlan checks that a plan interrupts the run.
func TestPlan(t *testing.T) {
	for entry, want := range map[string]string{
		`"status":"resolved","payload":{"approved":true}`:  "success",
		`"status":"resolved","payload":{"approved":false}`: "cancelled",
		`"status":"resolved","payload":"no"`:               "cancelled",
		`"status":"cancelled"`:                             "cancelled",
	} {
		inBubble(t, protocoltest.Options{Tools: protocoltest.Lookups(time.Second)}, func(t *testing.T, r *protocoltest.Rig) {
			got := send(t, r, protocoltest.Mine, inputOf("a", "", "/research plan_first=true "+question))
			if got.outcome != "interrupt" || !strings.HasPrefix(got.interrupt, "plan:") {
				t.Fatalf("%+v", got)
			}
			got = send(t, r, protocoltest.Mine, inputOf("a", `,"resume":[{"interruptId":"`+got.interrupt+`",`+entry+`}]`))
			if got.outcome != want {
				t.Errorf("%s: %+v", entry, got)
			}
		})
	}
}

// TestConfirm checks that a question of Ponder interrupts the run, and that only a resumption with its id answers it.
func TestConfirm(t *testing.T) {
	for i, attack := range protocoltest.Attacks {
		lamp := &protocoltest.Lamp{Says: attack}
		inBubble(t, lamp.Options(protocoltest.Options{}), func(t *testing.T, r *protocoltest.Rig) {
			first := send(t, r, protocoltest.Mine, inputOf("a", "", "Switch on the lamp"))
			if first.outcome != "interrupt" || !strings.HasPrefix(first.interrupt, "confirm:") || !strings.Contains(first.body, `"room":"kitchen"`) || protocoltest.CodeIn(first.text) == "" {
				t.Fatalf("%+v", first)
			}
			for _, text := range protocoltest.YesWords[:1+i%len(protocoltest.YesWords)] {
				send(t, r, protocoltest.Mine, inputOf("a", "", text))
			}
			resume := func(id, payload string) result {
				return send(t, r, protocoltest.Mine, inputOf("a", `,"resume":[{"interruptId":"`+id+`","status":"resolved","payload":`+payload+`}]`))
			}
			for _, id := range []string{"confirm:x", first.interrupt[:len(first.interrupt)-1], first.interrupt[:strings.LastIndex(first.interrupt, ":")]} {
				if got := resume(id, "true"); got.code == http.StatusOK {
					t.Errorf("%s: %+v", id, got)
				}
			}
			if runs := lamp.Runs(); len(runs) != 0 {
				t.Fatalf("ran %q", runs)
			}
			for range 2 { // a retry
				if got := resume(first.interrupt, "true"); got.text != "Done: It is bright." {
					t.Errorf("%+v", got)
				}
			}
			if got := resume(first.interrupt, "false"); got.code != http.StatusNotFound {
				t.Errorf("a second answer: %+v", got)
			}
			if runs := lamp.Runs(); len(runs) != 1 || runs[0] != protocoltest.LampArgs {
				t.Errorf("ran %q", runs)
			}
			denied := send(t, r, protocoltest.Mine, inputOf("b", "", "Switch on the lamp"))
			if got := resume(denied.interrupt, `{"approved":false}`); got.text != "Done: Not run: the user denied this call." || len(lamp.Runs()) != 1 {
				t.Errorf("denied: %+v", got)
			}
		})
	}
}

// TestTools checks that tools of the page are called there.
func TestTools(t *testing.T) {
	model := &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
		for _, p := range req.Messages[len(req.Messages)-1].Parts {
			if p.Result != nil {
				return protocoltest.Plain("It is " + p.Result.Text)
			}
		}
		return protocoltest.Answer{Calls: []llm.ToolCall{{ID: "c1", Name: "weather", Input: json.RawMessage(`{"city":"Rome"}`)}}}
	}}
	inBubble(t, protocoltest.Options{Model: model}, func(t *testing.T, r *protocoltest.Rig) {
		tools := `,"tools":[{"name":"weather","description":"weather","parameters":{"type":"object"}}]`
		got := send(t, r, protocoltest.Mine, inputOf("a", tools, "What is the weather?"))
		if got.outcome != "success" || !slices.Equal(got.calls, []string{"weather"}) || len(got.results) != 0 || !strings.Contains(got.body, `"pendingToolCallIds":["c1"]`) {
			t.Fatalf("%+v", got)
		}
		body := `{"threadId":"a","runId":"r9"` + tools + `,"messages":[{"id":"1","role":"user","content":[{"type":"text","text":"What is the weather?"}]},
			{"id":"2","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}},{"id":"c0","type":"function","function":{"name":"web_search","arguments":"{}"}}]},
			{"id":"3","role":"tool","toolCallId":"c0","content":"not for the model"},{"id":"4","role":"tool","toolCallId":"c1","content":"sunny"}]}`
		if got = send(t, r, protocoltest.Mine, body); got.text != "It is sunny" {
			t.Errorf("%+v", got)
		}
	})
}

func TestFailure(t *testing.T) {
	model := &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
		return protocoltest.Answer{Err: &llm.Error{Class: llm.BadRequest, Message: "secret detail"}}
	}}
	inBubble(t, protocoltest.Options{Model: model}, func(t *testing.T, r *protocoltest.Rig) {
		if got := send(t, r, protocoltest.Mine, inputOf("a", "", question)); got.failed == "" || strings.Contains(got.body, "secret detail") {
			t.Errorf("%+v", got)
		}
	})
}

// TestMisuse checks that wrong requests get a status, and start nothing.
func TestMisuse(t *testing.T) {
	inBubble(t, protocoltest.Options{}, func(t *testing.T, r *protocoltest.Rig) {
		for _, body := range []string{
			``, `7`, `{}`, `{"threadId":"a","runId":""}`, inputOf(strings.Repeat("x", 300), "", question), inputOf("a", "", ""), inputOf("a", ""),
			inputOf("a", way("guess"), question), inputOf("a", `,"forwardedProps":{"minutes":"many"}`, question), inputOf("a", `,"forwardedProps":{"minutes":-2}`, question),
			inputOf("a", `,"forwardedProps":{"session":"nothing"}`), inputOf("a", `,"resume":[{"interruptId":"plan:nothing","status":"resolved"}]`),
			inputOf("a", `,"resume":[{"interruptId":"x","status":"resolved"}]`), inputOf("a", "", "/pause"),
			`{"threadId":"a","runId":"r","messages":[{"role":"robot","content":"x"}]}`, inputOf("a", `,"tools":[{"name":"","parameters":{}}]`, question),
			`{"threadId":"a","runId":"r","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","value":"http://169.254.169.254/"}}]}]}`,
		} {
			if got := send(t, r, protocoltest.Mine, body); got.code < 400 || got.code >= 500 || !strings.Contains(got.body, `"message"`) {
				t.Errorf("%.120s: %d %s", body, got.code, got.body)
			}
		}
		if n := len(r.Threads("local")); n != 0 {
			t.Errorf("%d threads", n)
		}
		for _, body := range []string{
			inputOf("a", "", question), inputOf("a", way("subconscious"), "/research "+question), inputOf("a", way("subconscious"), "/cancel"),
			inputOf("a", way("subconscious"), "/tick"), inputOf("a", way("subconscious")+`,"resume":[{"interruptId":"pause:x","status":"resolved"}]`),
		} {
			if got := send(t, r, protocoltest.Look, body); got.code != http.StatusForbidden {
				t.Errorf("%s without the scope: %d", body, got.code)
			}
		}
	})
}

// TestApproval checks that only a clear yes approves.
func TestApproval(t *testing.T) {
	for payload, want := range map[string]bool{
		"": true, "null": true, "true": true, `"yes"`: true, `{"approved":true}`: true, `{"Approve":"yes"}`: true,
		"false": false, "0": false, `""`: false, `"no"`: false, "[]": false, "{": false, "{}": false, `{"approved":"false"}`: false, `{"approved":null}`: false,
		`{"approved":true,"accepted":0}`: false, `{"decision":"reject"}`: false,
	} {
		if got := (resumeEntry{Status: "resolved", Payload: json.RawMessage(payload)}).isApproved(); got != want {
			t.Errorf("%s: %t", payload, got)
		}
		if (resumeEntry{Status: "cancelled", Payload: json.RawMessage(payload)}).isApproved() {
			t.Errorf("cancelled, %s: approved", payload)
		}
	}
}

func FuzzInput(f *testing.F) {
	f.Add(inputOf("a", way("think"), question))
	f.Add(`{"threadId":"a","runId":"r","messages":[{"role":"assistant","toolCalls":[{"id":"1","function":{"name":"a","arguments":"["}}]},{"role":"tool","toolCallId":"1"}],"tools":[{"name":"a"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var in input
		if json.Unmarshal([]byte(text), &in) != nil || in.check() != nil {
			return
		}
		if _, err := in.readOptions(); err != nil {
			return
		}
		_ = in.question()
		list, _, err := in.toMessages()
		if err != nil {
			return
		}
		for _, m := range list {
			for _, p := range m.Parts {
				if p.Call != nil && !json.Valid(p.Call.Input) || m.Role != llm.User && m.Role != llm.Assistant {
					t.Errorf("%q: %+v", text, m)
				}
			}
		}
		for _, e := range in.Resume {
			_ = e.isApproved()
		}
	})
}

func TestAgent(t *testing.T) {
	protocoltest.CheckAgent(t, protocoltest.Agent{Routes: New, Ask: func(t *testing.T, r *protocoltest.Rig, token, question string) protocoltest.Reply {
		got := send(t, r, token, inputOf(fmt.Sprint("thread ", number.Add(1)), way("think"), question))
		if got.code != http.StatusOK {
			got.failed = got.body
		}
		return protocoltest.Reply{Text: got.text, Thinking: got.reasoning, Error: got.failed}
	}})
}
