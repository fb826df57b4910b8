package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/internal/steering"
	"ponder/llm"
	"ponder/llm/llmtest"
)

type rig struct {
	*protocoltest.Rig
	server *Server
	hosts  *Hosts
}

func newRig(t *testing.T, o protocoltest.Options) *rig {
	t.Helper()
	r := &rig{hosts: &Hosts{}}
	o.Hosts = r.hosts
	o.Routes = func(d *compat.Dispatcher) map[string]http.Handler {
		r.server = New(Config{Desk: d, Hosts: r.hosts, Version: "test"})
		return r.server.Routes()
	}
	r.Rig = protocoltest.New(t, o)
	return r
}

func testCaller(scopes ...auth.Scope) auth.Caller {
	if len(scopes) == 0 {
		scopes = auth.Scopes()
	}
	return auth.Caller{Token: "test", Owner: protocoltest.Owner, Scopes: scopes}
}

type version struct {
	sdk.Transport
	list []string
}

func (v version) SupportedProtocolVersions() []string { return v.list }

func (r *rig) openStream(t *testing.T, era string, who auth.Caller, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.server.ServeStream(context.Background(), who, in, out) }()
	var transport sdk.Transport = &sdk.IOTransport{Reader: fromServer, Writer: toServer}
	if era != "" {
		transport = version{transport, []string{era}}
	}
	s := connectClient(t, transport, o)
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended in %v", err)
		}
	})
	return s
}

func (r *rig) dialServer(t *testing.T, url, era, token string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	var transport sdk.Transport = &sdk.StreamableClientTransport{Endpoint: url + Path, HTTPClient: &http.Client{Transport: bearer(token)}}
	if era != "" {
		transport = version{transport, []string{era}}
	}
	s := connectClient(t, transport, o)
	t.Cleanup(func() { s.Close() })
	return s
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connectClient(t *testing.T, transport sdk.Transport, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(context.Background(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func callTool(t *testing.T, s *sdk.ClientSession, name string, args any) (text string, out map[string]any, failed bool) {
	t.Helper()
	res, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out, _ = res.StructuredContent.(map[string]any)
	return textOf(res.Content...), out, res.IsError
}

type args = map[string]any

var eras = []string{modern, "2025-11-25"}

// forEachEra tests clients of both eras on both transports.
func forEachEra(t *testing.T, o func() protocoltest.Options, co func() *sdk.ClientOptions, test func(t *testing.T, r *rig, s *sdk.ClientSession)) {
	t.Helper()
	if co == nil {
		co = func() *sdk.ClientOptions { return nil }
	}
	for _, era := range eras {
		t.Run("lines/"+era, func(t *testing.T) {
			r := newRig(t, o())
			test(t, r, r.openStream(t, era, testCaller(), co()))
		})
		t.Run("http/"+era, func(t *testing.T) {
			r := newRig(t, o())
			test(t, r, r.dialServer(t, r.Server().URL, era, protocoltest.Mine, co()))
		})
	}
}

func defaultOptions() protocoltest.Options { return protocoltest.Options{} }

func TestTools(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		list, err := s.ListTools(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]bool)
		for _, tool := range list.Tools {
			got[tool.Name] = tool.OutputSchema != nil && tool.InputSchema != nil && tool.Description != ""
		}
		for _, name := range []string{"think", "deep_think", "research", "chat", "step", "session", "steer", "report", "recall", "remember", "mind"} {
			if !got["ponder_"+name] {
				t.Errorf("no tool ponder_%s with all that belongs to it: %v", name, got)
			}
		}
		for _, m := range modes {
			text, out, failed := callTool(t, s, m.name, args{"question": "Why is the sea blue?", "max_calls": 3})
			if failed || out["status"] != "completed" || out["answer"] == "" || !strings.Contains(text, fmt.Sprint(out["session"])) {
				t.Errorf("%s: %s %v", m.name, text, out)
			}
		}
	})
}

func TestMemory(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		if _, out, failed := callTool(t, s, "ponder_remember", args{"text": "The sea is deep."}); failed || out["id"] == "" {
			t.Errorf("remember: %v", out)
		}
		text, out, failed := callTool(t, s, "ponder_recall", args{"query": "sea"})
		if hits, _ := out["hits"].([]any); failed || len(hits) != 1 || !strings.Contains(text, "The sea is deep.") {
			t.Errorf("recall: %v", out)
		}
		if _, out, failed := callTool(t, s, "ponder_mind", args{"tick": true}); failed || out["mind"] == nil {
			t.Errorf("mind: %v", out)
		}
	})
}

