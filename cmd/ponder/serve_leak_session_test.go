package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

func (l *leakServer) useWebSocket(text string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(l.base, "http")+"/v1/responses", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + leakToken}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.CloseNow()
	if resp.Body != nil {
		defer resp.Body.Close()
	}
	conn.SetReadLimit(1 << 24)
	say := func(body string) {
		if err := conn.Write(ctx, websocket.MessageText, []byte(body)); err != nil {
			l.t.Fatal(err)
		}
	}
	// until returns the response id of the next event of a kind, or of an event that ends the
	// response.
	until := func(kinds ...string) string {
		for {
			_, js, err := conn.Read(ctx)
			if err != nil {
				l.t.Fatalf("WebSocket: wait for %v: %v", kinds, err)
			}
			l.checkMarks("the WebSocket mode", string(js), leakHidden)
			if strings.Contains(string(js), leakContent) {
				l.seen++
			}
			var e struct {
				Type     string
				Response struct{ ID string }
			}
			if err := json.Unmarshal(js, &e); err != nil {
				l.t.Fatal(err)
			}
			for _, kind := range kinds {
				if e.Type == kind {
					return e.Response.ID
				}
			}
		}
	}
	over := []string{"response.completed", "response.failed", "response.incomplete", "error"}
	var last string
	for _, model := range []string{"ponder/chat", "ponder/openai/slow", "ponder/session", "ponder/research"} {
		say(`{"type":"response.create","model":"` + model + `","input":"What is ` + text + ` for ` + model + ` there?","reasoning":{"effort":"none","summary":"auto"},"include":["file_search_call.results","web_search_call.action.sources","ponder.events"]}`)
		if last = until(over...); last == "" {
			continue
		}
		say(`{"type":"response.steer","previous_response_id":"` + last + `","input":"And CONTENTMARK?"}`)
		until("response.steer.failed", "response.steer.accepted", "error")
	}
	for _, body := range append([]string{
		`{"type":"response.create","model":"ponder/chat","input":"And?","previous_response_id":"resp_conversation_anna"}`,
		`{"type":"response.create","model":"ponder/chat","input":"And?","conversation":"conv_conversation_anna"}`,
	}, leakBroken...) {
		say(body)
		until("error")
	}
}

// useStatefulMCP uses MCP's older, stateful transport and reads its stream too.
func (l *leakServer) useStatefulMCP(text string) {
	l.t.Helper()
	ask := func(id, method string, params map[string]any) (session, all string) {
		js, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			l.t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.base+"/mcp", strings.NewReader(string(js)))
		if err != nil {
			l.t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Authorization": "Bearer " + leakToken, "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
			"Mcp-Session-Id": id, "Mcp-Protocol-Version": "2025-11-25",
		} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			l.t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.Header.Get("Mcp-Session-Id"), l.scanResponse("MCP with a session: "+method, resp)
	}
	id, _ := ask("", "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "x", "version": "1"},
	})
	if id == "" {
		l.t.Fatal("MCP: no session")
	}
	use := func(tool string, args leakArgs) {
		ask(id, "tools/call", map[string]any{"name": tool, "arguments": args, "_meta": map[string]any{"progressToken": 1}})
	}
	if _, list := ask(id, "tools/list", map[string]any{}); !strings.Contains(list, "ponder_think") {
		l.t.Errorf("no tools: %.300s", list)
	}
	for _, tool := range []string{"ponder_think", "ponder_deep_think", "ponder_research", "ponder_chat"} {
		use(tool, leakArgs{"question": "What is " + text + " in a session for " + tool + "?", "max_calls": 3, "effort": "none"})
	}
	for _, thread := range leakThreads() {
		for _, action := range []string{"status", "export"} {
			use("ponder_session", leakArgs{"session": string(thread.ID), "action": action})
		}
		for _, tail := range []string{"", "/thoughts", "/report"} {
			ask(id, "resources/read", map[string]any{"uri": "ponder://sessions/" + strings.TrimPrefix(string(thread.ID), "thr_") + tail})
		}
	}
	l.sendLimited(http.MethodGet, "/mcp", "", "text/event-stream", leakStream, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
	l.sendLimited(http.MethodDelete, "/mcp", "", "application/json", time.Minute, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
}

func (l *leakServer) scanResponse(from string, resp *http.Response) string {
	l.t.Helper()
	text, _ := io.ReadAll(resp.Body) // a stream ends when left
	l.checkMarks(from, fmt.Sprint(string(text), resp.Header), leakHidden)
	if strings.Contains(string(text), leakContent) {
		l.seen++
	}
	return string(text)
}