// A session without a holder appears as paused.
func TestInterrupted(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, r *rig, s *sdk.ClientSession) {
		begun := ponder.Event{Run: "run_old", Time: time.Now().Add(-time.Hour), Body: ponder.RunStarted{Mode: "session", Version: 1, Input: "Old?"}}
		if err := r.Store.Create(t.Context(), ponder.Thread{ID: "thr_old", Kind: ponder.KindSession, Owner: protocoltest.Owner, Title: "Old?"}, begun); err != nil {
			t.Fatal(err)
		}
		if text, _, _ := callTool(t, s, "ponder_session", args{"action": "list"}); !strings.Contains(text, "old  session  paused") {
			t.Errorf("list: %s", text)
		}
		if _, out, _ := callTool(t, s, "ponder_session", args{"action": "status", "session": "old"}); out["status"] != "paused" {
			t.Errorf("status: %v", out)
		}
	})
}

// checkInvalidSteers checks that errors name the field of the tool.
func checkInvalidSteers(t *testing.T, s *sdk.ClientSession, id string) {
	t.Helper()
	for _, action := range []string{"add_question", "tell", "dance"} {
		want := "text: "
		if action == "dance" {
			want = "action: "
		}
		for _, text := range []string{"", " \t\n ", "\x1b[31m\u202e\u2066", "?!", "— – …", strings.Repeat("a", steering.MaxText+1)} {
			says, _, failed := callTool(t, s, "ponder_steer", args{"session": id, "action": action, "text": text})
			if !failed || !strings.HasPrefix(says, want) || strings.Contains(says, "--") {
				t.Errorf("%s of %.20q: %s, want %s", action, text, says, want)
			}
		}
	}
}

func TestSession(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, r *rig, s *sdk.ClientSession) {
		_, out, failed := callTool(t, s, "ponder_session", args{"action": "start", "question": "Why is the sea blue?"})
		id, _ := out["session"].(string)
		if failed || id == "" {
			t.Fatalf("start: %v", out)
		}
		for _, one := range []args{{"action": "pause"}, {"action": "resume"}} {
			one["session"] = id
			if text, _, failed := callTool(t, s, "ponder_session", one); failed {
				t.Errorf("%v: %s", one, text)
			}
		}
		checkInvalidSteers(t, s, id)
		for sentence, want := range map[string]string{"never stop": "not understood", "drop q99": "no question"} {
			if text, _, failed := callTool(t, s, "ponder_steer", args{"session": id, "action": "sentence", "text": sentence}); !failed || !strings.HasPrefix(text, "text: ") || !strings.Contains(text, want) {
				t.Errorf("%s: %s", sentence, text)
			}
		}
		if text, out, failed := callTool(t, s, "ponder_steer", args{"session": id, "action": "sentence", "text": "focus on costs", "dry_run": true}); failed || out["meaning"] == nil || !strings.Contains(text, "focus on costs") {
			t.Errorf("dry run: %s %v", text, out)
		}
		for _, one := range []args{{"text": "And the sky?"}, {"action": "tell", "text": "It is about light."},
			{"action": "sentence", "text": "focus on the light, and at most 900 calls"}, {"action": "sentence", "text": "undo that", "dry_run": true}, {"action": "answer_now"}} {
			one["session"] = id
			if text, _, failed := callTool(t, s, "ponder_steer", one); failed {
				t.Errorf("%v: %s", one, text)
			}
		}
		for out["status"] == "thinking" || out["status"] == "paused" {
			_, out, _ = callTool(t, s, "ponder_session", args{"action": "status", "session": id})
		}
		if out["status"] != "completed" || out["answer"] == "" || out["question"] != "Why is the sea blue?" {
			t.Errorf("status: %v", out)
		}
		if text, out, failed := callTool(t, s, "ponder_session", args{"action": "export", "session": id}); failed || !strings.Contains(text, "Why is the sea blue?") || out["report"] == "" {
			t.Errorf("export: %s", text)
		}
		if text, _, failed := callTool(t, s, "ponder_session", args{"action": "list"}); failed || !strings.Contains(text, id) {
			t.Errorf("list: %s", text)
		}
		for _, action := range []string{"pause", "resume"} {
			if text, _, failed := callTool(t, s, "ponder_session", args{"action": action, "session": id}); !failed || !strings.Contains(text, "ended") {
				t.Errorf("%s of an ended session: %s", action, text)
			}
		}
		if text, _, failed := callTool(t, s, "ponder_steer", args{"session": id, "text": "And the sky?"}); !failed {
			t.Errorf("steer an ended session: %s", text)
		}
		for _, tail := range []string{"", "/thoughts", "/report"} {
			res, err := s.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: sessionsURI + id + tail})
			if err != nil || len(res.Contents) != 1 || res.Contents[0].Text == "" {
				t.Errorf("read %q: %v %v", tail, res, err)
			}
		}
		res, err := s.ListResources(context.Background(), nil)
		if err != nil || len(res.Resources) != 2 {
			t.Errorf("resources: %v %v", res, err)
		}
		if _, err := s.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: mindURI}); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"nonsense", id + "/nothing", "../" + id, "%00"} {
			if _, err := s.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: sessionsURI + bad}); err == nil {
				t.Errorf("read %q", bad)
			}
		}
	})
}

func TestPrompts(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		res, err := s.GetPrompt(context.Background(), &sdk.GetPromptParams{Name: "deep_think", Arguments: map[string]string{"question": "Why %s?"}})
		if err != nil {
			t.Fatal(err)
		}
		if text := textOf(res.Messages[0].Content); !strings.Contains(text, "ponder_step") || !strings.Contains(text, "Why %s?") {
			t.Errorf("the prompt is %q", text)
		}
		if _, err := s.GetPrompt(context.Background(), &sdk.GetPromptParams{Name: "deep_think"}); err == nil {
			t.Error("a prompt without its argument")
		}
	})
}

// answerPrompt answers like a host's model.
func answerPrompt(t *testing.T, prompt string) string {
	t.Helper()
	_, schema, ok := strings.Cut(prompt, "and nothing else:\n")
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, prompt)}}
	if ok {
		req.Schema = &llm.Schema{Name: "answer", JSON: json.RawMessage(schema)}
	}
	m, err := llmtest.Plausible(0)(req)
	if err != nil {
		t.Fatal(err)
	}
	return m.Text()
}

func hostOptions() protocoltest.Options { return protocoltest.Options{HostsOnly: true} }

func TestStep(t *testing.T) {
	forEachEra(t, hostOptions, nil, func(t *testing.T, r *rig, s *sdk.ClientSession) {
		text, out, failed := callTool(t, s, "ponder_step", args{"question": "Why is the sea blue?", "steps": 5})
		n := 0
		for ; !failed && out["status"] == "needs_answer"; n++ {
			if n > 20 {
				t.Fatal("there is no end")
			}
			text, out, failed = callTool(t, s, "ponder_step", args{"session": out["session"], "step": out["step"], "answer": answerPrompt(t, out["prompt"].(string))})
		}
		if failed || n < 2 || n > 5 || out["status"] != "completed" || out["answer"] == "" {
			t.Errorf("after %d steps: %s %v", n, text, out)
		}
		if _, again, _ := callTool(t, s, "ponder_step", args{"session": out["session"]}); again["answer"] != out["answer"] {
			t.Errorf("asked again: %v, not %v", again, out)
		}
	})
}

func TestStepAfterRestart(t *testing.T) {
	r := newRig(t, hostOptions())
	s := r.openStream(t, "", testCaller(), nil)
	_, out, _ := callTool(t, s, "ponder_step", args{"question": "Why is the sea blue?", "steps": 5})
	_, out, _ = callTool(t, s, "ponder_step", args{"session": out["session"], "step": out["step"], "answer": answerPrompt(t, out["prompt"].(string))})
	before := out
	r.Close()
	r = newRig(t, protocoltest.Options{HostsOnly: true, Store: r.Desk.Store})
	s = r.openStream(t, "", testCaller(), nil)
	if _, out, _ = callTool(t, s, "ponder_step", args{"session": before["session"]}); out["step"] != before["step"] || out["prompt"] != before["prompt"] {
		t.Errorf("after a restart another thing is asked: %v, not %v", out, before)
	}
	r.Close()
	r = newRig(t, protocoltest.Options{HostsOnly: true, Store: r.Desk.Store})
	s = r.openStream(t, "", testCaller(), nil)
	for n := 0; out["status"] == "needs_answer" && n < 10; n++ { // the first answer arrives before its prompt is repeated
		_, out, _ = callTool(t, s, "ponder_step", args{"session": out["session"], "step": out["step"], "answer": answerPrompt(t, out["prompt"].(string))})
	}
	if out["status"] != "completed" || out["answer"] == "" {
		t.Errorf("it ended as %v", out)
	}
}

func TestSampling(t *testing.T) {
	n := 0
	co := func() *sdk.ClientOptions {
		n = 0
		return &sdk.ClientOptions{CreateMessageHandler: func(_ context.Context, req *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			n++
			prompt := req.Params.SystemPrompt
			for _, m := range req.Params.Messages {
				prompt += "\n" + textOf(m.Content)
			}
			return &sdk.CreateMessageResult{Role: "assistant", Model: "theirs", Content: &sdk.TextContent{Text: answerPrompt(t, prompt)}}, nil
		}}
	}
	forEachEra(t, hostOptions, co, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		_, out, failed := callTool(t, s, "ponder_think", args{"question": "Why is the sea blue?", "max_calls": 5})
		if failed || out["status"] != "completed" || out["answer"] == "" || n < 2 {
			t.Errorf("after %d messages: %v", n, out)
		}
	})
}

func TestNoModelNoSampling(t *testing.T) {
	forEachEra(t, hostOptions, nil, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		text, out, failed := callTool(t, s, "ponder_think", args{"question": "Why is the sea blue?"})
		if failed || out["status"] != "needs_answer" || !strings.Contains(text, "ponder_step") {
			t.Errorf("%s", text)
		}
	})
}
